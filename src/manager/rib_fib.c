// SPDX-License-Identifier: BSD-3-Clause
// rib_fib.c - the best candidate of each prefix goes to the FIB
//
// The kernel looks into the local table first and into main only when that has
// no answer, whatever the lengths. The FIB is one table: a prefix of the local
// table that is no host (127.0.0.0/8, or "any IP") therefore shadows main's
// longer prefixes under it (r->wide_local). Everything else follows from the
// order of the lists: the first candidate the kernel would use wins, and a
// neighbour's host route is the last candidate of its prefix.
//
// Until a family's first dump is complete nothing is installed; then everything
// goes at once (fib_load), which builds a full table in the time of a few
// thousand single changes.
#include "manager/rib.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "base/clock.h"
#include "manager/neigh.h"
#include "table/fib.h"

bool rib_in_fib(const struct prefix *p, uint8_t type)
{
    if (type == RTN_MULTICAST)
        return false;
    if (p->family == IP4)
        return p->len < 4 || (p->b[0] & 0xf0) != 0xe0;
    if (p->len >= 8 && p->b[0] == 0xff)
        return false;
    return type == RTN_LOCAL || type == RTN_ANYCAST || p->len < 10 || p->b[0] != 0xfe ||
           (p->b[1] & 0xc0) != 0x80;
}

static bool is_shadowed(const struct rib *r, const struct prefix *p)
{
    vec_foreach(&r->wide_local, wide) if (wide->len < p->len && prefix_covers(wide, p)) return true;
    return false;
}

uint32_t rib_best(struct rib_vr *v, struct rib *r, uint32_t node)
{
    struct prefix p;
    bool shadowed;

    rib_trie_prefix(&r->trie, node, &p);
    shadowed = r->wide_local.n && is_shadowed(r, &p);
    for (uint32_t id = rib_trie_at(&r->trie, node)->head; id; id = rib_route_at(r, id)->next) {
        const struct rib_route *t = rib_route_at(r, id);
        const struct rib_path *path;

        if (t->flags & RIB_ROUTE_HOST)
            return id;
        path = rib_path_at(v, t->path);
        if (t->flags & RIB_ROUTE_LOCAL ? path->type == RTN_THROW : shadowed)
            continue;
        if (rib_path_usable(v, path) && rib_in_fib(&p, path->type))
            return id;
    }
    return 0;
}

static uint32_t nexthop_of(struct rib_vr *v, struct rib *r, uint32_t route)
{
    const struct rib_route *t;

    if (!route)
        return 0;
    t = rib_route_at(r, route);
    return t->flags & RIB_ROUTE_HOST ? t->path : rib_path_nexthop(rib_path_at(v, t->path));
}

static void failed(struct rib_vr *v, const struct prefix *p, int error)
{
    char text[PREFIX_TEXT_MAX];

    v->fib_errors++;
    log_error("rib: FIB refused a change, will try again: vr=%u prefix=%s error=%d", v->id,
              prefix_format(p, text), error);
    rib_sync_want(v, p->family == IP4 ? RIB_STAGES_ROUTES4 : RIB_STAGES_ROUTES6, 10 * NS_PER_S);
}

// The FIB's entry for a node := nexthop (0 = none). False when nothing changed.
static bool install(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t nexthop)
{
    struct rib_node *n = rib_trie_at(&r->trie, node);
    struct fib *fib = rib_fib(v, r->trie.family);
    struct prefix p;
    int err;

    if (n->nexthop == nexthop)
        return false;
    rib_trie_prefix(&r->trie, node, &p);
    err = nexthop ? fib_set(fib, &p, nexthop) : fib_del(fib, &p);
    if (err && err != -ENOENT && rib_engine_fall_back(v, p.family, err)) {
        fib = rib_fib(v, p.family);
        err = nexthop ? fib_set(fib, &p, nexthop) : fib_del(fib, &p);
    }
    if (err && err != -ENOENT) {
        failed(v, &p, err);
        return false;
    }
    nexthop_hold(nexthop);
    nexthop_put(n->nexthop);
    r->n_fib += !n->nexthop;
    r->n_fib -= !nexthop;
    n->nexthop = (uint16_t)nexthop;
    r->updates++;
    v->changed = true;
    return true;
}

void rib_evaluate(struct rib_vr *v, struct rib *r, uint32_t node)
{
    bool changed = !r->deferred && install(v, r, node, nexthop_of(v, r, rib_best(v, r, node)));
    struct prefix p;

    rib_trie_prefix(&r->trie, node, &p);
    rib_trie_prune(&r->trie, node);
    if (changed && p.len < ip_bits(p.family))
        neigh_recheck(v, &p);
}

static size_t collect(struct rib_vr *v, struct rib *r, struct fib_route *route)
{
    size_t n = 0;

    for (uint32_t id = rib_trie_first(&r->trie); id; id = rib_trie_next(&r->trie, id)) {
        uint32_t nexthop = nexthop_of(v, r, rib_best(v, r, id));

        if (!nexthop)
            continue;
        rib_trie_prefix(&r->trie, id, &route[n].prefix);
        route[n++].nexthop = nexthop;
        rib_trie_at(&r->trie, id)->nexthop = (uint16_t)nexthop;
        nexthop_hold(nexthop);
    }
    return n;
}

// The bulk load had no memory: back to one by one, which tells about each failure.
static void load_singly(struct rib_vr *v, struct rib *r)
{
    for (uint32_t id = rib_trie_first(&r->trie); id; id = rib_trie_next(&r->trie, id)) {
        struct rib_node *n = rib_trie_at(&r->trie, id);
        uint32_t collected = n->nexthop;

        n->nexthop = 0;
        install(v, r, id, nexthop_of(v, r, rib_best(v, r, id)));
        nexthop_put(collected);
    }
}

void rib_load(struct rib_vr *v, struct rib *r)
{
    struct fib_route *route;
    struct prefix all = {.family = r->trie.family};
    size_t n;
    int err;

    if (!r->deferred)
        return;
    r->deferred = false;
    route = malloc((r->trie.node.n_used + 1) * sizeof *route);
    n = route ? collect(v, r, route) : 0;
    err = route ? fib_load(rib_fib(v, r->trie.family), route, n) : -ENOMEM;
    if (!err || (route && rib_engine_fall_back(v, r->trie.family, err))) {
        r->n_fib = n;
        r->updates += n;
    } else {
        load_singly(v, r);
    }
    free(route);
    v->changed = true;
    neigh_recheck(v, &all);
}

void rib_commit(struct rib_vr *v)
{
    if (v->changed) {
        fib_commit(rib_fib(v, IP4));
        fib_commit(rib_fib(v, IP6));
        v->last_change_ns = clock_now_ns();
        v->changed = false;
    }
    nexthop_free_unused();
}

uint64_t rib_fib_compare(struct rib_vr *v, struct rib *r)
{
    struct fib *fib = rib_fib(v, r->trie.family);
    uint64_t wrong = 0;

    for (uint32_t id = rib_trie_first(&r->trie); id && !r->deferred; id = rib_trie_next(&r->trie, id)) {
        struct rib_node *n = rib_trie_at(&r->trie, id);
        uint32_t best = nexthop_of(v, r, rib_best(v, r, id));
        struct prefix p;

        rib_trie_prefix(&r->trie, id, &p);
        if (fib_get(fib, &p) != n->nexthop) {
            wrong++;
            if (n->nexthop ? !fib_set(fib, &p, n->nexthop) : !fib_del(fib, &p))
                v->changed = true;
        }
        if (best != n->nexthop) {
            wrong++;
            install(v, r, id, best);
        }
    }
    return wrong;
}
