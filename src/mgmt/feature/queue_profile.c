// SPDX-License-Identifier: BSD-3-Clause
// queue_profile.c - configured class maps and queue profiles, and the built-in ones
//
// A class map or profile lists its differences from the built-in one. The built-in ones follow RFC
// 4594 and RFC 8622: network control and telephony first, each with its own rate so that neither
// starves the rest, and lower effort last.
#include "feature/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_word.h"
#include "config/leaf.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// --- numbers with a unit -------------------------------------------------------------------------

const char *queue_bps_text(uint64_t bps, char buf[QUEUE_BPS_TEXT])
{
    static const char suffix[] = " kMGT";
    unsigned n = 0;
    uint64_t scale = 1;

    while (n < 4 && bps >= scale * 1000)
        n++, scale *= 1000;
    snprintf(buf, QUEUE_BPS_TEXT, "%.12g%.1s", (double)bps / (double)scale, n ? suffix + n : "");
    return buf;
}

static uint32_t microseconds_of(const char *text, uint32_t absent)
{
    char *unit;
    uint64_t n = text ? strtoull(text, &unit, 10) : 0;

    if (!text)
        return absent;
    n *= *unit == 's' ? 1000000 : *unit == 'm' ? 1000 : 1;
    return n < 1000000000 ? (uint32_t)n : 1000000000;
}

// --- built-in ones -------------------------------------------------------------------------------

static const struct class_map map_default = {
    .of_dscp =
        {
            6, 7, 6, 6, 6, 6, 6, 6, // DF; LE (RFC 8622): lower effort
            7, 6, 5, 6, 5, 6, 5, 6, // CS1: older codepoint of LE; AF1x: high-throughput data
            4, 6, 4, 6, 4, 6, 4, 6, // CS2: operation and management; AF2x: low-latency data
            2, 6, 3, 6, 3, 6, 3, 6, // CS3: broadcast video; AF3x: streams
            2, 6, 2, 6, 2, 6, 2, 6, // CS4: real time; AF4x: conferences
            2, 6, 6, 6, 1, 6, 1, 6, // CS5: signaling; VOICE-ADMIT (RFC 5865) and EF: telephony
            0, 6, 6, 6, 6, 6, 6, 6, // CS6: network control
            0, 6, 6, 6, 6, 6, 6, 6, // CS7: likewise
        },
    .other = 6,
    .pcp_of_class = {6, 5, 4, 3, 2, 2, 0, 1}, // IEEE 802.1Q, annex I
};

#define CODEL .target_us = 5000, .interval_us = 100000, .step_us = 1000, .flows = 1024
static const struct model_queue_profile profile_default = {
    "default",
    {
        {.config = {.discipline = QUEUE_TAIL_DROP, CODEL}, .percent = 10},
        {.config = {.discipline = QUEUE_TAIL_DROP, CODEL}, .percent = 30},
        {.config = {.weight = 20, .discipline = QUEUE_CODEL, CODEL}},
        {.config = {.weight = 15, .discipline = QUEUE_CODEL, CODEL}},
        {.config = {.weight = 15, .discipline = QUEUE_CODEL, CODEL}},
        {.config = {.weight = 10, .discipline = QUEUE_CODEL, CODEL}},
        {.config = {.weight = 20, .discipline = QUEUE_FQ_CODEL, .ecn = true, CODEL}},
        {.config = {.weight = 1, .discipline = QUEUE_FQ_CODEL, CODEL}},
    },
};
#undef CODEL

const struct class_map *queue_class_map(const struct model_queue_profiles *all, const char *name)
{
    const struct model_class_map *m =
        model_find_in(&all->map, name);

    return m ? &m->map : &map_default;
}

const struct model_queue_profile *queue_profile(const struct model_queue_profiles *all,
                                                const char *name)
{
    const struct model_queue_profile *p =
        model_find_in(&all->profile, name);

    return p ? p : &profile_default;
}

// --- reading -------------------------------------------------------------------------------------

static int dscp_of(const char *word)
{
    const struct acl_word *w = acl_word_find(acl_dscps, word);
    unsigned long number = strtoul(word, NULL, 10);

    if (w)
        return w->number;
    return *word >= '0' && *word <= '9' && number < 64 ? (int)number : -1;
}

static void read_dscp(struct model_class_map *m, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    struct class_map_dscp *d = vec_push(&m->given);

    leaf_copy(d->word, sizeof d->word, first, "dscp", "");
    d->dscp = dscp_of(d->word);
    d->line = leaf_line(entry, "class");
    if (d->dscp >= 0)
        m->map.of_dscp[d->dscp] = (uint8_t)leaf_number(first, "class", 0);
}

static void read_remark(struct model_class_map *m, const struct lyd_node *entry)
{
    const struct lysc_node *schema = yang_child(entry->schema, "remark-pcp", true);
    const struct lyd_node *remark = config_find(lyd_child(entry), schema, NULL);

    m->map.remarks_pcp = remark;
    leaf_foreach (lyd_child(remark), schema, "class", class)
        m->map.pcp_of_class[leaf_number(lyd_child(class), "class", 0)] =
            (uint8_t)leaf_number(lyd_child(class), "pcp", 0);
}

