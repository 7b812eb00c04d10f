// SPDX-License-Identifier: BSD-3-Clause
// acl_build.c - the content of an access list, built aside, with the counters of its rules
// (acl_build.h)
//
// Invariant: when forwarders find a rule, its action is there. The list names the slot of the next
// rule, which forwarders do not use yet.
#include "acl_manager/acl_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "table/acl_meter.h"
#include "table/acl_target.h"
#include "table/grace.h"

#define SPARE(slots) ((slots) / 4 + 64) // rules that may be added in place
#define COUNTED_ROWS 4 // forwarders to account for; counters of other rows are never touched

static size_t array_bytes(uint32_t slots)
{
    size_t one = 1 + sizeof(struct acl_action) + (1 + COUNTED_ROWS) * sizeof(struct acl_hits) +
                 2 * sizeof(uint32_t) + sizeof(struct acl_last_hit);

    return (slots + 1) * one;
}

size_t acl_build_need(const struct acl_rule *r, size_t n)
{
    return acl_need(r, n) + array_bytes((uint32_t)n + SPARE((uint32_t)n));
}

size_t acl_build_bytes(const struct acl_build *b)
{
    struct acl_stats s;

    acl_stats(b->content->rules, &s);
    return s.bytes + s.writer_bytes + array_bytes(b->content->slots) +
           (b->before ? acl_build_bytes(b->before) : 0);
}

#define BURST_MS 100 // of the rate, by default
#define BURST_MIN_KIB 16u
#define BURST_MIN_PACKETS 16u

// --- options of few rules -----------------------------------------------------------------------

// The meter of a rule before this one. 0: it has none.
static uint16_t shared_meter(const struct acl_build *b, uint32_t of)
{
    uint32_t slot = acl_slot_of(b->content->rules, of);
    uint16_t meter = slot == ACL_MISS ? 0 : b->content->action[slot].meter;

    if (meter)
        acl_meter_share(meter);
    return meter;
}

static uint16_t new_meter(const struct acl_more *m)
{
    if (m->police_packets) {
        uint32_t burst = m->police_packets / (1000 / BURST_MS);
        return acl_meter_new_of_packets(m->police_packets,
                                        burst > BURST_MIN_PACKETS ? burst : BURST_MIN_PACKETS);
    }
    uint64_t usual = (uint64_t)m->police_kbps * BURST_MS / 8, least = BURST_MIN_KIB << 10;

    return acl_meter_new(m->police_kbps, m->police_burst_kib ? (uint64_t)m->police_burst_kib << 10
                                         : usual > least     ? usual
                                                             : least);
}

static void targets_put(const struct acl_action *a)
{
    if (a->meter)
        acl_meter_free(a->meter);
    if (a->mirror)
        acl_mirror_put(a->mirror);
    if (a->redirect)
        acl_redirect_put(a->redirect);
}

// Makes the action, with its meter, mirror session and redirect. NULL; or a sentence, and nothing
// is allocated.
static const char *make_action(const struct acl_build *b, struct acl_action *a, uint32_t number,
                               const struct acl_how *how, const struct acl_more *m)
{
    const char *why = NULL;

    *a = (struct acl_action){
        .verb = how->verb, .extra = how->temporary ? ACL_TEMPORARY : 0, .number = number};
    if (!m)
        return NULL;
    a->extra |= m->extra;
    a->log_every = m->log_every;
    a->class = m->class;
    a->dscp = m->remark_dscp;
    if (m->police_with && !(a->meter = shared_meter(b, m->police_with)))
        why = "'police with' names a rule without a policer, expected a rule before this one";
    else if (m->extra & ACL_POLICE && !a->meter && !(a->meter = new_meter(m)))
        why = "too many rules with 'police': all lists together can have at most 4095, including a "
              "list being replaced";
    else if (m->extra & ACL_MIRROR && !(a->mirror = acl_mirror_get(m->mirror)))
        why = "rules use too many mirror sessions, expected at most 63";
    else if (m->extra & ACL_REDIRECT && !(a->redirect = acl_redirect_get(&m->redirect)))
        why = "rules redirect to too many addresses, expected at most 1023";
    if (why)
        targets_put(a);
    return why;
}

