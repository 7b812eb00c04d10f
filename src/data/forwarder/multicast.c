// SPDX-License-Identifier: BSD-3-Clause
// multicast.c - packets for groups beyond the link
//
//   in     packet i of a burst, headers sound, from ip4_in and ip6_in; link groups have been punted
//   out    a copy for each output of the group's route
//   exits  punt, IP4_MULTICAST, IP6_MULTICAST, MULTICAST_WRONG_IF, IP4_LINK_LOCAL, IP6_LINK_LOCAL,
//          MULTICAST_TTL, MULTICAST_NO_OUTPUT, IP4_TOO_BIG, IP6_TOO_BIG, TX_NO_BUFFER; ICMPv6 error
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
#include "base/checksum.h"
#include "forwarder/cross.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/icmp.h"
#include "forwarder/packet.h"
#include "forwarder/tags.h"
#include "forwarder/tx.h"
#include "table/iface.h"
#include "table/metalink.h"
#include "table/multicast.h"
#include "table/packet_class.h"
#include "table/tunnel.h"
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

// --- copies ---
//
// An output takes a packet that did not come by it and whose TTL is larger than the output's
// threshold (at least 1; TTL 1 causes no error, RFC 1812 4.3.2.7). A packet larger than an output's
// MTU is fragmented (IPv4 without DF) or dropped there; for IPv6 the source is told the smallest of
// those MTUs (RFC 4443 2.4 e). The MAC address is derived from the group (RFC 1112 6.4, RFC 2464
// 7).
//
// Each output gets a complete copy, in a buffer of exchange_pool with one reference; the last one
// gets the packet itself. Shared buffers would save copying, but ports with FAST_FREE cannot take
// them, and allowing them (exchange_mixed) would cost every unicast packet a check. One packet
// becomes n: the ledger's inject grows by n - 1.

struct outputs {
    unsigned n;     // outputs that take the packet
    unsigned n_big; // MTU too small
    unsigned n_low; // TTL threshold too high
    uint16_t mtu;   // smallest MTU among these
    uint16_t iface[MULTICAST_OUT_MAX];
};

static void choose_outputs(const struct burst *b, unsigned i, const struct multicast_entry *r,
                   struct outputs *w)
{
    uint8_t *ip = b->ip[i], ttl = ttl_of(ip, b->family);
    bool whole = b->family == IP6 || ip4_has_df(ip);

    w->n = w->n_big = w->n_low = 0;
    w->mtu = UINT16_MAX;
    for (unsigned k = 0; k < r->n_out; k++) {
        const struct iface *out = iface_get(r->out[k].iface);
        if (r->out[k].iface == b->iface[i] || out->kind == IFACE_NONE || !iface_is_up(out))
            continue;
        if (ttl <= r->out[k].ttl) {
            w->n_low++;
        } else if (whole && b->len[i] > tunnel_iface_mtu(out, b->family)) {
            w->n_big++;
            w->mtu = RTE_MIN(w->mtu, tunnel_iface_mtu(out, b->family));
        } else {
            w->iface[w->n++] = r->out[k].iface;
        }
    }
}

// `m` starts at its IP header.
static void send_frame(struct forwarder *f, struct rte_mbuf *m, uint8_t family, uint16_t id)
{
    const struct iface *iface = iface_get(id);
    const uint8_t *ip = rte_pktmbuf_mtod(m, const uint8_t *);
    uint8_t *frame = (uint8_t *)rte_pktmbuf_prepend(m, ETHER_HDR);

    if (!frame) {
        packet_drop_bare(f, m, id, DROP_TX_NO_BUFFER);
        return;
    }
    if (family == IP4) {
        store32(frame, RTE_BE32(0x01005e00));
        memcpy(frame + 3, ip + 17, 3);
        frame[3] &= 0x7f;
    } else {
        store16(frame, RTE_BE16(0x3333));
        memcpy(frame + 2, ip + 36, 4);
    }
    memcpy(frame + 6, iface->mac, 6);
    store16(frame + 12, family == IP4 ? ETHER_TYPE_IP4 : ETHER_TYPE_IP6);
    tx_frame(f, m, id, DROP_TX_NO_BUFFER);
}

// Sends fragments: IPv4 without DF.
static void send_pieces(struct forwarder *f, struct rte_mbuf *m, uint16_t id)
{
    struct rte_mbuf *piece[BURST_MAX];
    int n = fragment4_cut(f, id, m, piece, iface_get(id)->mtu);

    if (n <= 0) {
        packet_drop_bare(f, m, id, DROP_IP4_TOO_BIG);
        return;
    }
    for (int k = 0; k < n; k++)
        send_frame(f, piece[k], IP4, id);
    packet_end(f, m, 0);
}

static void send_copy(struct forwarder *f, struct rte_mbuf *m, uint8_t family, uint16_t id)
{
    if (unlikely(family == IP4 && m->pkt_len > iface_get(id)->mtu))
        send_pieces(f, m, id);
    else
        send_frame(f, m, family, id);
}

// Sends to the outputs that take it; there is at least one.
static void send_to_outputs(struct forwarder *f, struct burst *b, unsigned i,
                            const struct outputs *w)
{
    struct rte_mbuf *m = b->pkt[i];

    ttl_lower(b->ip[i], b->family);
    rte_pktmbuf_adj(m, (uint16_t)packet_l2_len(m, b->ip[i]));
    packet_trim(m, b->len[i]);
    count_copies(f, b->iface[i], w->n - 1);
    for (unsigned k = 0; k < w->n; k++)
        packet_cross(f, b->iface[i], w->iface[k]);
    for (unsigned k = 0; k + 1 < w->n; k++) {
        struct rte_mbuf *copy = rte_pktmbuf_copy(m, exchange_pool, 0, UINT32_MAX);
        if (copy)
            send_copy(f, copy, b->family, w->iface[k]);
        else
            drop_count(f, w->iface[k], DROP_TX_NO_BUFFER);
    }
    send_copy(f, m, b->family, w->iface[w->n - 1]);
}

// Ends packet i, which came by its route's input interface.
static void send_along_route(struct forwarder *f, struct burst *b, unsigned i,
                             const struct multicast_entry *r)
{
    enum drop_reason big = b->family == IP4 ? DROP_IP4_TOO_BIG : DROP_IP6_TOO_BIG;
    struct outputs w;

    choose_outputs(b, i, r, &w);
    if (w.n_big && b->family == IP6)
        icmp6_error(f, b, i, 2 /* too big */, 0, w.mtu);
    if (!w.n) {
        packet_drop(f, b->pkt[i], b->iface[i],
                    w.n_big   ? big
                    : w.n_low ? DROP_MULTICAST_TTL
                              : DROP_MULTICAST_NO_OUTPUT);
        return;
    }
    count_copies(f, b->iface[i], w.n_big); // each would have been a copy
    for (unsigned k = 0; k < w.n_big; k++)
        drop_count(f, b->iface[i], big);
    send_to_outputs(f, b, i, &w);
}

// --- the route's verdict ---

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
        count_copies(f, b->iface[i], 1);
        if (copy)
            punt_ip(f, copy,
                    rte_pktmbuf_mtod_offset(copy, const uint8_t *, packet_l2_len(m, b->ip[i])),
                    b->iface[i], b->family);
        else
            drop_count(f, b->iface[i], DROP_TX_NO_BUFFER);
    }
    send_along_route(f, b, i, r);
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
