// SPDX-License-Identifier: BSD-3-Clause
// rib_list.c - lists of candidates under their prefixes, and of routes under their paths
//
// Each route of the kernel is in two lists: that of its prefix, in the kernel's order of
// preference, and that of its path, so that a change of the path finds all its routes. Derived
// routes, of hosts and imports, are only in the first, behind the kernel's. rib_check() verifies
// both lists, the counters and the FIB by the invariants R1 to R5.
#include "rib/vr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "table/fib.h"

void rib_init(struct rib *r, uint8_t family)
{
    memset(r, 0, sizeof *r);
    rib_trie_init(&r->trie, family);
    rib_trie_init(&r->neigh, family);
    rib_pool_init(&r->route, sizeof(struct rib_route));
    rib_budget_init(r);
    r->gen = 1;
    r->deferred = true;
}

void rib_fini(struct rib *r)
{
    rib_trie_fini(&r->trie);
    rib_trie_fini(&r->neigh);
    rib_pool_fini(&r->route);
    vec_free(&r->wide_local);
    rib_budget_fini(r);
    free(r->sum);
    r->sum = NULL;
}

// 0 = it is the first.
static uint32_t route_before(const struct rib *r, uint32_t route)
{
    uint32_t prev = 0, id = rib_trie_at(&r->trie, rib_route_at(r, route)->node)->head;

    for (; id != route; id = rib_route_at(r, id)->next)
        prev = id;
    return prev;
}

static void link_path(struct rib *r, uint32_t id, struct rib_path *p)
{
    struct rib_route *t = rib_route_at(r, id);

    t->path = p->id;
    t->path_prev = 0;
    t->path_next = p->head;
    if (p->head)
        rib_route_at(r, p->head)->path_prev = id;
    p->head = id;
    p->n_routes++;
}

static void unlink_path(struct rib_vr *v, struct rib *r, uint32_t id)
{
    struct rib_route *t = rib_route_at(r, id);
    struct rib_path *p = rib_path_at(v, t->path);

    if (p->cursor == id)
        p->cursor = t->path_next;
    if (t->path_prev)
        rib_route_at(r, t->path_prev)->path_next = t->path_next;
    else
        p->head = t->path_next;
    if (t->path_next)
        rib_route_at(r, t->path_next)->path_prev = t->path_prev;
    if (!--p->n_routes)
        rib_path_put(v, p);
}

static void link_node(struct rib *r, uint32_t id, uint32_t prev)
{
    struct rib_route *t = rib_route_at(r, id);
    uint32_t *link = prev ? &rib_route_at(r, prev)->next : &rib_trie_at(&r->trie, t->node)->head;

    t->next = *link;
    *link = id;
}

static void unlink_node(struct rib *r, uint32_t id)
{
    struct rib_route *t = rib_route_at(r, id);
    uint32_t prev = route_before(r, id);

    *(prev ? &rib_route_at(r, prev)->next : &rib_trie_at(&r->trie, t->node)->head) = t->next;
}

// A local prefix that is not a host shadows all longer ones of the other tables: remembers it.
static void wide_local_count(struct rib_vr *v, struct rib *r, const struct rib_route *t, bool add)
{
    struct prefix p = rib_trie_prefix(&r->trie, t->node);

    if (!(t->flags & RIB_ROUTE_LOCAL) || p.len == ip_bits(p.family) ||
        !rib_in_fib(&p, rib_path_at(v, t->path)->type))
        return;
    if (add) {
        *vec_push(&r->wide_local) = p;
    } else {
        for (size_t i = 0; i < r->wide_local.n; i++)
            if (prefix_equal(&r->wide_local.item[i], &p)) {
                vec_del_swap(&r->wide_local, i);
                break;
            }
    }
    for (uint32_t n = rib_trie_first_in(&r->trie, &p), next; n && rib_trie_is_in(&r->trie, n, &p);
         n = next) {
        next = rib_trie_next(&r->trie, n);
        if (n != t->node)
            rib_evaluate(v, r, n);
    }
}

uint32_t rib_route_add(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t prev,
                       struct rib_path *path, uint32_t metric, uint8_t protocol, uint8_t flags)
{
    uint32_t id = rib_pool_new(&r->route);
    struct rib_route *t = rib_route_at(r, id);

    t->node = node;
    t->metric = metric;
    t->protocol = protocol;
    t->flags = flags;
    t->gen = r->gen;
    link_node(r, id, prev);
    link_path(r, id, path);
    r->n_routes++;
    r->by_protocol[protocol]++;
    if (flags & RIB_ROUTE_LOCAL)
        wide_local_count(v, r, t, true);
    return id;
}

void rib_route_del(struct rib_vr *v, struct rib *r, uint32_t route)
{
    struct rib_route *t = rib_route_at(r, route);

    unlink_node(r, route);
    r->n_routes--;
    r->by_protocol[t->protocol]--;
    if (t->flags & RIB_ROUTE_LOCAL)
        wide_local_count(v, r, t, false);
    unlink_path(v, r, route);
    t->node = 0; // marks the freed record: the sweep reads all records of the pool
    rib_pool_free(&r->route, route);
}

void rib_route_move(struct rib *r, uint32_t route, uint32_t prev)
{
    if (prev == route || route_before(r, route) == prev)
        return;
    unlink_node(r, route);
    link_node(r, route, prev);
}

void rib_route_set_path(struct rib_vr *v, struct rib *r, uint32_t route, struct rib_path *path)
{
    if (rib_route_at(r, route)->path == path->id)
        return;
    unlink_path(v, r, route);
    link_path(r, route, path);
}

