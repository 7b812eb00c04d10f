// SPDX-License-Identifier: BSD-3-Clause
// multicast_out.c - sends the copies of a multicast packet
//
//   in     packet i of a burst, which came by its route's input interface
//   out    f->tx_pkt[port]: finished frames
//   exits  MULTICAST_TTL, MULTICAST_NO_OUTPUT, IP4_TOO_BIG, IP6_TOO_BIG, TX_NO_BUFFER; ICMPv6
//          packet too big
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
#include <rte_ip_frag.h>

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
    uint16_t mtu = iface_get(id)->mtu;
    uint32_t hlen = (*rte_pktmbuf_mtod(m, const uint8_t *) & 15) * 4u;
    int n = mtu < hlen + 8 ? 0 : fragment4_cut(m, piece, mtu);

    if (n <= 0) {
        packet_drop_bare(f, m, id, DROP_IP4_TOO_BIG);
        return;
    }
    f->counter->inject += (unsigned)n - 1;
    f->counter->vr[iface_get(id)->vr].copies += (unsigned)n - 1;
    for (int k = 0; k < n; k++) {
        uint8_t *ip = rte_pktmbuf_mtod(piece[k], uint8_t *);
        store16(ip + 10, 0);
        store16(ip + 10, checksum(ip, (ip[0] & 15) * 4u));
        packet_class_copy(piece[k], m);
        metalink_hops_copy(piece[k], m);
        send_frame(f, piece[k], IP4, id);
    }
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
    f->counter->inject += w->n - 1;
    f->counter->vr[iface_get(b->iface[i])->vr].copies += w->n - 1;
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

void multicast_out(struct forwarder *f, struct burst *b, unsigned i,
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
    f->counter->inject += w.n_big; // each would have been a copy
    f->counter->vr[iface_get(b->iface[i])->vr].copies += w.n_big;
    for (unsigned k = 0; k < w.n_big; k++)
        drop_count(f, b->iface[i], big);
    send_to_outputs(f, b, i, &w);
}
