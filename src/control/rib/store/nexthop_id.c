// SPDX-License-Identifier: BSD-3-Clause
// nexthop_id.c - counted next-hop ids, shared ids, and aliases
//
// holders[] counts the references to each id. nexthop_put() of the last reference only lists the id
// as unused; nexthop_free_unused() frees it after the FIB commit, unless it has a holder again. An
// alias holds its target, its counter and the next hops of the other candidates. Equal aliases
// share one id, found by hash.
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

static uint32_t *holders; // [NEXTHOP_MAX]
static bool *is_unused;   // [NEXTHOP_MAX] in `unused`; may have a new holder again
static VEC(uint32_t) unused;
static uint32_t shared[NEXTHOP_KIND_N];

int nexthop_manager_init(void)
{
    static const enum nexthop_kind kind[] = {NEXTHOP_LOCAL, NEXTHOP_BLACKHOLE, NEXTHOP_UNREACHABLE,
                                             NEXTHOP_PROHIBIT, NEXTHOP_NO_ROUTE};

    int err = journal_init(); // it needs to know of freed ids

    if (err)
        return err;
    holders = calloc(NEXTHOP_MAX, sizeof *holders);
    is_unused = calloc(NEXTHOP_MAX, sizeof *is_unused);
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

// --- aliases: one for each content ---

#define ALIAS_HEADS 4096u
static uint16_t alias_head[ALIAS_HEADS], alias_next[NEXTHOP_MAX];

static uint16_t *alias_list(const struct nexthop_alias *a)
{
    uint64_t own = (uint64_t)a->target << 33 | (uint64_t)a->mtu << 17 | (uint64_t)a->counter << 1 |
                   a->is_default;

    return &alias_head[hash_bytes(a->other, a->n * sizeof *a->other, own) % ALIAS_HEADS];
}

static bool alias_same(const struct nexthop_alias *a, const struct nexthop_alias *b)
{
    return a->target == b->target && a->counter == b->counter && a->mtu == b->mtu &&
           a->is_default == b->is_default && a->n == b->n &&
           !memcmp(a->other, b->other, a->n * sizeof *a->other);
}

uint32_t nexthop_alias(const struct nexthop_alias *a)
{
    uint16_t *list = alias_list(a);

    for (uint32_t id = *list; id; id = alias_next[id])
        if (alias_same(&nexthop_get(id)->alias, a))
            return id;
    uint32_t id = nexthop_alias_new(a);
    if (!id) {
        log_error("nexthop: table full: used=%u limit=%u", nexthop_used(), NEXTHOP_MAX);
        return a->target;
    }
    nexthop_hold(a->target);
    prefix_count_hold(a->counter);
    for (unsigned i = 0; i < a->n; i++)
        nexthop_hold(a->other[i]);
    alias_next[id] = *list;
    *list = (uint16_t)id;
    holders[id] = 1;
    nexthop_put(id); // freed after the next commit unless a prefix holds it by then
    return id;
}

static void nexthop_alias_gone(uint32_t id)
{
    const struct nexthop_alias *a = &nexthop_get(id)->alias;
    uint16_t *list = alias_list(a);

    while (*list != id)
        list = &alias_next[*list];
    *list = alias_next[id];
    nexthop_put(a->target);
    prefix_count_put(a->counter);
    for (unsigned i = 0; i < a->n; i++)
        nexthop_put(a->other[i]);
}

void nexthop_free_unused(void)
{
    for (size_t i = 0; i < unused.n; i++) { // an alias releases other ids, which join the list
        uint32_t id = unused.item[i];
        is_unused[id] = false;
        if (holders[id])
            continue;
        if (nexthop_word_kind(nexthop_word(nexthop_get(id))) == NEXTHOP_ALIAS)
            nexthop_alias_gone(id);
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
    case NEXTHOP_GROUP:
    case NEXTHOP_HOLD:
    case NEXTHOP_GLEAN:
    case NEXTHOP_FAILED: return true;
    default: return false;
    }
}