void queue_map_read(struct model *model, void *row, const struct lyd_node *entry)
{
    struct model_class_map *m = row;

    m->map = map_default;
    leaf_copy(m->name, sizeof m->name, lyd_child(entry), "name", "");
    m->map.other = (uint8_t)leaf_number(lyd_child(entry), "other", map_default.other);
    leaf_foreach (lyd_child(entry), entry->schema, "dscp", dscp)
        read_dscp(m, dscp);
    read_remark(m, entry);
}

static void read_service(struct queue_profile_class *c, const struct lyd_node *first)
{
    if (config_value(first, "weight")) {
        c->config.weight = (uint8_t)leaf_number(first, "weight", 1);
        c->percent = 0;
    } else if (config_value(first, "strict")) {
        c->config.weight = 0;
        c->percent = 0;
    }
    c->percent = (uint8_t)leaf_number(first, "rate-percent", c->percent);
}

static const char *const disciplines[] = {"tail-drop", "codel", "fq-codel"}; // enum order
const struct column queue_class_leaves[] = {
    COLUMN_WORD(struct queue_class_config, discipline, "discipline", disciplines),
    COLUMN(struct queue_class_config, ecn, "ecn"),
    COLUMN(struct queue_class_config, limit_bytes, "limit", .scaled = "kM"),
    {0}};

static void read_class(struct model_queue_profile *p, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    struct queue_profile_class *c = &p->class[leaf_number(first, "class", 0)];
    struct queue_class_config *i = &c->config;

    read_service(c, first);
    columns_read(first, queue_class_leaves, i);
    i->flows = (uint16_t)leaf_number(first, "flows", i->flows);
    i->limit_us = microseconds_of(config_value(first, "limit-time"), i->limit_us);
    i->target_us = microseconds_of(config_value(first, "target"), i->target_us);
    i->interval_us = microseconds_of(config_value(first, "interval"), i->interval_us);
    i->step_us = microseconds_of(config_value(first, "step"), i->step_us);
    c->line = leaf_line(entry, NULL);
}

void queue_profile_read(struct model *m, void *row, const struct lyd_node *entry)
{
    struct model_queue_profile *p = row;

    memcpy(p, &profile_default, sizeof *p);
    leaf_copy(p->name, sizeof p->name, lyd_child(entry), "name", "");
    leaf_foreach (lyd_child(entry), entry->schema, "class", class)
        read_class(p, class);
}

// --- rules ---------------------------------------------------------------------------------------

void queue_map_check(const struct model *model, const void *row, struct errors *e)
{
    const struct model_class_map *m = row;
    const struct class_map_dscp *by[64] = {0};

    vec_foreach (&m->given, d) {
        const struct class_map_dscp *a = d, *b = d;

        if (d->dscp < 0) {
            errors_add(e, d->line,
                       "class-map %s: dscp '%s' does not exist, expected 0..63, ef, va, le, "
                       "cs0..cs7 or af11..af43",
                       m->name, d->word);
            continue;
        }
        if (by[d->dscp] && by[d->dscp]->line > d->line) // report the later of the two lines
            a = by[d->dscp];
        else if (by[d->dscp])
            b = by[d->dscp];
        if (a != b)
            errors_add(e, a->line,
                       "class-map %s: dscp '%s' is the same as dscp '%s', expected one of the two",
                       m->name, a->word, b->word);
        by[d->dscp] = d;
    }
}

static void check_class(const char *profile, unsigned class, const struct queue_profile_class *c,
                        struct errors *e)
{
    const struct queue_class_config *i = &c->config;

    if (i->flows & (i->flows - 1))
        errors_add(e, c->line,
                   "queue-profile %s: class %u flows is '%u', expected a power of two such as 1024",
                   profile, class, i->flows);
    if (!i->target_us || i->target_us >= i->interval_us)
        errors_add(e, c->line,
                   "queue-profile %s: class %u target is %u us, expected more than 0, and less "
                   "than its interval of %u us",
                   profile, class, i->target_us, i->interval_us);
    if (i->weight && c->percent)
        errors_add(e, c->line,
                   "queue-profile %s: class %u has a weight, and 'rate-percent' is of a strict "
                   "class, expected 'strict' as well",
                   profile, class);
}

void queue_profile_check(const struct model *m, const void *row, struct errors *e)
{
    const struct model_queue_profile *p = row;

    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        check_class(p->name, k, &p->class[k], e);
}

// --- classes of a client -------------------------------------------------------------------------

static uint32_t limit_of(uint64_t bps, uint32_t frame)
{
    uint64_t bytes = bps / 8 * QUEUE_LIMIT_MS / 1000, least = (uint64_t)frame * QUEUE_LIMIT_FRAMES;

    bytes = bytes > least ? bytes : least;
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

void queue_profile_apply(const struct model_queue_profile *p, uint64_t bps, uint32_t frame,
                         struct queue_client_config *c)
{
    uint64_t sum = 0;

    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        struct queue_class_config *i = &c->class[k];

        *i = p->class[k].config;
        if (!i->limit_bytes)
            i->limit_bytes = limit_of(bps, frame);
        if (i->discipline != QUEUE_FQ_CODEL)
            i->flows = 0;
        if (p->class[k].percent && !i->weight) {
            i->rate_bps = bps / 100 * p->class[k].percent;
            i->rate_bps = i->rate_bps > QUEUE_RATE_MIN ? i->rate_bps : QUEUE_RATE_MIN;
        }
        sum += i->limit_bytes;
    }
    if (!c->limit_bytes)
        c->limit_bytes = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}