// Releases the options of the slot's deleted rule; no forwarder uses it any more.
static void more_forget(struct acl_build *b, uint32_t slot)
{
    uint32_t at = b->more_of[slot];

    if (!at)
        return;
    targets_put(&b->content->action[slot]);
    memset(&b->more.item[at - 1], 0, sizeof b->more.item[at - 1]);
    *vec_push(&b->more_free) = at - 1;
    b->more_of[slot] = 0;
}

// Returns 1 + index; 0 = no options.
static uint32_t more_keep(struct acl_build *b, const struct acl_more *m)
{
    if (!m)
        return 0;
    if (!b->more_free.n)
        (void)vec_push(&b->more), *vec_push(&b->more_free) = (uint32_t)b->more.n - 1;
    uint32_t at = b->more_free.item[--b->more_free.n];
    b->more.item[at] = *m;
    return at + 1;
}

void acl_build_free(struct acl_build *b)
{
    if (!b)
        return;
    acl_build_free(b->before);
    for (uint32_t slot = 0; b->more_of && slot < b->content->slots; slot++)
        more_forget(b, slot);
    if (b->content) {
        struct acl *a = b->content->rules;
        acl_content_free(b->content);
        acl_free(a);
    }
    free(b->more_of);
    free(b->seen);
    vec_free(&b->more);
    vec_free(&b->more_free);
    vec_free(&b->gone);
    free(b);
}

static int make_content(struct acl_build *b, const struct acl_lines *l)
{
    struct acl_config cfg = {0};
    const uint64_t start = clock_now_ns();
    struct acl *a;
    struct acl_stats s;
    int rc;

    memcpy(cfg.set, b->set, sizeof b->set);
    a = acl_new(&cfg);
    rc = a ? acl_load(a, l->rule.item, l->rule.n) : -errno;
    if (rc) {
        acl_free(a);
        return rc;
    }
    b->build_ns = clock_now_ns() - start;
    acl_stats(a, &s);
    b->content = acl_content_new(a, s.slots + SPARE(s.slots));
    b->more_of = b->content ? calloc(b->content->slots, sizeof *b->more_of) : NULL;
    b->seen = b->content ? calloc(b->content->slots + 1ul, sizeof *b->seen) : NULL;
    if (!b->content)
        acl_free(a);
    return b->more_of && b->seen ? 0 : -ENOMEM;
}

static const char *set_actions(struct acl_build *b, const struct acl_lines *l)
{
    struct acl_action a = {.verb = b->otherwise};

    acl_content_set(b->content, ACL_MISS, &a);
    for (size_t i = 0; i < l->rule.n; i++) {
        uint32_t slot = (uint32_t)acl_build_order(b)->item[i]; // sorted, as `l`
        const struct acl_more *more = acl_lines_more(l, i);
        const char *why = make_action(b, &a, l->rule.item[i].number, &l->how.item[i], more);

        if (why)
            return why;
        acl_content_set(b->content, slot, &a);
        b->more_of[slot] = more_keep(b, more);
        b->temporary += l->how.item[i].temporary;
    }
    return NULL;
}

struct acl_build *acl_build_new(const struct acl_lines *l, struct acl_set *const *set,
                                uint8_t otherwise, char *why, size_t why_size)
{
    struct acl_build *b = calloc(1, sizeof *b);

    bug_on(!b);
    b->otherwise = otherwise;
    b->n_sets = l->n_sets;
    memcpy(b->set_name, l->set, sizeof b->set_name);
    memcpy(b->set, set, l->n_sets * sizeof *set);
    int r = make_content(b, l);
    const char *too_many = r ? NULL : set_actions(b, l);
    if (!r && !too_many)
        return b;
    if (too_many)
        snprintf(why, why_size, "%s", too_many);
    else
        snprintf(why, why_size, "no memory for %zu rules, which take about %zu MiB: %s", l->rule.n,
                 acl_build_need(l->rule.item, l->rule.n) >> 20, strerror(-r));
    acl_build_free(b);
    return NULL;
}

const struct acl_more *acl_build_more(const struct acl_build *b, uint32_t slot)
{
    return b->more_of[slot] ? &b->more.item[b->more_of[slot] - 1] : NULL;
}

// --- in place ------------------------------------------------------------------------------------

bool acl_build_room(const struct acl_build *b)
{
    return acl_next_slot(b->content->rules) < b->content->slots;
}

