// SPDX-License-Identifier: BSD-3-Clause
// rib_source.c - facts about a prefix for uRPF
//
// The FIB's leaf is a next hop that many prefixes share: it names the interface of the best route,
// and no more. Checks of source addresses (table/iface.h) may need two more facts:
//
//     RIB_SOURCES_DEFAULT  the prefix is the default route, which does not count as a route to a
//                          source
//     RIB_SOURCES_ALL      the other candidates of the prefix, with a worse metric in the kernel
//                          (feasible-path uRPF)
//
// A prefix with such facts gets an alias (table/nexthop.c) of its next hop; for all other
// prefixes, and for routers without such checks, nothing changes. The alias names other candidates
// by next-hop id, so it stays right when a gateway moves or a group changes its members.
//
// A neighbor's host route has no other candidates, and does not inherit the candidates of its
// connected prefix.
#include <linux/rtnetlink.h>

#include "rib/rib_manager.h"
#include "rib/vr.h"

static bool is_among(const uint16_t *id, unsigned n, uint32_t wanted)
{
    for (unsigned i = 0; i < n; i++)
        if (id[i] == wanted)
            return true;
    return false;
}

// Next hops of the candidates behind the best one.
static unsigned other_nexthops(struct rib_vr *v, struct rib *r, uint32_t best, uint32_t nexthop,
                       uint16_t other[NEXTHOP_ALIAS_MAX])
{
    unsigned n = 0;

    for (uint32_t id = rib_route_at(r, best)->next; id && n < NEXTHOP_ALIAS_MAX;
         id = rib_route_at(r, id)->next) {
        const struct rib_route *t = rib_route_at(r, id);
        const struct rib_path *path = t->flags & RIB_ROUTE_DERIVED ? NULL : rib_path_at(v, t->path);
        uint32_t leads = path && path->type == RTN_UNICAST && rib_path_usable(v, path)
                             ? rib_path_nexthop(path)
                             : 0;

        if (leads && leads != nexthop && nexthop_leads_on(leads) && !is_among(other, n, leads))
            other[n++] = (uint16_t)leads;
    }
    return n;
}

void rib_source_ask(struct rib_vr *v, struct rib *r, const struct prefix *p, uint32_t best,
                    struct nexthop_alias *a)
{
    uint8_t asked = v->sources[r->trie.family == IP6];

    if (!nexthop_leads_on(a->target))
        return;
    a->is_default = asked & RIB_SOURCES_DEFAULT && p->len == 0;
    a->n = asked & RIB_SOURCES_ALL ? (uint8_t)other_nexthops(v, r, best, a->target, a->other) : 0;
}
