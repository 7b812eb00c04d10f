// SPDX-License-Identifier: BSD-3-Clause
// policer.c - policers, and their interfaces
//
// A policer is a named set of settings, and an interface names one for each direction. Resolving
// copies the settings to the interface, so a changed policer is a step of each interface that uses
// it.
#include <stddef.h>
#include <string.h>

#include "acl_manager/acl_word.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "interface/iface_manager.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/policer.h"
#include "yang/config_tree.h"
#include "yang/owner.h"

#define RATE_MIN 8000ull          // bit/s
#define RATE_MAX 1000000000000ull // bit/s: the time of a byte is exact to a thousandth
#define BURST_MIN 1500ull         // bytes: one frame
#define BURST_MS 100u             // default, in ms of the rate
#define BURST_DEFAULT_MIN 16000ull

static const char *const kind_name[] = {"none", "srtcm", "trtcm"};
static const char *const direction_name[POLICER_DIRECTIONS] = {"in", "out"};
// By color, as in the configuration.
static const char *const case_name[POLICER_COLORS] = {"conform", "exceed", "violate"};

// --- configuration -------------------------------------------------------------------------------

// --- reading -------------------------------------------------------------------------------------

static uint64_t usual_burst(uint64_t bit_per_s)
{
    uint64_t bytes = bit_per_s / 8 * BURST_MS / 1000;

    return bytes > BURST_DEFAULT_MIN ? bytes : BURST_DEFAULT_MIN;
}

static void read_case(struct model_policer *m, const struct lyd_node *entry,
                      enum policer_color color)
{
    const struct lyd_node *in = leaf_inside(lyd_child(entry), entry->schema, case_name[color]);
    const char *action = config_value(in, "action"), *dscp = config_value(in, "remark-dscp");
    struct policer *p = &m->policer;

    p->action[color] = color == POLICER_RED ? POLICER_DROP : POLICER_PASS;
    if (action)
        p->action[color] = !strcmp(action, "drop") ? POLICER_DROP : POLICER_PASS;
    if (!dscp)
        return;
    const struct acl_word *w = acl_word_find(acl_dscps, dscp);
    uint64_t v = w ? w->number : 0;
    if (!w && text_parse_u64(dscp, 0, 63, &v))
        m->bad_dscp = case_name[color];
    p->action[color] = POLICER_REMARK;
    p->dscp[color] = (uint8_t)v;
}

static const struct column rate_columns[] = {
    COLUMN(struct policer, cir, "cir", .scaled = "kMGT"),
    COLUMN(struct policer, pir, "pir", .scaled = "kMGT"),
    COLUMN(struct policer, cbs, "cbs", .scaled = "kM"),
    COLUMN(struct policer, ebs, "ebs", .scaled = "kM"),
    COLUMN(struct policer, color_aware, "color-aware"),
    {0}};

static void read_rates(struct model_policer *m, const struct lyd_node *first)
{
    const char *pbs = config_value(first, "pbs");
    struct policer *p = &m->policer;

    columns_read(first, rate_columns, p);
    m->has_pir = config_value(first, "pir");
    m->has_ebs = config_value(first, "ebs");
    m->has_pbs = pbs;
    if (!config_value(first, "cbs"))
        p->cbs = usual_burst(p->cir);
    if (p->kind == POLICER_TRTCM)
        p->ebs = pbs ? leaf_scaled(pbs, "kM") : usual_burst(p->pir);
    else if (!m->has_ebs)
        p->ebs = p->cbs;
}

static void read_policer(struct model *model, void *row, const struct lyd_node *entry)
{
    struct model_policer *m = row;
    const struct lyd_node *first = lyd_child(entry);
    int kind;

    leaf_copy(m->name, sizeof m->name, first, "name", "");
    leaf_copy(m->policer.name, sizeof m->policer.name, first, "name", "");
    leaf_copy(m->owner, sizeof m->owner, first, "vr", "");
    kind = leaf_word(first, "kind", kind_name, 3);
    m->policer.kind = kind > 0 ? (uint8_t)kind : POLICER_SRTCM;
    m->line = leaf_line(entry, NULL);
    read_rates(m, first);
    for (unsigned color = 0; color < POLICER_COLORS; color++)
        read_case(m, entry, color);
}