// The slot of a deleted rule is freed after a grace period.
static void content_changed(struct acl_build *b, uint16_t id, uint32_t gone_slot)
{
    acl_changed(id);
    *vec_push(&b->gone) = (struct acl_retired){
        .slot = gone_slot, .epoch = acl_epoch(b->content->rules), .ticket = grace_ticket()};
}

int acl_build_add(struct acl_build *b, uint16_t id, const struct acl_rule *r,
                  const struct acl_how *how, const struct acl_more *more)
{
    const uint32_t slot = acl_next_slot(b->content->rules);
    struct acl_action action;

    if (slot >= b->content->slots || make_action(b, &action, r->number, how, more))
        return -ENOSPC;
    acl_build_retag(b, slot, &action);
    acl_hits_clear(b->content, slot);
    int e = acl_add(b->content->rules, r);
    if (e) {
        targets_put(&action);
        return e;
    }
    b->more_of[slot] = more_keep(b, more);
    *acl_build_last_hit(b, slot) = (struct acl_last_hit){0};
    b->temporary += how->temporary;
    content_changed(b, id, ACL_MISS);
    return 0;
}

int acl_build_del(struct acl_build *b, uint16_t id, uint32_t number)
{
    uint32_t slot = acl_slot_of(b->content->rules, number);
    int e = acl_del(b->content->rules, number);

    if (e)
        return e;
    b->temporary -= acl_build_is_temporary(b, slot);
    // the rule has no options any more; its targets are released after the grace period
    if (b->more_of[slot])
        memset(&b->more.item[b->more_of[slot] - 1], 0, sizeof *b->more.item);
    content_changed(b, id, slot);
    return 0;
}

// --- counters ------------------------------------------------------------------------------------

// Does the replaced content have the rule of the slot (ACL_MISS: the default), too?
static bool slot_before(const struct acl_build *b, uint32_t slot, uint32_t *before)
{
    const struct acl_rule *r;

    *before = ACL_MISS;
    if (!b->before || slot == ACL_MISS)
        return b->before;
    r = acl_rule_of(b->content->rules, slot);
    *before = acl_slot_of(b->before->content->rules, r->number);
    return *before != ACL_MISS &&
           acl_rule_equal(acl_rule_of(b->before->content->rules, *before), r);
}

struct acl_hits acl_build_hits(const struct acl_build *b, uint32_t slot)
{
    struct acl_hits n = acl_hits_read(b->content, slot);
    uint32_t before;

    if (slot_before(b, slot, &before)) {
        struct acl_hits old = acl_build_hits(b->before, before);
        n.packets += old.packets;
        n.bytes += old.bytes;
    }
    return n;
}

static void counters_absorb_slot(struct acl_build *b, uint32_t slot)
{
    uint32_t before;

    if (!slot_before(b, slot, &before))
        return;
    struct acl_hits had = acl_build_hits(b->before, before);
    if (!had.packets)
        return;
    acl_hits_add(b->content, slot, had);
    *acl_build_last_hit(b, slot) = *acl_build_last_hit(b->before, before);
}

// Takes over the counters of `before`, which no forwarder updates any more.
static void counters_absorb(struct acl_build *b)
{
    vec_foreach (acl_build_order(b), place)
        counters_absorb_slot(b, (uint32_t)*place);
    counters_absorb_slot(b, ACL_MISS);
    acl_build_totals(b->before, b->base);
    acl_build_free(b->before);
    b->before = NULL;
}

bool acl_build_tidy(struct acl_build *b)
{
    size_t kept = 0;

    if (b->before && b->keeps)
        counters_absorb(b);
    vec_foreach (&b->gone, g) {
        if (!grace_over(g->ticket)) {
            b->gone.item[kept++] = *g;
            continue;
        }
        acl_reclaim(b->content->rules, g->epoch);
        if (g->slot != ACL_MISS)
            more_forget(b, g->slot);
    }
    b->gone.n = kept;
    return kept;
}

static void counters_clear(struct acl_build *b, uint32_t slot)
{
    struct acl_hits now = acl_build_hits(b, slot); // with the counts of `before`

    acl_hits_add(b->content, slot, (struct acl_hits){-now.packets, -now.bytes});
}

void acl_build_clear(struct acl_build *b)
{
    vec_foreach (acl_build_order(b), place)
        counters_clear(b, (uint32_t)*place);
    counters_clear(b, ACL_MISS);
    acl_build_totals_clear(b);
}
