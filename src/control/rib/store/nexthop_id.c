// SPDX-License-Identifier: BSD-3-Clause
// nexthop_id.c - counted next-hop ids, shared ids, aliases and ENCAPs
//
// holders[] counts the references to each id. nexthop_put() of the last reference only lists the id
// as unused; nexthop_free_unused() frees it after the FIB commit, unless it has a holder again. An
// alias holds its target, its counter and the next hops of the other candidates; an ENCAP holds the
// next hop behind its labels. Equal ones share one id, found by hash.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "rib/journal.h"
#include "rib/nexthop_manager.h"
#include "rib/vr.h"
#include "table/nexthop_count.h"
#include "table/vr_budget.h"

static uint32_t *holders; // [NEXTHOP_ALL_MAX]
static bool *is_unused;   // [NEXTHOP_ALL_MAX] in `unused`; may have a new holder again
static VEC(uint32_t) unused;
static uint32_t shared[NEXTHOP_KIND_N];

int nexthop_manager_init(void)
{
    static const enum nexthop_kind kind[] = {NEXTHOP_LOCAL, NEXTHOP_BLACKHOLE, NEXTHOP_UNREACHABLE,
                                             NEXTHOP_PROHIBIT, NEXTHOP_NO_ROUTE};

    int err = journal_init(); // it needs to know of freed ids

    if (err)
        return err;
    holders = calloc(NEXTHOP_ALL_MAX, sizeof *holders);
    is_unused = calloc(NEXTHOP_ALL_MAX, sizeof *is_unused);
    if (!holders || !is_unused)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        shared[kind[i]] = nexthop_make(kind[i], 0);
        if (!shared[kind[i]])
            return -ENOSPC;
    }
    return 0;
}

void nexthop_manager_fini(void)
{
    for (int i = 0; i < NEXTHOP_KIND_N; i++) {
        nexthop_put(shared[i]);
        shared[i] = 0;
    }
    nexthop_free_unused();
    vec_free(&unused);
    free(holders);
    free(is_unused);
    journal_fini();
    holders = NULL;
    is_unused = NULL;
}

uint32_t nexthop_shared(enum nexthop_kind kind)
{
    bug_on(!shared[kind]);
    return shared[kind];
}

bool nexthop_has_room(struct rib_vr *v)
{
    bool room = vr_budget_has_room(v->id, VR_BUDGET_NEXTHOPS, v->n_nexthops);

    v->lacks_nexthops |= !room;
    return room;
}

uint32_t nexthop_make(enum nexthop_kind kind, uint16_t iface)
{
    uint32_t id = nexthop_new(kind, iface);

    if (id)
        holders[id] = 1;
    else
        log_error("nexthop: table full: used=%u limit=%u", nexthop_used(), NEXTHOP_MAX);
    return id;
}

void nexthop_hold(uint32_t id)
{
    if (id)
        holders[id]++;
}

void nexthop_put(uint32_t id)
{
    if (!id)
        return;
    bug_on(!holders[id]);
    if (--holders[id] || is_unused[id])
        return;
    is_unused[id] = true;
    *vec_push(&unused) = id;
}

// --- aliases and ENCAPs: one for each content ---

#define CONTENT_HEADS 65536u
static uint32_t content_head[CONTENT_HEADS], content_next[NEXTHOP_ALL_MAX];

static uint32_t *alias_list(const struct nexthop_alias *a)
{
    uint64_t own = (uint64_t)a->target << 33 | (uint64_t)a->mtu << 17 | (uint64_t)a->counter << 1 |
                   a->is_default;

    return &content_head[hash_bytes(a->other, a->n * sizeof *a->other, own) % CONTENT_HEADS];
}

static uint32_t *encap_list(const struct nexthop_encap *e)
{
    uint64_t own = (uint64_t)e->via << 32 | (uint64_t)e->vr << 16 | (uint64_t)e->flags << 8 |
                   e->ttl;

    return &content_head[hash_bytes(e->label_be, e->n * sizeof *e->label_be, own) % CONTENT_HEADS];
}

static uint32_t *content_list(uint32_t id)
{
    const struct nexthop *nh = nexthop_get(id);

    return nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_ALIAS ? alias_list(&nh->alias)
                                                                : encap_list(&nh->encap);
}