static void read_police(struct model *m, void *row, const struct lyd_node *entry)
{
    const struct lyd_node *police = leaf_inside(lyd_child(entry), entry->schema, "police");
    struct model_police *p = row;

    for (unsigned d = 0; d < POLICER_DIRECTIONS; d++)
        leaf_copy(p->name[d], sizeof p->name[d], police, direction_name[d], "");
    for (const struct lyd_node *leaf = police; leaf; leaf = leaf->next)
        p->line = config_line_of(leaf) ? config_line_of(leaf) : p->line;
    if (p->name[POLICER_IN][0] || p->name[POLICER_OUT][0])
        leaf_copy(p->interface, sizeof p->interface, lyd_child(entry), "name", "");
}

static const struct model_policer *find_policer(const struct model *m, const char *name)
{
    return model_find_in(&model_policers(m)->policer, name);
}

static void resolve_policers(struct model *m)
{
    vec_foreach (&model_policers(m)->police, p)
        for (unsigned d = 0; d < POLICER_DIRECTIONS; d++) {
            const struct model_policer *named = find_policer(m, p->name[d]);
            if (named)
                p->policer[d] = named->policer;
        }
}

// --- rules ---------------------------------------------------------------------------------------

static void check_rate(const struct model_policer *m, const char *leaf, uint64_t rate,
                       struct errors *e)
{
    if (rate < RATE_MIN || rate > RATE_MAX)
        errors_add_of(e, m->owner, m->line,
                      "policer %s: '%s' is %llu bit/s, expected 8k to 1T", m->name, leaf,
                      (unsigned long long)rate);
}

static void check_burst(const struct model_policer *m, const char *leaf, uint64_t burst,
                        struct errors *e)
{
    if (burst < BURST_MIN)
        errors_add_of(e, m->owner, m->line,
                   "policer %s: '%s' is %llu bytes, less than a frame, expected at least %llu",
                   m->name, leaf, (unsigned long long)burst, BURST_MIN);
}

static void check_one_rate(const struct model_policer *m, struct errors *e)
{
    if (m->has_pir || m->has_pbs)
        errors_add_of(e, m->owner, m->line,
                   "policer %s: an srtcm has one rate and no '%s', expected 'kind trtcm' with it",
                   m->name, m->has_pir ? "pir" : "pbs");
    if (m->has_ebs && m->policer.ebs)
        check_burst(m, "ebs", m->policer.ebs, e);
}

static void check_two_rates(const struct model_policer *m, struct errors *e)
{
    const struct policer *p = &m->policer;

    if (m->has_ebs)
        errors_add_of(e, m->owner, m->line,
                   "policer %s: a trtcm has no 'ebs', expected 'pbs', the burst of its peak rate",
                   m->name);
    if (!m->has_pir) {
        errors_add_of(e, m->owner, m->line,
                      "policer %s: a trtcm needs 'pir', a peak rate of at least its 'cir'",
                      m->name);
        return;
    }
    check_rate(m, "pir", p->pir, e);
    check_burst(m, "pbs", p->ebs, e);
    if (p->pir < p->cir)
        errors_add_of(e, m->owner, m->line,
                      "policer %s: 'pir' is below 'cir', expected at least %llu bit/s", m->name,
                      (unsigned long long)p->cir);
}

