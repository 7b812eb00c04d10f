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
#include "table/iface.h"
#include "table/nexthop_count.h"
#include "table/tunnel.h"

int hop_compare(const void *a, const void *b)
{
    const struct netlink_hop *x = a, *y = b;
    int d = x->gateway.family - y->gateway.family;

    if (!d && x->gateway.family)
        d = memcmp(x->gateway.b, y->gateway.b, 16);
    if (!d)
        d = (x->ifindex > y->ifindex) - (x->ifindex < y->ifindex);
    if (!d)
        d = memcmp(&x->labels, &y->labels, sizeof x->labels);
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

// Virtual router that looks a packet up after its label is off, as Linux's VRF and loopback devices
// do; NULL: none.
static const struct rib_vr *entered_vr(const struct rib_vr *v, const struct rib_link *l)
{
    uint32_t table = l->told.kind == NETLINK_LINK_VRF ? l->told.vrf_table
                     : !strcmp(l->name, "lo")         ? RIB_TABLE_MAIN
                                                      : 0;

    if (!table || !l->up)
        return NULL;
    rib_vr_each (other)
        if (other->table == table && (other == v || rib_vr_shares(v, other)))
            return other;
    return NULL;
}

static uint32_t mac_nexthop(struct hop *h, const struct rib_link *l)
{
    if (h->by_mac && nexthop_word_iface(nexthop_word(nexthop_get(h->by_mac))) != l->via) {
        nexthop_put(h->by_mac);
        h->by_mac = 0;
    }
    if (!h->by_mac && l->via && (h->by_mac = nexthop_make(NEXTHOP_HOLD, l->via)))
        nexthop_set_adjacency(h->by_mac, l->via, h->key.gateway.b);
    return h->by_mac;
}

// Labels need a neighbor that knows them: not all hosts of a link, nor the default gateway during a
// detour.
static uint32_t labels_via(struct hop *h, const struct rib_link *l)
{
    if (h->key.gateway.family == NETLINK_VIA_MAC)
        return mac_nexthop(h, l);
    if (!l->via)
        return 0;
    if (!h->neigh)
        return tunnel_is_point_to_point(iface_get(l->via)) ? l->glean : 0;
    bool detours = !rib_link_is_alive(l) &&
                   __atomic_load_n(&iface_get(l->via)->policy.fast_reroute, __ATOMIC_RELAXED);
    return detours ? 0 : h->neigh->nexthop;
}

static bool has_labels(const struct netlink_hop *h)
{
    return h->labels.n || h->labels.swaps;
}

static uint32_t labels_nexthop(struct rib_vr *v, struct hop *h, const struct rib_link *l)
{
    const struct label_stack *s = &h->key.labels;
    const struct rib_vr *entered = s->swaps && !s->n ? entered_vr(v, l) : NULL;
    struct nexthop_encap e = {.via = entered ? 0 : labels_via(h, l),
                              .vr = entered ? entered->id : v->id,
                              .n = s->n,
                              .ttl = s->ttl,
                              .flags = s->ttl_mode == LABEL_TTL_UNIFORM ? NEXTHOP_ENCAP_UNIFORM
                                       : s->ttl_mode == LABEL_TTL_PIPE  ? NEXTHOP_ENCAP_PIPE
                                                                        : 0};

    if (s->swaps && h->alone)
        e.flags |= NEXTHOP_ENCAP_LABEL;
    for (unsigned i = 0; i < s->n; i++)
        e.label_be[i] = nexthop_label(s->label[i]);
    uint32_t id = e.via || entered ? nexthop_encap(v, &e) : 0;
    nexthop_hold(id);
    nexthop_put(h->encap);
    h->encap = id;
    return id;
}

uint32_t hop_nexthop(struct rib_vr *v, struct hop *h)
{
    const struct rib_link *l = rib_link_find(v, h->key.ifindex);

    if (l && l->of_other)
        nexthop_cross_begin();
    if (l && has_labels(&h->key))
        return labels_nexthop(v, h, l);
    if (!l || !l->via)
        return 0;
    return h->neigh ? h->neigh->nexthop : l->glean;
}

// Did the budget refuse the next hop?
static bool hop_lacks_nexthop(const struct rib_vr *v, const struct hop *h)
{
    return h->neigh && (neigh_lacks_nexthop(h->neigh) ||
                        (h->neigh->nexthop && has_labels(&h->key) && v->lacks_nexthops));
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
        s->lacks |= !id && hop_lacks_nexthop(v, &s->hop[i]);
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
    s->lacks = !id && s->n && hop_lacks_nexthop(v, &s->hop[0]);
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

static void free_hops(struct hop *hop, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        neigh_put(hop[i].neigh);
        nexthop_put(hop[i].encap);
        nexthop_put(hop[i].by_mac);
    }
    free(hop);
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
        s->hop[i].alone = !many;
        s->hop[i].lost =
            hop[i].dead && !hop_is_dead(v, &hop[i], s->family); // dead, but not due to its link
        if (hop[i].gateway.family == IP4 || hop[i].gateway.family == IP6)
            s->hop[i].neigh = neigh_get(v, hop[i].ifindex, &hop[i].gateway);
    }
    count_legs(v, s->hop, n, 1);
    count_legs(v, old, n_old, -1u);
    changed = hop_set_resolve(v, s);
    free_hops(old, n_old); // after the group has released them
    return changed;
}

void hop_set_clear(struct rib_vr *v, struct hop_set *s)
{
    set_id(v, s, 0, false);
    count_legs(v, s->hop, s->n, -1u);
    free_hops(s->hop, s->n);
    *s = (struct hop_set){0};
}

bool hop_set_uses(const struct hop_set *s, int ifindex)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->hop[i].key.ifindex == ifindex)
            return true;
    return false;
}
