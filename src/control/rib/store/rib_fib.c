// SPDX-License-Identifier: BSD-3-Clause
// rib_fib.c - installs the best candidate of each prefix in the FIB
//
// The kernel searches the local table first, and main only if local has no match, whatever the
// lengths. The FIB is one table: so a local prefix that is not a host (127.0.0.0/8, or "any IP")
// shadows main's longer prefixes below it (r->wide_local). The rest follows from the order of the
// lists (store.h). A kernel route to one host on a link gets the neighbor's next hop as soon as it
// exists.
#include "rib/vr.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "base/clock.h"
#include "rib/journal.h"
#include "rib/neigh.h"
#include "rib/rib_manager.h"
#include "table/fib.h"

#define IMPORTED_PREFIXES 4096 // examined per commit

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
    vec_foreach (&r->wide_local, wide)
        if (wide->len < p->len && prefix_covers(wide, p))
            return true;
    return false;
}

uint32_t rib_best(struct rib_vr *v, struct rib *r, uint32_t node)
{
    bool shadowed;
    struct prefix p = rib_trie_prefix(&r->trie, node);

    if (!rib_in_fib(&p, RTN_LOCAL)) // of any type: each link has a route to ff00::/8
        return 0;
    shadowed = r->wide_local.n && is_shadowed(r, &p);
    for (uint32_t id = rib_trie_at(&r->trie, node)->head; id; id = rib_route_at(r, id)->next) {
        const struct rib_route *t = rib_route_at(r, id);
        const struct rib_path *path;

        if (t->flags & RIB_ROUTE_DERIVED)
            return id;
        path = rib_path_at(v, t->path);
        if (t->flags & RIB_ROUTE_LOCAL ? path->type == RTN_THROW : shadowed)
            continue;
        if (rib_path_usable(v, path) && rib_in_fib(&p, path->type))
            return id;
    }
    return 0;
}

uint32_t rib_longest(struct rib_vr *v, struct rib *r, const struct prefix *host)
{
    uint32_t node = rib_trie_cover(&r->trie, host), best;

    for (; node; node = rib_trie_parent(&r->trie, node)) {
        best = rib_budget_waits(r, node) ? 0 : rib_best(v, r, node);
        if (best && !(rib_route_at(r, best)->flags & RIB_ROUTE_DERIVED))
            break;
    }
    return node;
}

const struct rib_path *rib_path_to(struct rib_vr *v, const struct ip_addr *addr)
{
    struct rib *r = rib_of(v, addr->family);
    struct prefix host = rib_host(addr);
    uint32_t node = r->deferred ? 0 : rib_longest(v, r, &host);

    return node ? rib_path_at(v, rib_route_at(r, rib_best(v, r, node))->path) : NULL;
}

bool rib_is_connected(struct rib_vr *v, const struct ip_addr *addr, int ifindex)
{
    const struct rib_path *p = rib_path_to(v, addr);

    return p && rib_path_is_connected(p, ifindex);
}

static uint32_t nexthop_of(struct rib_vr *v, struct rib *r, uint32_t route)
{
    const struct rib_route *t;

    if (!route)
        return 0;
    t = rib_route_at(r, route);
    return t->flags & RIB_ROUTE_DERIVED ? t->path : rib_path_nexthop(rib_path_at(v, t->path));
}

// Host candidate behind `best`, a kernel route, if that leads onto the host's link; 0 = none.
static uint32_t host_behind(struct rib_vr *v, struct rib *r, uint32_t best)
{
    const struct rib_path *path = rib_path_at(v, rib_route_at(r, best)->path);

    for (uint32_t id = rib_route_at(r, best)->next; id; id = rib_route_at(r, id)->next)
        if (rib_route_at(r, id)->flags & RIB_ROUTE_HOST) {
            const struct neigh *n = neigh_of_nexthop(rib_route_at(r, id)->path);
            return n && rib_path_is_connected(path, n->ifindex) ? id : 0;
        }
    return 0;
}