// Rank for R1; main's routes come behind the local table's.
static uint64_t rank_of(const struct rib_route *t)
{
    return (uint64_t)!!(t->flags & RIB_ROUTE_IMPORT) << 34 |
           (uint64_t)!!(t->flags & RIB_ROUTE_HOST) << 33 |
           (uint64_t) !(t->flags & RIB_ROUTE_LOCAL) << 32 | t->metric;
}

// Finds the derived route of that rank, and the candidate before its place.
static uint32_t find_derived(const struct rib *r, uint32_t node, uint8_t flag, uint32_t metric,
                             uint32_t *prev)
{
    uint64_t rank = rank_of(&(struct rib_route){.flags = flag, .metric = metric});
    uint32_t id = rib_trie_at(&r->trie, node)->head;

    for (*prev = 0; id && rank_of(rib_route_at(r, id)) < rank; id = rib_route_at(r, id)->next)
        *prev = id;
    return id && rank_of(rib_route_at(r, id)) == rank ? id : 0;
}

static uint32_t add_derived(struct rib *r, uint32_t node, uint8_t flag, uint32_t metric,
                            uint32_t prev)
{
    uint32_t id = rib_pool_new(&r->route);
    struct rib_route *t = rib_route_at(r, id);

    t->node = node;
    t->flags = flag;
    t->metric = metric;
    link_node(r, id, prev);
    return id;
}

static void del_derived(struct rib *r, uint32_t id)
{
    unlink_node(r, id);
    rib_route_at(r, id)->node = 0;
    rib_pool_free(&r->route, id);
}

void rib_host_set(struct rib_vr *v, const struct ip_addr *addr, uint32_t nexthop, bool on)
{
    struct rib *r = rib_of(v, addr->family);
    struct prefix p = rib_host(addr);
    uint32_t node, id, prev;

    node = on ? rib_trie_add(&r->trie, &p) : rib_trie_find(&r->trie, &p);
    if (!node)
        return;
    id = find_derived(r, node, RIB_ROUTE_HOST, 0, &prev);
    if (!on && id && rib_route_at(r, id)->path != nexthop) // another link has the address now
        return;
    if (!id && on)
        id = add_derived(r, node, RIB_ROUTE_HOST, 0, prev);
    else if (id && !on)
        del_derived(r, id);
    if (on)
        rib_route_at(r, id)->path = nexthop;
    rib_evaluate_host(v, r, node);
}

bool rib_import_set(struct rib *r, uint32_t node, uint16_t source, uint32_t nexthop,
                    uint8_t protocol)
{
    uint32_t prev, id = find_derived(r, node, RIB_ROUTE_IMPORT, source, &prev);

    if (!id && !nexthop)
        return false;
    nexthop_hold(nexthop);
    if (id)
        nexthop_put(rib_route_at(r, id)->path);
    if (!nexthop) {
        del_derived(r, id);
        return true;
    }
    if (!id)
        id = add_derived(r, node, RIB_ROUTE_IMPORT, source, prev);
    rib_route_at(r, id)->path = nexthop;
    rib_route_at(r, id)->protocol = protocol;
    return true;
}

static const char *check_node(struct rib_vr *v, struct rib *r, uint32_t node, uint64_t *by_protocol)
{
    const struct rib_node *n = rib_trie_at(&r->trie, node);
    uint64_t last = 0;
    struct prefix p = rib_trie_prefix(&r->trie, node);

    for (uint32_t id = n->head; id; id = rib_route_at(r, id)->next) {
        const struct rib_route *t = rib_route_at(r, id);
        const struct rib_path *path;

        if (rank_of(t) < last)
            return "R1: candidates are out of order";
        last = rank_of(t);
        if (t->node != node)
            return "R2: a route names another node";
        if (t->flags & RIB_ROUTE_DERIVED)
            continue;
        by_protocol[t->protocol]++;
        path = t->path < v->path.n ? rib_path_at(v, t->path) : NULL;
        if (!path)
            return "R2: a route's path is gone";
        if (t->path_prev ? rib_route_at(r, t->path_prev)->path_next != id : path->head != id)
            return "R2: the path does not list the route";
    }
    if (!r->deferred && fib_get(rib_fib(v, p.family), &p) != n->nexthop)
        return "R4: the FIB holds something else than the node says";
    if (!r->deferred && n->nexthop && !nexthop_holders(n->nexthop))
        return "R4: the FIB names a next hop without a reference";
    if (n->nexthop && rib_budget_waits(r, node))
        return "R5: a prefix waits although it is installed";
    return NULL;
}

// Adds up the charge again.
static bool check_charged(const struct rib *r)
{
    struct rib sum = {0};

    for (uint32_t node = rib_trie_first(&r->trie); node; node = rib_trie_next(&r->trie, node))
        rib_budget_count(&sum, rib_trie_at(&r->trie, node), true);
    return sum.budget.n_charged == r->budget.n_charged && sum.budget.n_free == r->budget.n_free;
}

int rib_check(struct rib_vr *v, struct rib *r, char *why, size_t n)
{
    uint64_t by_protocol[256] = {0};

    if (!r->deferred && !check_charged(r)) {
        snprintf(why, n, "R5: the budget's charge differs from the installed prefixes");
        return -EINVAL;
    }
    for (uint32_t node = rib_trie_first(&r->trie); node; node = rib_trie_next(&r->trie, node)) {
        const char *wrong = check_node(v, r, node, by_protocol);
        char text[PREFIX_TEXT_MAX];

        if (!wrong)
            continue;
        struct prefix p = rib_trie_prefix(&r->trie, node);
        snprintf(why, n, "%s: %s", prefix_format(&p, text), wrong);
        return -EINVAL;
    }
    if (!memcmp(by_protocol, r->by_protocol, sizeof by_protocol))
        return 0;
    snprintf(why, n, "R3: the counters by protocol do not equal the lists");
    return -EINVAL;
}