static void check_policer(const struct model *model, const void *row, struct errors *e)
{
    const struct model_policer *m = row;

    owner_check_name("policer", m->name, m->owner, m->line, e);
    check_rate(m, "cir", m->policer.cir, e);
    check_burst(m, "cbs", m->policer.cbs, e);
    m->policer.kind == POLICER_TRTCM ? check_two_rates(m, e) : check_one_rate(m, e);
    if (m->bad_dscp)
        errors_add_of(e, m->owner, m->line,
                   "policer %s: unknown codepoint after '%s remark-dscp', expected 0..63, ef, va, "
                   "cs0..cs7 or af11..af43",
                   m->name, m->bad_dscp);
}

// MTU of an interface; 0 if there is none.
static uint16_t mtu_of(const struct model *m, const char *interface)
{
    const struct model_metalink *l = model_find_metalink(m, interface, NULL);
    if (l)
        return l->mtu;
    const struct model_tunnel *t = model_find_tunnel(m, interface);
    if (t)
        return t->mtu ? t->mtu : 1500;
    const struct model_vport *v = model_find_vport(m, interface);
    const struct model_port *p = model_find_port(m, v ? v->port : interface);

    return v && v->mtu ? v->mtu : p ? p->config.mtu : 0;
}

// The bucket must hold a packet of the interface's MTU, otherwise such a packet never passes.
static void check_burst_holds_mtu(const struct model *m, const struct model_police *p,
                                  struct errors *e)
{
    uint16_t mtu = mtu_of(m, p->interface);

    for (unsigned d = 0; d < POLICER_DIRECTIONS; d++) {
        const struct policer *is = &p->policer[d];
        bool peak = is->kind == POLICER_TRTCM && is->ebs < mtu;

        if (is->kind && (is->cbs < mtu || peak))
            errors_add_of(e, find_policer(m, is->name)->owner, p->line,
                       "interface %s: police %s: '%s' of policer %s is %llu bytes, less than the "
                       "interface's MTU, expected at least %u",
                       p->interface, direction_name[d], peak ? "pbs" : "cbs", is->name,
                       (unsigned long long)(peak ? is->ebs : is->cbs), mtu);
    }
}

// A policer that belongs to a virtual router is only for interfaces of that virtual router.
static void check_police_owner(const struct model *m, const struct model_police *p,
                               struct errors *e)
{
    const struct model_interface *i = model_find_interface(m, p->interface);

    for (unsigned d = 0; i && d < POLICER_DIRECTIONS; d++) {
        const struct model_policer *named = find_policer(m, p->name[d]);

        if (named && named->owner[0] && strcmp(named->owner, i->vr))
            errors_add(e, p->line,
                       "interface %s: police %s: policer %s belongs to vr %s, and the interface to "
                       "vr %s: expected a policer of vr %s, or one that belongs to none",
                       p->interface, direction_name[d], p->name[d], named->owner, i->vr, i->vr);
    }
}

static void check_police(const struct model *m, const void *row, struct errors *e)
{
    check_police_owner(m, row, e);
    check_burst_holds_mtu(m, row, e);
}

// --- steps ---------------------------------------------------------------------------------------

static int run_police(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    static const struct policer none;
    const struct model_police *p = to;

    return iface_manager_set_police(s->name, p ? &p->policer[POLICER_IN] : &none,
                                    p ? &p->policer[POLICER_OUT] : &none, err, n);
}

// Unbinding from interfaces that are removed is a step, so that undoing binds them again.
static const struct feature_config policer_config = {
    .part_size = sizeof(struct model_policers),
    .lists =
        (const struct feature_list[]){
            {.node = "policer",
             LIST_ROWS(struct model_policers, policer),
             .read = read_policer,
             .check = check_policer},
            {.node = "interface",
             LIST_ROWS(struct model_policers, police),
             .read = read_police,
             .check = check_police,
             LIST_STEP(struct model_police, "policers of interface", run_police),
             .remove = PHASE_UNBIND,
             .add = PHASE_BIND,
             .stays = interface_stays,
             LIST_VALUE(struct model_police, policer)}, // padding is zero
            {0}},
    .resolve = resolve_policers,
};

