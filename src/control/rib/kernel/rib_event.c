// SPDX-License-Identifier: BSD-3-Clause
// rib_event.c - applies route events to the lists (rows of a dump: rib_row.c)
//
// IPv4. The kernel keeps an ordered list of routes per prefix and metric, and the flags of
// RTM_NEWROUTE tell the change: REPLACE changed the first route of that metric, APPEND added one at
// the end, CREATE alone added one at the front, and CREATE|EXCL means that there was none.
//
// IPv6. Routes with a gateway and the same metric are one multipath route: an announcement carries
// the whole set, RTM_DELROUTE the set or one leg. Routes without gateway, or by a next-hop object,
// live side by side. Linux keeps each leg as a route of its own, at the end of its metric. So a
// route without gateway may stand between two legs: dumps skip it (rib_row.c), and when the first
// leg goes it comes to the front. We do not know which leg is the first, so we request a dump.
//
// Events may repeat rows of a dump (both are in one queue), so each event is idempotent. An event
// that does not match our state (the deletion of an unknown route) is counted and triggers a dump:
// the kernel is right.
#include <linux/rtnetlink.h>

#include "base/clock.h"
#include "rib/vr.h"

bool rib_wants(struct rib_vr *v, const struct netlink_route *m)
{
    if (m->cloned || !m->type || m->type > RTN_THROW)
        return false;
    if (m->tos || m->from) // chosen by more than the destination
        return false;
    if (m->table == v->table)
        return true;
    if (m->table != RIB_TABLE_LOCAL)
        return false;
    if (v->table == RIB_TABLE_MAIN)
        return true;
    // One local table serves all routers of the namespace; a VRF's router takes only the routes on
    // its own interfaces.
    for (unsigned i = 0; i < m->n_hops; i++) {
        const struct rib_link *l = rib_link_find(v, m->hop[i].ifindex);

        if (l && l->via && !l->of_other)
            return true;
    }
    return false;
}

static uint8_t flags_of(const struct netlink_route *m, const struct rib_vr *v)
{
    return m->table == RIB_TABLE_LOCAL && v->table != RIB_TABLE_LOCAL ? RIB_ROUTE_LOCAL : 0;
}

// Candidates of one table and metric within a node's list: [first, ...), behind `prev`.
struct span {
    uint32_t prev;  // last better candidate, 0 = none
    uint32_t first; // first with this metric, 0 = none
    uint32_t last;  // last with this metric; prev when there is none
};

static bool same_span(const struct rib_route *t, uint8_t flags, uint32_t metric)
{
    return t->flags == flags && t->metric == metric;
}

static struct span find_span(const struct rib *r, uint32_t node, uint8_t flags, uint32_t metric)
{
    struct span s = {0};
    uint32_t id = rib_trie_at(&r->trie, node)->head;

    for (; id; id = rib_route_at(r, id)->next) {
        const struct rib_route *t = rib_route_at(r, id);
        bool better = t->flags != flags ? t->flags & RIB_ROUTE_LOCAL : t->metric < metric;

        if (same_span(t, flags, metric)) {
            if (!s.first)
                s.first = id;
            s.last = id;
        } else if (better) {
            s.prev = s.last = id;
        } else {
            break;
        }
    }
    return s;
}

static uint32_t find_path(const struct rib *r, const struct span *s, const struct rib_path *path,
                          uint8_t protocol)
{
    for (uint32_t id = s->first; id; id = rib_route_at(r, id)->next) {
        const struct rib_route *t = rib_route_at(r, id);

        if (t->path == path->id && t->protocol == protocol)
            return id;
        if (id == s->last)
            break;
    }
    return 0;
}

bool rib_is_multipath6(const struct rib_path *p)
{
    return !p->nhid && p->n_hops && p->hop[0].gateway.family &&
           p->hop[p->n_hops - 1].gateway.family;
}

static void set_protocol(struct rib *r, struct rib_route *t, uint8_t protocol)
{
    r->by_protocol[t->protocol]--;
    r->by_protocol[protocol]++;
    t->protocol = protocol;
}