static bool alias_same(uint32_t id, const void *content)
{
    const struct nexthop *nh = nexthop_get(id);
    const struct nexthop_alias *a = &nh->alias, *b = content;

    return nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_ALIAS && a->target == b->target &&
           a->counter == b->counter && a->mtu == b->mtu && a->is_default == b->is_default &&
           a->n == b->n && !memcmp(a->other, b->other, a->n * sizeof *a->other);
}

static bool encap_same(uint32_t id, const void *content)
{
    const struct nexthop *nh = nexthop_get(id);
    const struct nexthop_encap *a = &nh->encap, *b = content;

    return nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_ENCAP && a->via == b->via &&
           a->vr == b->vr && a->flags == b->flags && a->ttl == b->ttl && a->n == b->n &&
           !memcmp(a->label_be, b->label_be, a->n * sizeof *a->label_be);
}

static uint32_t content_find(const uint32_t *list, bool (*same)(uint32_t id, const void *content),
                             const void *content)
{
    uint32_t id = *list;

    while (id && !same(id, content))
        id = content_next[id];
    return id;
}

// Freed after the next commit unless it has a holder by then.
static void content_add(uint32_t *list, uint32_t id)
{
    content_next[id] = *list;
    *list = id;
    holders[id] = 1;
    nexthop_put(id);
}

uint32_t nexthop_alias(const struct nexthop_alias *a)
{
    uint32_t *list = alias_list(a);
    uint32_t id = content_find(list, alias_same, a);

    if (id)
        return id;
    id = nexthop_alias_new(a);
    if (!id) {
        log_error("nexthop: table full: used=%u limit=%u", nexthop_used(), NEXTHOP_MAX);
        return a->target;
    }
    nexthop_hold(a->target);
    prefix_count_hold(a->counter);
    for (unsigned i = 0; i < a->n; i++)
        nexthop_hold(a->other[i]);
    content_add(list, id);
    return id;
}

uint32_t nexthop_encap(struct rib_vr *v, const struct nexthop_encap *e)
{
    static bool full;
    uint32_t *list = encap_list(e);
    uint32_t id = content_find(list, encap_same, e);

    if (id || (e->via && !nexthop_has_room(v)))
        return id;
    id = nexthop_encap_new(e);
    if (!id && !full) // once: labels come by the thousand
        log_error("nexthop: no room for labels: used=%u limit=%u of-labels-alone=%u",
                  nexthop_used(), NEXTHOP_MAX, NEXTHOP_ALL_MAX - NEXTHOP_MAX);
    full = !id;
    if (!id)
        return 0;
    nexthop_hold(e->via);
    v->n_nexthops += e->via != 0;
    content_add(list, id);
    return id;
}

// Releases what the alias or ENCAP names.
static void content_gone(uint32_t id)
{
    const struct nexthop *nh = nexthop_get(id);
    uint32_t *list = content_list(id);
    struct rib_vr *v;

    while (*list != id)
        list = &content_next[*list];
    *list = content_next[id];
    if (nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_ENCAP) {
        nexthop_put(nh->encap.via);
        v = nh->encap.via ? rib_vr_find(nh->encap.vr) : NULL;
        if (v)
            v->n_nexthops--;
        return;
    }
    nexthop_put(nh->alias.target);
    prefix_count_put(nh->alias.counter);
    for (unsigned i = 0; i < nh->alias.n; i++)
        nexthop_put(nh->alias.other[i]);
}

void nexthop_free_unused(void)
{
    for (size_t i = 0; i < unused.n; i++) { // some release other ids, which join the list
        uint32_t id = unused.item[i];
        is_unused[id] = false;
        if (holders[id])
            continue;
        enum nexthop_kind kind = nexthop_word_kind(nexthop_word(nexthop_get(id)));
        if (kind == NEXTHOP_ALIAS || kind == NEXTHOP_ENCAP)
            content_gone(id);
        journal_forget(id);
        nexthop_free(id);
    }
    vec_clear(&unused);
}

uint32_t nexthop_holders(uint32_t id)
{
    return holders[id];
}

bool nexthop_leads_on(uint32_t id)
{
    switch (nexthop_word_kind(nexthop_word(nexthop_get(id)))) {
    case NEXTHOP_ADJACENCY:
    case NEXTHOP_ENCAP:
    case NEXTHOP_GROUP:
    case NEXTHOP_HOLD:
    case NEXTHOP_GLEAN:
    case NEXTHOP_FAILED: return true;
    default: return false;
    }
}
