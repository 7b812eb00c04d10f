// SPDX-License-Identifier: BSD-3-Clause
// rib_work.c - prefixes that rib_manager evaluates again, some thousand a turn
//
// rib_path.c queues the paths whose next hop or usability changed, and rib_budget.c the prefixes
// that wait for room. The turns here take prefixes from these queues; evaluating one may queue
// others, which a later turn takes.
#include "base/clock.h"
#include "rib/neigh.h"
#include "rib/vr.h"
#include "table/fib.h"
#include "table/vr_budget.h"

// --- paths ---

// Handles one route of a queued path; false when the path is finished (and perhaps freed).
static bool examine_route(struct rib_vr *v, struct rib_path *p)
{
    struct rib *r = rib_of(v, p->family);
    uint32_t route = p->condemned ? p->head : p->cursor, node;

    if (!route)
        return false;
    node = rib_route_at(r, route)->node;
    if (p->condemned) {
        bool last = p->n_routes == 1;

        rib_route_del(v, r, route); // frees the path with the last route
        rib_evaluate(v, r, node);
        return !last;
    }
    p->cursor = rib_route_at(r, route)->path_next;
    rib_evaluate(v, r, node);
    return p->cursor != 0;
}

bool rib_path_work(struct rib_vr *v, unsigned budget)
{
    while (v->dirty.n && budget) {
        size_t at = v->dirty.n - 1;
        uint32_t id = v->dirty.item[at];

        if (!id) { // freed by rib_path_put
            v->dirty.n--;
        } else if (examine_route(v, rib_path_at(v, id))) {
            budget--;
        } else if (v->dirty.item[at] == id) {
            rib_path_at(v, id)->queued = false;
            v->dirty.item[at] = 0;
        }
    }
    return v->dirty.n > 0;
}

void rib_link_rehop(struct rib_vr *v, int ifindex)
{
    if (ifindex && !rib_link_has_legs(v, ifindex))
        return;
    nexthop_object_resolve(v, ifindex);
    for (uint32_t id = 1; id < v->path.n; id++) {
        struct rib_path *p = rib_path_at(v, id);

        if (p && (!ifindex || hop_set_uses(&p->own, ifindex)) && hop_set_resolve(v, &p->own))
            rib_path_dirty(v, p);
    }
    rib_label_rehop(v, ifindex);
}

// --- budgets: eviction and admission ---

// Node at which a pass continues; a new pass begins at the first node.
static uint32_t evict_from(struct rib *r)
{
    struct rib_budget *b = &r->budget;

    if (b->passing)
        return rib_trie_after(&r->trie, &b->cursor);
    b->kept = 0;
    b->evicted = false;
    b->passing = true;
    return rib_trie_first(&r->trie);
}

// Keeps the first prefixes up to the limit; the others wait.
static void evict(struct rib_vr *v, struct rib *r, unsigned *budget)
{
    struct rib_budget *b = &r->budget;
    uint64_t limit = rib_budget_limit(v, r);
    uint32_t node = evict_from(r);

    for (; node && *budget && rib_budget_is_over(v, r); --*budget) {
        b->cursor = rib_trie_prefix(&r->trie, node);
        if (!rib_budget_charges(rib_trie_at(&r->trie, node)) || b->kept++ < limit) {
            node = rib_trie_next(&r->trie, node);
            continue;
        }
        rib_budget_wait(v, r, node);
        rib_evaluate(v, r, node); // hosts below it may come and go
        b->evicted = true;
        node = rib_trie_after(&r->trie, &b->cursor);
    }
    if (node && rib_budget_is_over(v, r))
        return; // for now
    b->passing = false;
    b->stuck = !b->evicted && rib_budget_is_over(v, r); // the excess is connected routes
}

static void admit(struct rib_vr *v, struct rib *r, unsigned *budget)
{
    struct rib_budget *b = &r->budget;

    for (; b->first && *budget && rib_budget_has_room(v, r); --*budget) {
        b->admitted = rib_budget_first(r);
        rib_evaluate(v, r, b->admitted);
        b->admitted = 0;
    }
}

static bool is_due(struct rib_vr *v, struct rib *r)
{
    return !r->deferred && (rib_budget_is_over(v, r) ||
                            (r->budget.first && rib_budget_has_room(v, r)));
}

bool rib_budget_due(struct rib_vr *v)
{
    return is_due(v, &v->rib[0]) || is_due(v, &v->rib[1]);
}

bool rib_budget_work(struct rib_vr *v, unsigned budget)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rib *r = &v->rib[i];

        if (r->deferred)
            continue;
        if (rib_budget_is_over(v, r))
            evict(v, r, &budget);
        else
            admit(v, r, &budget);
    }
    return rib_budget_due(v);
}

// --- once a second: frees memory of removed routes, retries refused next hops and neighbors ---

void rib_budget_tick(struct rib_vr *v, uint64_t now_ns)
{
    uint64_t limit = v->limits.of[VR_BUDGET_MEMORY];
    struct neigh *n;

    if (now_ns - v->retried_ns < NS_PER_SECOND)
        return;
    v->retried_ns = now_ns;
    if (limit && rib_memory_charged(v) >= limit) {
        fib_trim(rib_fib(v, IP4));
        fib_trim(rib_fib(v, IP6));
        v->memory_asked = 0;
    }
    if (v->lacks_nexthops && vr_budget_has_room(v->id, VR_BUDGET_NEXTHOPS, v->n_nexthops)) {
        v->lacks_nexthops = false;
        neigh_each (n, v->id)
            neigh_update(n, now_ns);
        rib_link_rehop(v, 0);
    }
    if (v->lacks_neighbors && vr_budget_has_room(v->id, VR_BUDGET_NEIGHBORS, v->n_neighbors)) {
        v->lacks_neighbors = false;
        rib_sync_want(v, 1u << RIB_STAGE_NEIGH, NS_PER_SECOND);
    }
}
