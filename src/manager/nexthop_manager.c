// SPDX-License-Identifier: BSD-3-Clause
// nexthop_manager.c - counted next-hop ids, and sets of hops that become one id
//
// A hop set asks, for each leg, two different questions. "Would the kernel use
// it?" (hop_is_dead) decides whether the route is a candidate at all: admin
// down is dead, carrier loss only if the operator said ignore_routes_with_
// linkdown. "Does a packet get through?" (hop_is_alive) decides whether the leg
// is a member of the group: there, carrier loss counts at once, and the other
// legs take over without a single prefix being touched.
//
// A set with more than one leg keeps its group id while members come and go,
// down to none (the forwarder then drops as ECMP_EMPTY): prefix-independent.
// A leg that leaves by a link that is none of our interfaces cannot be served;
// if that is the only way, the set is "unreachable", as a kernel that does not
// forward would answer, rather than falling back to a shorter prefix.
#include "manager/nexthop_manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "manager/neigh_manager.h"
#include "manager/rib.h"

static uint32_t *holders; // [NEXTHOP_MAX]
static bool *is_unused;   // [NEXTHOP_MAX] in `unused`; it may have found a new holder since
static VEC(uint32_t) unused;
static uint32_t shared[NEXTHOP_KIND_N];

int nexthop_manager_init(void)
{
    static const enum nexthop_kind kind[] = {NEXTHOP_LOCAL, NEXTHOP_BLACKHOLE, NEXTHOP_UNREACHABLE,
                                             NEXTHOP_PROHIBIT};

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
    holders = NULL;
    is_unused = NULL;
}

uint32_t nexthop_shared(enum nexthop_kind kind)
{
    bug_on(!shared[kind]);
    return shared[kind];
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

void nexthop_free_unused(void)
{
    vec_foreach(&unused, id) {
        is_unused[*id] = false;
        if (!holders[*id])
            nexthop_free(*id);
    }
    vec_clear(&unused);
}

uint32_t nexthop_holders(uint32_t id)
{
    return holders[id];
}

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

    return l && l->up && l->carrier;
}

// The leg's next-hop id, 0 = it leaves by none of our interfaces.
static uint32_t hop_nexthop(struct rib_vr *v, const struct hop *h)
{
    const struct rib_link *l = rib_link_find(v, h->key.ifindex);

    if (!l || !l->iface)
        return 0;
    return h->neigh ? neigh_nexthop(h->neigh) : l->glean;
}

static bool set_id(struct hop_set *s, uint32_t id, bool group)
{
    bool changed = s->id != id;

    if (changed && s->group)
        nexthop_group_set(s->id, NULL, NULL, 0); // members may go before the last prefix has left
    if (changed) {
        if (!group) // a group is made for us and held by its making
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

    for (unsigned i = 0; i < s->n; i++) {
        id = hop_nexthop(v, &s->hop[i]);
        ours += id != 0;
        if (!id || s->hop[i].lost || !hop_is_alive(v, &s->hop[i].key))
            continue;
        member[n] = id;
        weight[n++] = s->hop[i].key.weight;
    }
    if (!ours && s->n)
        return set_id(s, nexthop_shared(NEXTHOP_UNREACHABLE), false);
    if (s->group) {
        if (nexthop_group_set(s->id, member, weight, n))
            log_error("nexthop: no room for the group's buckets: group=%u members=%u", s->id, n);
        return false;
    }
    id = nexthop_group_new(member, weight, n);
    if (!id) {
        log_error("nexthop: no room for a group: members=%u used=%u", n, nexthop_used());
        return set_id(s, nexthop_shared(NEXTHOP_UNREACHABLE), false);
    }
    holders[id] = 1;
    return set_id(s, id, true);
}

static bool resolve_id(struct rib_vr *v, struct hop_set *s)
{
    uint32_t id;

    if (s->fixed)
        return set_id(s, nexthop_shared(s->fixed), false);
    if (s->many)
        return resolve_group(v, s);
    id = s->n ? hop_nexthop(v, &s->hop[0]) : 0;
    return set_id(s, id ? id : nexthop_shared(NEXTHOP_UNREACHABLE), false);
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
        s->hop[i].lost = hop[i].dead && !hop_is_dead(v, &hop[i], s->family); // not for its link's sake
        if (hop[i].gateway.family)
            s->hop[i].neigh = neigh_get(v, hop[i].ifindex, &hop[i].gateway);
    }
    changed = hop_set_resolve(v, s);
    for (unsigned i = 0; i < n_old; i++) // after the group has let go of them
        neigh_put(old[i].neigh);
    free(old);
    return changed;
}

void hop_set_clear(struct rib_vr *v, struct hop_set *s)
{
    set_id(s, 0, false);
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