static void replace_route(struct rib_vr *v, struct rib *r, uint32_t id, struct rib_path *path,
                          uint8_t protocol)
{
    set_protocol(r, rib_route_at(r, id), protocol);
    rib_route_at(r, id)->gen = r->gen;
    rib_route_set_path(v, r, id, path);
}

static void delete_span(struct rib_vr *v, struct rib *r, uint32_t node, const struct span *s)
{
    uint32_t id = s->first, last = s->last, next;

    for (; id; id = next) {
        next = id == last ? 0 : rib_route_at(r, id)->next;
        rib_route_del(v, r, id);
    }
}

static void want_resync(struct rib_vr *v, const struct prefix *p)
{
    v->unexpected++;
    rib_sync_want(v, p->family == IP4 ? RIB_STAGES_ROUTES4 : RIB_STAGES_ROUTES6, 200 * NS_PER_MS);
}

// A multipath route loses legs while other routes follow it: the kernel's order may have changed.
static void lose_legs(struct rib_vr *v, const struct rib *r, const struct span *s, uint32_t id)
{
    const struct rib_path *p = rib_path_at(v, rib_route_at(r, id)->path);

    if (p->family == IP6 && rib_is_multipath6(p) && p->n_hops > 1 && id != s->last)
        rib_sync_want(v, RIB_STAGES_ROUTES6, 200 * NS_PER_MS);
}

static void new_route4(struct rib_vr *v, struct rib *r, uint32_t node,
                       const struct netlink_event *e, struct rib_path *path, uint8_t flags)
{
    const struct netlink_route *m = &e->route;
    struct span s = find_span(r, node, flags, m->metric);
    uint32_t same = find_path(r, &s, path, m->protocol);

    if (e->excl && s.first && !(same && s.first == s.last)) { // the kernel had none: ours are stale
        delete_span(v, r, node, &s);
        s.first = same = 0;
        s.last = s.prev;
    }
    // Already shown by a dump; or its next-hop object was replaced, which Linux announces as a
    // replacement of the route by itself.
    if (same) {
        rib_route_at(r, same)->gen = r->gen;
        return;
    }
    if (e->replace && s.first) {
        replace_route(v, r, s.first, path, m->protocol);
        return;
    }
    rib_route_add(v, r, node, e->append ? s.last : s.prev, path, m->metric, m->protocol, flags);
}

static void new_route6(struct rib_vr *v, struct rib *r, uint32_t node,
                       const struct netlink_event *e, struct rib_path *path, uint8_t flags)
{
    const struct netlink_route *m = &e->route;
    struct span s = find_span(r, node, flags, m->metric);
    bool multipath = rib_is_multipath6(path), has_routes = path->n_routes > 1; // one is our hold
    uint32_t id = has_routes || multipath || e->replace ? s.first : 0, victim = 0;

    for (; id; id = id == s.last ? 0 : rib_route_at(r, id)->next) {
        const struct rib_route *t = rib_route_at(r, id);

        if (t->path ==
            path->id) { // known: a repeated announcement, or its object was replaced
            if (e->replace && victim) // or it took the victim's place and exists twice
                want_resync(v, &m->prefix);
            replace_route(v, r, id, path, m->protocol);
            return;
        }
        if (!victim && rib_is_multipath6(rib_path_at(v, t->path)) == multipath)
            victim = id;
    }
    if (e->replace && !victim)
        victim = s.first;
    if (victim && (multipath || e->replace)) {
        if (e->replace)
            lose_legs(v, r, &s, victim);
        replace_route(v, r, victim, path, m->protocol);
    } else {
        rib_route_add(v, r, node, s.last, path, m->metric, m->protocol, flags);
    }
}

