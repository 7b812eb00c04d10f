// SPDX-License-Identifier: BSD-3-Clause
// rib_detour.c - a detour around gateways on an interface without carrier (IP fast reroute, RFC
// 5714)
//
// With a full table Linux takes seconds to delete the routes of a link that has lost its carrier,
// and a routing daemon takes tens of seconds to replace them. Until then the FIB's prefixes use the
// next hop of an unreachable gateway. With `fast-reroute`, that next hop takes over the rewrite of
// a gateway of the default route: all its prefixes follow the default route at once, and none of
// them is changed.
//
// A next hop on a detour is in no group, since a leg without carrier leaves its groups first; it
// gets its own rewrite back before it joins them again.
#include "rib/neigh.h"
#include "rib/vr.h"
#include "table/iface.h"

static bool is_wanted(const struct neigh *n)
{
    const struct rib_link *l = rib_link_find(n->vr, n->ifindex);

    return n->refs && l && l->via && !rib_link_is_alive(l) &&
           __atomic_load_n(&iface_get(l->via)->policy.fast_reroute, __ATOMIC_RELAXED);
}

// First gateway of the path that has its own rewrite and a link with carrier, or NULL.
static const struct neigh *reached_gateway(struct rib_vr *v, struct rib_path *p)
{
    const struct hop_set *s = rib_path_hops(p);

    for (unsigned i = 0; i < s->n && rib_path_usable(v, p); i++) {
        const struct neigh *g = s->hop[i].neigh;

        if (g && g->kind == NEXTHOP_ADJACENCY && !g->detour && !s->hop[i].lost &&
            hop_is_alive(v, &s->hop[i].key))
            return g;
    }
    return NULL;
}

const struct neigh *rib_detour(const struct neigh *n)
{
    struct rib_vr *v = n->vr;
    struct rib *r = rib_of(v, n->addr.family);
    struct prefix all = {.family = n->addr.family};
    uint32_t node = is_wanted(n) ? rib_trie_find(&r->trie, &all) : 0;

    for (uint32_t id = node ? rib_trie_at(&r->trie, node)->head : 0; id;
         id = rib_route_at(r, id)->next) {
        const struct rib_route *t = rib_route_at(r, id);
        const struct neigh *g =
            t->flags & RIB_ROUTE_DERIVED ? NULL : reached_gateway(v, rib_path_at(v, t->path));

        if (g)
            return g;
    }
    return NULL;
}
