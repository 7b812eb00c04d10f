// SPDX-License-Identifier: BSD-3-Clause
// hop_set.c - sets of hops that become one next-hop id
//
// A hop set checks two different conditions of each leg. "Would the kernel use it?" (hop_is_dead)
// decides whether the route is a candidate at all: admin down is dead, carrier loss only with
// ignore_routes_with_linkdown. "Does a packet get through?" (hop_is_alive) decides whether the leg
// is a member of the group: there, carrier loss counts at once, and the other legs take over
// without a change to any prefix.
//
// A set with more than one leg keeps its group id while members come and go, down to none (the
// forwarder then drops as ECMP_EMPTY): prefix-independent. A leg on a link that is not one of our
// interfaces cannot be used. If there is no other leg, the set is "unreachable", as a kernel that
// does not forward would answer, rather than falling back to a shorter prefix.
//
// A set lacks its next hop if the virtual router's budget has none left: a group then forwards by
// its first live leg alone, a single gateway is "unreachable". Both are resolved again when there
// is room (rib_budget.c).
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "rib/journal.h"
#include "rib/neigh.h"
#include "rib/nexthop_manager.h"
#include "rib/vr.h"
#include "table/nexthop_count.h"

int hop_compare(const void *a, const void *b)
{
    const struct netlink_hop *x = a, *y = b;
    int d = x->gateway.family - y->gateway.family;

    if (!d && x->gateway.family)
        d = memcmp(x->gateway.b, y->gateway.b, 16);
    if (!d)
        d = (x->ifindex > y->ifindex) - (x->ifindex < y->ifindex);
    return d ? d : x->weight - y->weight;
}

bool hop_is_dead(struct rib_vr *v, const struct netlink_hop *hop, uint8_t family)
{
    const struct rib_link *l = rib_link_find(v, hop->ifindex);
    bool six = family == IP6;

    return !l || !l->up ||
           (!l->carrier && (l->ignore_linkdown[six] || (!six && v->ignore_linkdown_all4)));
}

bool hop_is_alive(struct rib_vr *v, const struct netlink_hop *hop)
{
    const struct rib_link *l = rib_link_find(v, hop->ifindex);

    return l && rib_link_is_alive(l);
}

uint32_t hop_nexthop(struct rib_vr *v, const struct hop *h)
{
    const struct rib_link *l = rib_link_find(v, h->key.ifindex);

    if (!l || !l->via)
        return 0;
    if (l->of_other)
        nexthop_cross_begin();
    return h->neigh ? h->neigh->nexthop : l->glean;
}

static bool set_id(struct rib_vr *v, struct hop_set *s, uint32_t id, bool group)
{
    bool changed = s->id != id;

    v->n_nexthops -= changed && s->group;
    v->n_nexthops += changed && group;
    if (changed && s->group)
        nexthop_group_set(s->id, NULL, NULL, 0); // even while prefixes still have the group
    if (changed) {
        if (!group) // a new group is already held
            nexthop_hold(id);
        nexthop_put(s->id);
    }
    s->id = id;
    s->group = group;
    return changed;
}

static bool resolve_group(struct rib_vr *v, struct hop_set *s)
{
    uint32_t member[NETLINK_HOPS], weight[NETLINK_HOPS], id;
    unsigned n = 0, ours = 0;

    s->lacks = false;
    for (unsigned i = 0; i < s->n; i++) {
        id = hop_nexthop(v, &s->hop[i]);
        s->lacks |= !id && s->hop[i].neigh && neigh_lacks_nexthop(s->hop[i].neigh);
        ours += id != 0;
        if (!id || s->hop[i].lost || !hop_is_alive(v, &s->hop[i].key))
            continue;
        member[n] = id;
        weight[n++] = s->hop[i].key.weight;
    }
    if (!ours && s->n)
        return set_id(v, s, nexthop_shared(NEXTHOP_UNREACHABLE), false);
    if (s->group) {
        if (nexthop_group_set(s->id, member, weight, n))
            log_error("nexthop: table full, group has no buckets: group=%u members=%u", s->id, n);
        else if (journal_knows(s->id))
            journal_describe_group(v, s);
        return false;
    }
    if (!nexthop_has_room(v)) { // one leg is better than none
        s->lacks = true;
        return set_id(v, s, n ? member[0] : nexthop_shared(NEXTHOP_UNREACHABLE), false);
    }
    id = nexthop_group_new(member, weight, n);
    if (!id) {
        log_error("nexthop: table full, no group: members=%u used=%u", n, nexthop_used());
        return set_id(v, s, nexthop_shared(NEXTHOP_UNREACHABLE), false);
    }
    nexthop_hold(id);
    return set_id(v, s, id, true);
}