static bool is_host(struct rib *r, uint32_t node)
{
    return rib_trie_at(&r->trie, node)->len == ip_bits(r->trie.family);
}

// Route whose next hop the FIB gets for a node with this best route.
static uint32_t leading_route(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route)
{
    uint32_t host = 0;

    if (route && is_host(r, node) && !(rib_route_at(r, route)->flags & RIB_ROUTE_DERIVED))
        host = host_behind(v, r, route);
    return host ? host : route;
}

// MTU of the route; for a neighbor's host route, MTU of the route that covers it. IPv6 links have
// at least 1280 (RFC 8200 5), and so do routes in Linux.
static uint16_t mtu_of(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route)
{
    const struct rib_route *t = rib_route_at(r, route);
    struct rib_import_source s;
    uint16_t mtu;

    if (t->flags & RIB_ROUTE_IMPORT) // source's route: may be a neighbor's, never an import
        return rib_import_source(v, r->trie.family, route, &s) ||
                       (s.route && rib_route_at(s.rib, s.route)->flags & RIB_ROUTE_HOST)
                   ? mtu_of(s.vr, s.rib, s.node, s.route)
                   : 0;
    if (t->flags & RIB_ROUTE_HOST) {
        struct prefix p = rib_trie_prefix(&r->trie, node);
        node = rib_longest(v, r, &p);
        if (!node)
            return 0;
        t = rib_route_at(r, rib_best(v, r, node));
    }
    mtu = rib_path_at(v, t->path)->mtu;
    return mtu && r->trie.family == IP6 && mtu < IP6_MTU_MIN ? IP6_MTU_MIN : mtu;
}

// The next hop, or an alias of it if the prefix has properties of its own.
static uint32_t alias_of(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route,
                         uint32_t nexthop)
{
    struct nexthop_alias a = {.target = nexthop};
    struct prefix p = rib_trie_prefix(&r->trie, node);

    rib_source_ask(v, r, &p, route, &a);
    a.counter = rib_counted_slot(v, &p, nexthop);
    if ((v->n_mtu_paths || v->import.n) && nexthop_leads_on(nexthop))
        a.mtu = mtu_of(v, r, node, route);
    return a.is_default || a.n || a.counter || a.mtu ? nexthop_alias(&a) : nexthop;
}

// Next hop that the FIB should have for a node.
static uint32_t leaf_of(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route)
{
    uint32_t nexthop = nexthop_of(v, r, leading_route(v, r, node, route));
    unsigned six = r->trie.family == IP6;

    if (!nexthop)
        rib_budget_leave(r, node);
    if (!nexthop || !rib_budget_admits(v, r, node, route))
        return 0;
    return v->sources[six] || v->counted[six].n || v->n_mtu_paths || v->import.n
               ? alias_of(v, r, node, route, nexthop)
               : nexthop;
}

static void log_refusal(struct rib_vr *v, const struct prefix *p, int error)
{
    char text[PREFIX_TEXT_MAX];

    log_error("rib: FIB rejected a change, will retry: vr=%u prefix=%s error=%d", v->id,
              prefix_format(p, text), error);
    rib_sync_want(v, p->family == IP4 ? RIB_STAGES_ROUTES4 : RIB_STAGES_ROUTES6,
                  10 * NS_PER_SECOND);
}

// Tells the journal of a next hop that is new to the FIB, before the FIB changes. An alias is
// described by its target.
static void describe_nexthop(struct rib_vr *v, struct rib *r, uint32_t route,
                             const struct prefix *p, uint32_t nexthop)
{
    uint32_t real = nexthop_real(nexthop);

    if (real && !journal_knows(real)) {
        const struct rib_route *t = rib_route_at(r, route);
        bool derived = t->flags & RIB_ROUTE_DERIVED;

        journal_describe_nexthop(
            v, derived ? NULL : rib_path_hops(rib_path_at(v, t->path)), p, real);
    }
}

