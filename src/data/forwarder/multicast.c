// SPDX-License-Identifier: BSD-3-Clause
// multicast.c - packets for groups beyond the link
//
//   in     packet i of a burst, headers sound, from ip4_in and ip6_in; link groups have been punted
//   out    a copy for each output of the group's route (multicast_out.c)
//   exits  punt, IP4_MULTICAST, IP6_MULTICAST, MULTICAST_WRONG_IF, IP4_LINK_LOCAL, IP6_LINK_LOCAL,
//          exits of multicast_out.c
//
// The route is (S,G), or else (*,G). A packet that did not come by the route's input interface is
// dropped, because trees would have loops otherwise.
//
// The kernel gets
//   a copy, if the host has joined the group on the interface, except with a kernel route, because
//     the kernel would forward the packet again;
//   the packet, if the group has no route and a multicast routing daemon runs on the interface: the
//     kernel notifies the daemon (NOCACHE), which adds a route, and forwards the kept packet;
//   for the kernel's own routes one packet in ten seconds, which the kernel forwards: its counters
//     show daemons that the source is alive; and one in three seconds that came by the wrong
//     interface, which it reports (assert, switch to the shortest path);
//   all packets of a route with an output unknown to us (a PIM register tunnel).
// Packets for the daemon have their own punt class, the last one, so that a flood of unknown groups
// uses up no other rate.
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/packet.h"
#include "table/iface.h"
#include "table/multicast.h"
#include "forwarder/forbidden.h"

static bool is_link_local(const uint8_t *src, uint8_t family)
{
    return family == IP4 ? ip4_is_link_local(src) : ip6_is_link_local(src);
}

static bool is_daemon(uint16_t iface, uint8_t family)
{
    return __atomic_load_n(&multicast_daemon[iface], __ATOMIC_RELAXED) & (family == IP4 ? 1 : 2);
}

static void count_route(const struct forwarder *f, uint64_t *word, uint64_t n)
{
    if (!f->dry)
        __atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

// Returns true for one forwarder, once per `cycles`.
static bool is_due(const struct forwarder *f, uint64_t *last, uint64_t cycles)
{
    uint64_t at = __atomic_load_n(last, __ATOMIC_RELAXED), now = f->now;

    if (now - at < cycles || (int64_t)(now - at) <= 0)
        return false;
    return f->dry ||
           __atomic_compare_exchange_n(last, &at, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static bool is_output(const struct multicast_entry *r, uint16_t iface)
{
    for (unsigned i = 0; i < r->n_out; i++)
        if (r->out[i].iface == iface)
            return true;
    return false;
}

bool multicast_is_own_link_local(const uint8_t *ip, uint16_t iface)
{
    const struct multicast_table *t = rcu_load(&multicast_table[iface_get(iface)->vr][1]);
    struct multicast_key k = {.family = IP6, .iface = iface};

    memcpy(k.group, ip + 24, 16);
    return t && multicast_find(t, &k);
}

struct found {
    const struct multicast_entry *route; // NULL = none
    bool join;
};

// `link_only`: the packet may not be forwarded, even if there is a route.
static struct found find_route(const struct burst *b, unsigned i, bool link_only)
{
    const uint8_t *ip = b->ip[i];
    unsigned n = b->family == IP4 ? 4 : 16, at = b->family == IP4 ? 12 : 8;
    const struct multicast_table *t =
        rcu_load(&multicast_table[iface_get(b->iface[i])->vr][b->family == IP6]);
    struct multicast_key k = {.family = b->family};
    struct found found = {0};

    if (!t)
        return found;
    memcpy(k.group, ip + at + n, n);
    if (!link_only) {
        memcpy(k.source, ip + at, n);
        found.route = multicast_find(t, &k);
        memset(k.source, 0, n);
        if (!found.route)
            found.route = multicast_find(t, &k);
    }
    if (!found.route || !(found.route->flags & MULTICAST_KERNEL)) {
        k.iface = b->iface[i];
        found.join = multicast_find(t, &k);
    }
    return found;
}

static void exit_no_route(struct forwarder *f, struct burst *b, unsigned i, bool link_only)
{
    bool four = b->family == IP4;

    if (link_only)
        packet_drop(f, b->pkt[i], b->iface[i], four ? DROP_IP4_LINK_LOCAL : DROP_IP6_LINK_LOCAL);
    else if (is_daemon(b->iface[i], b->family))
        punt(f, b->pkt[i], b->iface[i], PUNT_MULTICAST);
    else
        packet_drop(f, b->pkt[i], b->iface[i], four ? DROP_IP4_MULTICAST : DROP_IP6_MULTICAST);
}

static void exit_wrong_interface(struct forwarder *f, struct burst *b, unsigned i,
                            const struct multicast_entry *r)
{
    count_route(f, &r->counter->wrong, 1);
    if ((r->flags & MULTICAST_KERNEL) && is_daemon(b->iface[i], b->family) &&
        is_due(f, &r->counter->told, multicast_told_cycles))
        punt(f, b->pkt[i], b->iface[i], PUNT_MULTICAST);
    else
        packet_drop(f, b->pkt[i], b->iface[i], DROP_MULTICAST_WRONG_IF);
}

static void forward_along_route(struct forwarder *f, struct burst *b, unsigned i,
                                const struct found *found)
{
    const struct multicast_entry *r = found->route;
    struct rte_mbuf *m = b->pkt[i];

    count_route(f, &r->counter->packets, 1);
    count_route(f, &r->counter->bytes, b->len[i]);
    if ((r->flags & MULTICAST_SLOW) ||
        ((r->flags & MULTICAST_KERNEL) &&
         is_due(f, &r->counter->sampled, multicast_sample_cycles))) {
        punt(f, m, b->iface[i], PUNT_MULTICAST);
        return;
    }
    if (found->join) {
        struct rte_mbuf *copy = rte_pktmbuf_copy(m, exchange_pool, 0, UINT32_MAX);
        f->counter->inject++;
        f->counter->vr[iface_get(b->iface[i])->vr].copies++;
        if (copy)
            punt_ip(f, copy,
                    rte_pktmbuf_mtod_offset(copy, const uint8_t *, packet_l2_len(m, b->ip[i])),
                    b->iface[i], b->family);
        else
            drop_count(f, b->iface[i], DROP_TX_NO_BUFFER);
    }
    multicast_out(f, b, i, r);
}

void multicast(struct forwarder *f, struct burst *b, unsigned i)
{
    const uint8_t *ip = b->ip[i];
    bool four = b->family == IP4, link_only = is_link_local(ip + (four ? 12 : 8), b->family);
    struct found found = find_route(b, i, link_only);
    const struct multicast_entry *r = found.route;

    b->len[i] = (uint16_t)(four ? load16_host(ip + 2) : IP6_HDR + load16_host(ip + 4));
    if (r && (r->in == b->iface[i] || ((r->flags & MULTICAST_TREE) && is_output(r, b->iface[i]))))
        forward_along_route(f, b, i, &found);
    else if (found.join)
        punt_ip(f, b->pkt[i], ip, b->iface[i], b->family);
    else if (r)
        exit_wrong_interface(f, b, i, r);
    else
        exit_no_route(f, b, i, link_only);
}
