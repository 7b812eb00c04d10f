// SPDX-License-Identifier: BSD-3-Clause
// multicast_out.c - the copies of a multicast packet
//
//   in     packet i of a burst and its route, the right interface
//   out    f->tx_pkt[port]: finished frames
//   exits  MULTICAST_TTL, MULTICAST_NO_OUTPUT, IP4_TOO_BIG, IP6_TOO_BIG, TX_NO_BUFFER; ICMPv6
//   packet too big
//
// An output takes a packet whose TTL is larger than its threshold (with the least threshold, 1, a
// packet with TTL 1 ends here: no error is sent about it, RFC 1812 4.3.2.7), and that did not come
// by it. What is larger than its MTU is cut (IPv4 without DF) or dropped there; the source is told
// of IPv6 only, by the smallest of those MTUs (RFC 4443 2.4 e). The group's MAC address is made
// from the group (RFC 1112 6.4, RFC 2464 7).
//
// Copies are whole: a buffer of exchange_pool with one owner for each output, the packet itself for
// the last one. Shared buffers would save the copying, but ports with FAST_FREE do not take them,
// and that there may be any (exchange_mixed) costs every unicast packet a look. One packet becomes
// n: the ledger's inject grows by n - 1.
#include <rte_ip_frag.h>

#include "base/checksum.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/icmp.h"
#include "forwarder/multicast_out.h"
#include "forwarder/packet.h"
#include "forwarder/tags.h"
#include "forwarder/ttl.h"
#include "forwarder/tx.h"
#include "table/iface.h"
#include "forwarder/forbidden.h"

struct ways {
    unsigned n, n_big,
        n_low; // outputs that take the packet; are too narrow; have too high a threshold
    uint16_t mtu;             // the smallest of those that are too narrow
    uint16_t iface[MULTICAST_OUT_MAX];
};

static void choose(const struct burst *b, unsigned i, const struct multicast_entry *r,
                   struct ways *w)
{
    uint8_t *ip = b->ip[i], ttl = ttl_of(ip, b->family);
    bool whole = b->family == IP6 || load16(ip + 6) & RTE_BE16(0x4000);

    w->n = w->n_big = w->n_low = 0;
    w->mtu = UINT16_MAX;
    for (unsigned k = 0; k < r->n_out; k++) {
        const struct iface *out = iface_get(r->out[k].iface);
        if (r->out[k].iface == b->iface[i] || out->kind == IFACE_NONE || !iface_is_up(out))
            continue;
        if (ttl <= r->out[k].ttl) {
            w->n_low++;
        } else if (whole && b->len[i] > out->mtu) {
            w->n_big++;
            w->mtu = RTE_MIN(w->mtu, out->mtu);
        } else {
            w->iface[w->n++] = r->out[k].iface;
        }
    }
}

// `m` starts at its IP header.
static void frame_out(struct forwarder *f, struct rte_mbuf *m, uint8_t family, uint16_t id)
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

// In pieces, IPv4 without DF.
static void pieces_out(struct forwarder *f, struct rte_mbuf *m, uint16_t id)
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
    for (int k = 0; k < n; k++) {
        uint8_t *ip = rte_pktmbuf_mtod(piece[k], uint8_t *);
        store16(ip + 10, 0);
        store16(ip + 10, checksum(ip, (ip[0] & 15) * 4u));
        frame_out(f, piece[k], IP4, id);
    }
    packet_end(f, m, 0);
}

static void out(struct forwarder *f, struct rte_mbuf *m, uint8_t family, uint16_t id)
{
    if (unlikely(m->pkt_len > iface_get(id)->mtu))
        pieces_out(f, m, id);
    else
        frame_out(f, m, family, id);
}

// To those that take it; at least one.
static void copy_out(struct forwarder *f, struct burst *b, unsigned i, const struct ways *w)
{
    struct rte_mbuf *m = b->pkt[i];

    ttl_lower(b->ip[i], b->family);
    rte_pktmbuf_adj(m, (uint16_t)packet_l2_len(m, b->ip[i]));
    packet_trim(m, b->len[i]);
    f->counter->inject += w->n - 1;
    for (unsigned k = 0; k + 1 < w->n; k++) {
        struct rte_mbuf *copy = rte_pktmbuf_copy(m, exchange_pool, 0, UINT32_MAX);
        if (copy)
            out(f, copy, b->family, w->iface[k]);
        else
            drop_count(f, w->iface[k], DROP_TX_NO_BUFFER);
    }
    out(f, m, b->family, w->iface[w->n - 1]);
}

void multicast_out(struct forwarder *f, struct burst *b, unsigned i,
                   const struct multicast_entry *r)
{
    enum drop_reason big = b->family == IP4 ? DROP_IP4_TOO_BIG : DROP_IP6_TOO_BIG;
    struct ways w;

    choose(b, i, r, &w);
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
    for (unsigned k = 0; k < w.n_big; k++)
        drop_count(f, b->iface[i], big);
    copy_out(f, b, i, &w);
}