static void set_node(struct rib *r, struct rib_node *n, uint32_t nexthop, uint8_t protocol)
{
    rib_budget_count(r, n, false);
    n->nexthop = (uint16_t)nexthop;
    n->protocol = protocol;
    rib_budget_count(r, n, true);
}

static void note_change(struct rib_vr *v, struct rib *r, const struct prefix *p, struct rib_node *n,
                    uint32_t nexthop, uint8_t protocol)
{
    journal_route(v->id, p, n->nexthop, n->protocol, nexthop, protocol);
    rib_audit_changed(v, r, p, n->nexthop, nexthop);
    rib_tunnel_note(v->id, p);
    if (v->importer.n)
        rib_import_note(v, p);
    set_node(r, n, nexthop, protocol);
}

bool rib_install(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route)
{
    struct rib_node *n = rib_trie_at(&r->trie, node);
    struct fib *fib = rib_fib(v, r->trie.family);
    uint32_t nexthop = leaf_of(v, r, node, route);
    uint8_t protocol = nexthop ? rib_protocol_of(rib_route_at(r, route)) : 0;
    int err;

    if (n->nexthop == nexthop) {
        set_node(r, n, nexthop, protocol);
        return false;
    }
    struct prefix p = rib_trie_prefix(&r->trie, node);
    err = nexthop ? fib_set(fib, &p, nexthop) : fib_del(fib, &p);
    if (err && err != -ENOENT && rib_engine_fall_back(v, p.family, err)) {
        fib = rib_fib(v, p.family);
        err = nexthop ? fib_set(fib, &p, nexthop) : fib_del(fib, &p);
    }
    if (err && err != -ENOENT) {
        log_refusal(v, &p, err);
        return false;
    }
    if (nexthop)
        describe_nexthop(v, r, leading_route(v, r, node, route), &p, nexthop);
    nexthop_hold(nexthop);
    nexthop_put(n->nexthop);
    r->n_fib += !n->nexthop;
    r->n_fib -= !nexthop;
    note_change(v, r, &p, n, nexthop, protocol);
    r->updates++;
    v->changed = true;
    return true;
}

// Hosts below the prefix take over its MTU.
static void hosts_follow(struct rib_vr *v, struct rib *r, const struct prefix *p)
{
    uint32_t n = rib_trie_first_in(&r->neigh, p), host;

    for (; n && rib_trie_is_in(&r->neigh, n, p); n = rib_trie_next(&r->neigh, n)) {
        struct prefix addr = rib_trie_prefix(&r->neigh, n);
        host = rib_trie_find(&r->trie, &addr);
        if (host)
            rib_evaluate_host(v, r, host);
    }
}

static bool install_best(struct rib_vr *v, struct rib *r, uint32_t node, struct prefix *p)
{
    uint16_t mtu = nexthop_route_mtu(rib_trie_at(&r->trie, node)->nexthop);
    bool changed = !r->deferred && rib_install(v, r, node, rib_best(v, r, node)), follow;

    follow = changed && nexthop_route_mtu(rib_trie_at(&r->trie, node)->nexthop) != mtu;
    *p = rib_trie_prefix(&r->trie, node);
    rib_trie_prune(&r->trie, node);
    if (follow && p->len < ip_bits(p->family))
        hosts_follow(v, r, p);
    return changed;
}

void rib_evaluate(struct rib_vr *v, struct rib *r, uint32_t node)
{
    struct prefix p;
    bool changed = install_best(v, r, node, &p);

    // A route to one host may go without a change of the FIB, which already had the host's next
    // hop.
    if (changed || (!r->deferred && p.len == ip_bits(p.family)))
        neigh_recheck(v, &p);
}

void rib_evaluate_host(struct rib_vr *v, struct rib *r, uint32_t node)
{
    struct prefix p;

    install_best(v, r, node, &p);
}