// --- state ---------------------------------------------------------------------------------------

struct color_count { // of one color
    uint64_t packets, bytes;
};

static const struct column color_columns[] = {
    COUNTER(struct color_count, packets, "packets", "packets",
            "Packets of an interface's policer, by direction and color."),
    COUNTER(struct color_count, bytes, "bytes", "bytes", "Layer-3 bytes of those packets."),
    {0}};

static struct color_count color_count_of(const struct policer_count *n, enum policer_color color)
{
    return (struct color_count){n->packets[color], n->bytes[color]};
}

static void write_color(struct jwrite *j, const struct policer *p, const struct policer_count *n,
                        enum policer_color color)
{
    static const char *const action[] = {"pass", "drop", "remark"};
    struct color_count count = color_count_of(n, color);

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "color", policer_color_name[color]);
    jwrite_string(j, "action", action[p->action[color]]);
    if (p->action[color] == POLICER_REMARK)
        jwrite_int(j, "remark-dscp", p->dscp[color]);
    columns_write(j, color_columns, &count);
    jwrite_end(j, '}');
}

struct bound { // a policer that is bound to an interface
    const struct iface *iface;
    enum policer_direction direction;
    const struct policer *policer;
};

// The next one from `at` on, which it moves behind it; false: there is none.
static bool next_bound(unsigned *at, struct bound *b)
{
    for (; *at < IFACE_MAX * POLICER_DIRECTIONS; ++*at) {
        b->iface = iface_get((uint16_t)(*at / POLICER_DIRECTIONS));
        b->direction = (enum policer_direction)(*at % POLICER_DIRECTIONS);
        b->policer = b->iface->kind == IFACE_NONE ? NULL : policer_of(b->iface->id, b->direction);
        if (b->policer) {
            ++*at;
            return true;
        }
    }
    return false;
}

static void write_policer(struct jwrite *j, const struct bound *b)
{
    const struct policer *p = b->policer;
    struct policer_count n = policer_sum(b->iface->id, b->direction);
    bool two = p->kind == POLICER_TRTCM;

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "interface", b->iface->name);
    jwrite_string(j, "direction", direction_name[b->direction]);
    jwrite_string(j, "policer", p->name);
    jwrite_string(j, "kind", kind_name[p->kind]);
    jwrite_u64(j, "cir", p->cir);
    jwrite_u64(j, "cbs", p->cbs);
    if (two)
        jwrite_u64(j, "pir", p->pir);
    jwrite_u64(j, two ? "pbs" : "ebs", p->ebs);
    jwrite_bool(j, "color-aware", p->color_aware);
    jwrite_begin(j, "color", '[');
    for (unsigned color = 0; color < POLICER_COLORS; color++)
        write_color(j, p, &n, color);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static void list_policers(struct show *s)
{
    struct bound b;

    for (unsigned at = 0; next_bound(&at, &b);)
        if (show_wants(s, b.iface->name))
            write_policer(&s->out, &b);
}

static void write_color_metrics(struct metrics *m, const struct column *c, const struct bound *b)
{
    struct policer_count n = policer_sum(b->iface->id, b->direction);

    for (unsigned color = 0; color < POLICER_COLORS; color++) {
        struct color_count count = color_count_of(&n, color);

        column_metric(m, c, &count, "interface", b->iface->name, "direction",
                      direction_name[b->direction], "color", policer_color_name[color], NULL);
    }
}

static void write_policer_metrics(struct metrics *m, const void *kept)
{
    struct bound b;

    if (!next_bound(&(unsigned){0}, &b))
        return;
    for (const struct column *c = color_columns; (c = column_family(m, "policer", c)); c++)
        for (unsigned at = 0; next_bound(&at, &b);)
            write_color_metrics(m, c, &b);
}

const struct feature policer_feature = {
    "policer",
    .config = &policer_config,
    .state = (const struct feature_state[]){{"policer", .list = list_policers}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_policer_metrics},
};