// The kernel handles broadcasts on a link that is not one of our interfaces.
static uint32_t broadcast_nexthop(struct rib_vr *v, const struct hop_set *s)
{
    const struct rib_link *l = s->n ? rib_link_find(v, s->hop[0].key.ifindex) : NULL;

    return l && l->broadcast ? l->broadcast : nexthop_shared(NEXTHOP_LOCAL);
}

static bool resolve_id(struct rib_vr *v, struct hop_set *s)
{
    uint32_t id;

    if (s->fixed == NEXTHOP_BROADCAST)
        return set_id(v, s, broadcast_nexthop(v, s), false);
    if (s->fixed)
        return set_id(v, s, nexthop_shared(s->fixed), false);
    if (s->many)
        return resolve_group(v, s);
    id = s->n ? hop_nexthop(v, &s->hop[0]) : 0;
    s->lacks = !id && s->n && s->hop[0].neigh && neigh_lacks_nexthop(s->hop[0].neigh);
    return set_id(v, s, id ? id : nexthop_shared(NEXTHOP_UNREACHABLE), false);
}

bool hop_set_resolve(struct rib_vr *v, struct hop_set *s)
{
    bool usable = s->fixed && !s->n, changed = resolve_id(v, s);

    for (unsigned i = 0; i < s->n && !usable; i++)
        usable = !s->hop[i].lost && !hop_is_dead(v, &s->hop[i].key, s->family);
    changed |= usable != s->usable;
    s->usable = usable;
    return changed;
}

static void count_legs(struct rib_vr *v, const struct hop *hop, unsigned n, unsigned by)
{
    for (unsigned i = 0; i < n; i++) {
        struct rib_link *l = rib_link_get(v, hop[i].key.ifindex);
        if (l)
            l->n_legs += by;
    }
}

bool hop_set_fill(struct rib_vr *v, struct hop_set *s, const struct netlink_hop *hop, unsigned n,
                  bool many)
{
    struct hop *old = s->hop;
    unsigned n_old = s->n;
    bool changed;

    s->hop = n ? calloc(n, sizeof *s->hop) : NULL;
    bug_on(n && !s->hop);
    s->n = (uint16_t)n;
    s->many = many;
    for (unsigned i = 0; i < n; i++) {
        s->hop[i].key = hop[i];
        s->hop[i].lost =
            hop[i].dead && !hop_is_dead(v, &hop[i], s->family); // dead, but not due to its link
        if (hop[i].gateway.family)
            s->hop[i].neigh = neigh_get(v, hop[i].ifindex, &hop[i].gateway);
    }
    count_legs(v, s->hop, n, 1);
    count_legs(v, old, n_old, -1u);
    changed = hop_set_resolve(v, s);
    for (unsigned i = 0; i < n_old; i++) // after the group has released them
        neigh_put(old[i].neigh);
    free(old);
    return changed;
}

void hop_set_clear(struct rib_vr *v, struct hop_set *s)
{
    set_id(v, s, 0, false);
    count_legs(v, s->hop, s->n, -1u);
    for (unsigned i = 0; i < s->n; i++)
        neigh_put(s->hop[i].neigh);
    free(s->hop);
    *s = (struct hop_set){0};
}

bool hop_set_uses(const struct hop_set *s, int ifindex)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->hop[i].key.ifindex == ifindex)
            return true;
    return false;
}
