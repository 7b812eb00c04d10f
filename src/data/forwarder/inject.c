// SPDX-License-Identifier: BSD-3-Clause
// inject.c - packets from other threads for this forwarder
//
//   INJECT_FRAME    from the kernel, by tap_manager: leaves its interface unchanged, plus its tags
//   INJECT_NEXTHOP  held by neigh_manager, which now has a next hop: IP header first, TTL
//                   decremented
//   INJECT_TX       finished frames for a port whose transmit queue is ours
//
// At most one burst per poll, so that a busy kernel does not starve the ports. The thread that puts
// a packet into the ring counts it (inject); packets of the other two kinds never left the router.
#include "forwarder/cross.h"
#include "forwarder/drop.h"
#include "forwarder/packet.h"
#include "forwarder/stages.h"
#include "forwarder/tags.h"
#include "forwarder/tx.h"
#include "queue/queue.h"
#include "table/iface.h"
#include "table/packet_class.h"
#include "forwarder/forbidden.h"

static void inject_frame(struct forwarder *f, struct rte_mbuf *m)
{
    uint16_t id = packet_meta(m)->iface;

    if (m->data_len < ETHER_HDR)
        packet_drop(f, m, id, DROP_ETHER_TRUNCATED);
    else {
        packet_class_set(m, QUEUE_CLASS_OWN);
        if (likely(m->pkt_len <= ETHER_HDR + iface_get(id)->mtu) || !inject_large(f, m, id))
            tx_frame(f, m, id, DROP_INJECT_NO_BUFFER);
    }
}

// Sends the packets in f->resumed.
static void send_resumed(struct forwarder *f)
{
    struct burst *b = &f->resumed;

    if (b->n)
        fwd_resume(f, b);
    if (b->features & IFACE_ACL_OUT && b->n)
        checks_out(f, b);
    burst_cross(f, b);
    ether_out(f, b);
    burst_reset(b);
}

// Appends to the burst of held packets, which has one family: a packet of the other family sends it
// first.
static void inject_nexthop(struct forwarder *f, struct rte_mbuf *m)
{
    const struct packet_meta *meta = packet_meta(m);
    struct burst *b = &f->resumed;
    uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *);

    if (b->n && b->family != meta->family)
        send_resumed(f);
    b->family = meta->family;
    unsigned i = burst_add(b, m, ip, meta->iface);
    f->counter->vr[meta->owner].resumed++;
    counter_cross(f->counter, meta->owner, iface_get(meta->iface)->vr);
    b->nh[i] = meta->nexthop;
    b->len[i] = (uint16_t)m->pkt_len;
}

unsigned inject(struct forwarder *f)
{
    struct rte_mbuf *pkt[BURST_MAX];
    unsigned n = rte_ring_dequeue_burst(exchange_inject[f->index], (void **)pkt, BURST_MAX, NULL);

    for (unsigned i = 0; i < n; i++) {
        const struct packet_meta *meta = packet_meta(pkt[i]);
        if (meta->kind == INJECT_NEXTHOP)
            inject_nexthop(f, pkt[i]);
        else if (meta->kind == INJECT_TX)
            tx_append(f, pkt[i], meta->port, meta->iface);
        else
            inject_frame(f, pkt[i]);
    }
    send_resumed(f);
    return n;
}