// One leg of a multipath route was deleted: the route keeps the others. False when no route has the
// leg.
static bool delete_leg(struct rib_vr *v, struct rib *r, const struct span *s,
                       const struct netlink_route *m)
{
    static struct netlink_route rest; // large; only the manager thread uses it

    if (m->n_hops != 1)
        return false;
    for (uint32_t id = s->first; id; id = id == s->last ? 0 : rib_route_at(r, id)->next) {
        const struct rib_path *p = rib_path_at(v, rib_route_at(r, id)->path);
        unsigned n = 0;

        if (p->n_hops < 2)
            continue;
        rest = (struct netlink_route){.prefix = m->prefix,
                                      .type = p->type,
                                      .scope = p->scope,
                                      .encap = p->encap,
                                      .metrics_hash = p->metrics_hash,
                                      .mtu = p->mtu,
                                      .prefsrc = p->prefsrc};
        for (unsigned i = 0; i < p->n_hops; i++) {
            const struct netlink_hop *hop = &p->hop[i];

            if (hop->ifindex == m->hop[0].ifindex &&
                ip_equal(&hop->gateway, &m->hop[0].gateway) &&
                label_stack_equal(&hop->labels, &m->hop[0].labels))
                continue;
            rest.hop[n++] = *hop;
        }
        rest.n_hops = (uint16_t)n;
        if (n == p->n_hops)
            continue;
        if (n == 1)
            rest.hop[0].weight = 1; // a single next hop is announced without a weight
        lose_legs(v, r, s, id);
        rib_route_set_path(v, r, id, rib_path_get(v, &rest));
        return true;
    }
    return false;
}

// Its routes were deleted with it, before their announcement.
static bool is_object_gone(const struct rib_vr *v, uint32_t nhid)
{
    const struct nexthop_object *o = nhid ? rib_map_find(&v->object, nhid) : NULL;

    return nhid && !(o && o->announced);
}

static void delete_route(struct rib_vr *v, struct rib *r, uint32_t node,
                         const struct netlink_route *m, uint8_t flags)
{
    struct span s = find_span(r, node, flags, m->metric);
    struct rib_path *path = rib_path_get(v, m);
    uint32_t id = find_path(r, &s, path, m->protocol);

    if (id) {
        lose_legs(v, r, &s, id);
        rib_route_del(v, r, id); // its path may go with it
    } else {
        rib_path_put(v, path); // it may have been made for the search
    }
    // Nothing to delete is normal: it was deleted silently before.
    if (!id && !(m->prefix.family == IP6 && delete_leg(v, r, &s, m)) && s.first &&
        !is_object_gone(v, m->nhid))
        want_resync(v, &m->prefix);
}

// Routes that the kernel deleted silently must not take part in its later changes, even if they
// still wait here (rib_path_work()).
bool rib_drop_condemned(struct rib_vr *v, struct rib *r, uint32_t node)
{
    uint32_t id = v->n_condemned ? rib_trie_at(&r->trie, node)->head : 0, next;
    bool any = false;

    for (; id; id = next) {
        const struct rib_route *t = rib_route_at(r, id);

        next = t->next;
        if (t->flags & RIB_ROUTE_DERIVED || !rib_path_at(v, t->path)->condemned)
            continue;
        rib_route_del(v, r, id);
        any = true;
    }
    return any;
}

void rib_event_route(struct rib_vr *v, const struct netlink_event *e)
{
    const struct netlink_route *m = &e->route;
    struct rib *r = rib_of(v, m->prefix.family);
    uint8_t flags = flags_of(m, v);
    uint32_t node;

    if (!rib_wants(v, m)) {
        rib_unfollowed_route(v, m, e->del);
        return;
    }
    rib_sync_touch(v, &m->prefix);
    if (e->del) {
        node = rib_trie_find(&r->trie, &m->prefix);
        if (!node)
            return;
        rib_drop_condemned(v, r, node);
        delete_route(v, r, node, m, flags);
    } else {
        struct rib_path *path = rib_path_get(v, m);

        path->n_routes++; // keeps it alive while the lists lose routes
        node = rib_trie_add(&r->trie, &m->prefix);
        rib_drop_condemned(v, r, node);
        if (m->prefix.family == IP4)
            new_route4(v, r, node, e, path, flags);
        else
            new_route6(v, r, node, e, path, flags);
        path->n_routes--;
        rib_path_put(v, path); // unless a route took it
    }
    rib_evaluate(v, r, node);
}