void rib_evaluate_prefix(struct rib_vr *v, const struct prefix *p)
{
    struct rib *r = rib_of(v, p->family);
    uint32_t node = rib_trie_find(&r->trie, p);

    if (node)
        rib_evaluate(v, r, node);
    rib_commit(v);
}

static size_t collect_best(struct rib_vr *v, struct rib *r, struct fib_route *route)
{
    size_t n = 0;

    for (uint32_t id = rib_trie_first(&r->trie); id; id = rib_trie_next(&r->trie, id)) {
        uint32_t best = rib_best(v, r, id), nexthop = leaf_of(v, r, id, best);

        if (!nexthop)
            continue;
        route[n].prefix = rib_trie_prefix(&r->trie, id);
        describe_nexthop(v, r, leading_route(v, r, id, best), &route[n].prefix, nexthop);
        rib_audit_changed(v, r, &route[n].prefix, 0, nexthop);
        set_node(r, rib_trie_at(&r->trie, id), nexthop, rib_protocol_of(rib_route_at(r, best)));
        route[n++].nexthop = nexthop;
        nexthop_hold(nexthop);
    }
    return n;
}

// Loads one by one: the bulk load ran out of memory, and this reports each failure; or the memory
// that each takes must be known.
static void load_singly(struct rib_vr *v, struct rib *r)
{
    rib_audit_forget(r);
    r->budget.n_charged = r->budget.n_free = 0;
    for (uint32_t id = rib_trie_first(&r->trie); id; id = rib_trie_next(&r->trie, id)) {
        struct rib_node *n = rib_trie_at(&r->trie, id);
        uint32_t collected = n->nexthop;

        n->nexthop = 0;
        rib_install(v, r, id, rib_best(v, r, id));
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
    r->loaded_ns = clock_now_ns();
    if (v->limits.of[VR_BUDGET_MEMORY]) {
        load_singly(v, r);
        neigh_recheck(v, &all);
        return;
    }
    route = malloc((r->trie.node.n_used + 1) * sizeof *route);
    n = route ? collect_best(v, r, route) : 0;
    err = route ? fib_load(rib_fib(v, r->trie.family), route, n) : -ENOMEM;
    if (!err || (route && rib_engine_fall_back(v, r->trie.family, err))) {
        r->n_fib = n;
        r->updates += n;
    } else {
        load_singly(v, r);
    }
    free(route);
    rib_import_loaded(v, r->trie.family);
    rib_tunnel_note(v->id, NULL);
    v->changed = true;
    neigh_recheck(v, &all);
}

static void commit_fibs(struct rib_vr *v)
{
    if (!v->changed)
        return;
    fib_commit(rib_fib(v, IP4));
    fib_commit(rib_fib(v, IP6));
    v->changed = false;
    rib_tunnel_commit();
}

void rib_commit_all(void)
{
    rib_vr_each (v)
        commit_fibs(v);
}

void rib_commit(struct rib_vr *v)
{
    commit_fibs(v);
    if (rib_import_work(IMPORTED_PREFIXES))
        rib_commit_all();
    nexthop_free_unused();
    journal_new_moment();
}

// --- a change in the facts that uRPF needs (rib_source.c) ---

static bool may_need_alias(struct rib *r, uint32_t node)
{
    const struct rib_node *n = rib_trie_at(&r->trie, node);

    return n->head && (n->len == 0 || rib_route_at(r, n->head)->next);
}

void rib_fib_sources(struct rib_vr *v, uint8_t family, uint8_t sources)
{
    struct rib *r = rib_of(v, family);

    if (v->sources[family == IP6] == sources)
        return;
    v->sources[family == IP6] = sources;
    for (uint32_t node = rib_trie_first(&r->trie); node;) {
        if (!may_need_alias(r, node)) {
            node = rib_trie_next(&r->trie, node);
            continue;
        }
        struct prefix p = rib_trie_prefix(&r->trie, node);
        rib_evaluate(v, r, node); // hosts below it may come and go
        node = rib_trie_after(&r->trie, &p);
    }
    rib_commit(v);
}
