// SPDX-License-Identifier: BSD-3-Clause
// metalink.c - receives packets at the other end of the metalink that they leave by
//
//   in     finished frames of PORT_METALINK, from tx_flush (crossing.c)
//   out    f->rx, received by PORT_METALINK: path.c passes it through all stages, in this poll
//   exits  METALINK_HOPS
//
// Most bursts do not even leave the stages: metalink_pass(). The others cross as frames: bursts
// with several next hops or segments, or to an end with an access list or another check, and all
// bursts while there is a capture or trace.
//
// No ring, no other thread: a burst that crosses stays a burst. The ledger sees the packets in the
// forwarder all the time, so they count neither as tx nor as rx; their interfaces count them as
// sent and received. METALINK_BURSTS_MAX ends a burst whose packets multiply (fragments, multicast)
// and cross again and again, so a poll does not last forever.
//
// ether_out has just written the frames, and the first line of their buffers is in the cache: a
// packet costs a load and two stores here.

#include "forwarder/drop.h"
#include "forwarder/crossing.h"
#include "forwarder/packet.h"
#include "forwarder/tx.h"
#include "table/iface.h"
#include "table/metalink.h"
#include "forwarder/forbidden.h"

// --- the fast path ---

// Do all packets have the next hop of the first?
static bool is_one_hop(const struct burst *b)
{
    return b->n == 1 || !memcmp(b->nh, b->nh + 1, (b->n - 1) * sizeof *b->nh);
}

// Returns the receiving end if the crossing is simple: no watch on the way, and the neighbor is the
// other end itself.
static const struct iface *simple_peer(const struct forwarder *f, const struct burst *b)
{
    const struct port *port = port_get(PORT_METALINK);
    const struct iface *out = iface_get(b->out_iface[0]),
                       *peer = iface_get(port_iface(port, 0, out->vlan));
    const uint8_t *dst_mac = b->header[0] - nexthop_word_head(b->word[0]);
    bool simple = is_one_hop(b) && iface_is_up(peer) && !(peer->flags & IFACE_FEATURES) &&
                  !port->watch_rx && !port->watch_tx && !b->chained && b->l2 && !f->record.on;

    return simple && !memcmp(dst_mac, peer->mac, 6) ? peer : NULL;
}

// Prepares the packet for the stages of the next virtual router. Writes its TTL, and only the
// addresses of its Ethernet header, for the final receiver: the old tags stay.
static inline __attribute__((always_inline)) bool packet_pass(struct burst *b, unsigned i,
                                                              uint64_t dst_mac, uint32_t src_mac)
{
    struct rte_mbuf *m = b->pkt[i];
    uint8_t *frame = b->ip[i] - b->l2;
    unsigned hops = metalink_hops(m);

    if (unlikely(hops >= METALINK_HOPS_MAX))
        return false;
    metalink_hops_set(m, hops + 1);
    store64(frame, dst_mac);
    store32(frame + 8, src_mac);
    store32(b->ip[i] + burst_hop_at(b), b->hop_out[i]);
    b->hop[i] = b->hop_out[i];
    b->size[i] = (uint16_t)m->pkt_len;
    return true;
}

static void count_pass(struct forwarder *f, const struct iface *out, const struct iface *peer,
                       uint64_t n, uint64_t bytes)
{
    struct counter_iface *c = f->counter->iface;

    c[out->id].tx_packets += n;
    c[out->id].tx_bytes += bytes;
    c[peer->id].rx_packets += n;
    c[peer->id].rx_bytes += bytes;
}

bool metalink_pass(struct forwarder *f, struct burst *b)
{
    const struct iface *out = iface_get(b->out_iface[0]), *peer = simple_peer(f, b);
    uint64_t gone = 0, bytes = 0;

    if (!peer)
        return false;
    const uint8_t *header = b->header[0] - nexthop_word_head(b->word[0]);
    const uint64_t dst_mac = load64(header);
    const uint32_t src_mac = load32(header + 8);
    for (unsigned i = 0; i < b->n; i++) {
        uint64_t size = b->size[i];
        bool passes = packet_pass(b, i, dst_mac, src_mac);
        bytes += passes ? size : 0;
        gone |= (uint64_t)!passes << i;
    }
    for (uint64_t left = gone; left; left &= left - 1)
        packet_drop(f, b->pkt[__builtin_ctzll(left)], out->id, DROP_METALINK_HOPS);
    f->used_mark[b->nh[0]] = f->used_epoch;
    if (unlikely(gone))
        burst_remove(b, gone);
    count_pass(f, out, peer, b->n, bytes);
    for (unsigned i = 0; i < b->n; i++) {
        b->iface[i] = peer->id;
        b->vr[i] = peer->vr;
    }
    b->mixed = false;
    b->decided = (struct decided){0};
    b->features = 0;
    return true;
}

// --- the slow path ---

bool metalink_take(struct forwarder *f, unsigned max)
{
    struct frame_queue *q = &f->metalink;
    unsigned n = 0;

    while (q->n && n < max) {
        struct rte_mbuf *m = frame_queue_next(f, q);
        unsigned hops = metalink_hops(m);
        if (unlikely(hops >= METALINK_HOPS_MAX)) {
            tx_drop(f, m, m->vlan_tci, DROP_METALINK_HOPS);
            continue;
        }
        metalink_hops_set(m, hops + 1);
        f->rx.pkt[n] = m;
        f->rx.frame[n++] = rte_pktmbuf_mtod(m, uint8_t *);
    }
    f->rx.n = n;
    return n;
}
