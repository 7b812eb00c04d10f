// SPDX-License-Identifier: BSD-3-Clause
// Exit hold: neigh_manager keeps the packet until the neighbor is resolved
//
// The packet goes without its Ethernet header, with its labels if it gets any, and with its TTL
// decremented; packet_meta has the
// data for neigh_manager. It comes back by the inject ring as INJECT_NEXTHOP (inject.c) when the
// neighbor has answered, or failed to: then the next hop is FAILED and the sender gets an error.
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/packet.h"
#include "forwarder/forbidden.h"

void packet_hold(struct forwarder *f, struct burst *b, unsigned i)
{
    struct rte_mbuf *m = b->pkt[i];
    struct packet_meta *meta = packet_meta(m);

    if (b->family == LABELS)
        store32(b->ip[i], b->hop_out[i]);
    else if (!burst_ttl_is_final(b))
        ttl_lower(b->ip[i], b->family);
    rte_pktmbuf_adj(m, (uint16_t)packet_l2_len(m, b->ip[i]));
    packet_trim(m, b->len[i]);
    *meta = (struct packet_meta){
        .iface = b->iface[i],
        .vr = b->vr[i],
        .owner = iface_get(b->iface[i])->vr,
        .kind = INJECT_NEXTHOP,
        .family = b->family,
        .nexthop = b->nh[i],
        .mtu = nexthop_word_mtu(b->word[i]),
    };
    if (f->hold.n == COLLECT_MAX)
        hold_flush(f);
    f->hold.pkt[f->hold.n++] = m;
    f->counter->vr[meta->owner].held++;
}

void hold_flush(struct forwarder *f)
{
    struct collect *c = &f->hold;
    unsigned sent = rte_ring_enqueue_burst(exchange_hold, (void **)c->pkt, c->n, NULL);

    for (unsigned i = sent; i < c->n; i++) {
        f->counter->vr[packet_meta(c->pkt[i])->owner].resumed++;
        packet_drop_bare(f, c->pkt[i], packet_meta(c->pkt[i])->iface, DROP_HOLD_RING_FULL);
    }
    f->holds |= sent > 0;
    c->n = 0;
}
