// SPDX-License-Identifier: BSD-3-Clause
// Exit fragment4: an IPv4 packet without DF that is larger than the next hop's MTU
//
// DPDK's rte_ip_frag cuts it (RFC 791 3.2, RFC 1812 5.2.6) into buffers of exchange_pool; the
// fragments take the same adjacency. One packet becomes n, so the ledger's inject grows by n - 1. A
// packet in one segment is copied, so that the fragments suit every port; fragments of a chain (a
// jumbo frame) refer to its buffers.
#include <rte_ip_frag.h>

#include "base/checksum.h"
#include "forwarder/cross.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/packet.h"
#include "forwarder/stages.h"
#include "table/metalink.h"
#include "table/packet_class.h"
#include "forwarder/forbidden.h"

int fragment4_cut(struct rte_mbuf *m, struct rte_mbuf **piece, uint16_t mtu)
{
    uint16_t room = (uint16_t)(rte_pktmbuf_data_room_size(exchange_pool) - RTE_PKTMBUF_HEADROOM);

    if (m->nb_segs > 1)
        return rte_ipv4_fragment_packet(m, piece, BURST_MAX, mtu, exchange_pool, exchange_pool);
    return fragment4_copy(m, piece, BURST_MAX, RTE_MIN(mtu, room));
}

bool fragment4(struct forwarder *f, struct burst *b, unsigned i)
{
    struct burst *out = &f->fragment;
    struct rte_mbuf *m = b->pkt[i], *piece[BURST_MAX];
    uint16_t mtu = nexthop_word_mtu(b->word[i]);
    uint32_t hlen = (b->ip[i][0] & 15) * 4u;

    if (mtu < hlen + 8)
        return false;
    if (!burst_ttl_is_final(b))
        ttl_lower(b->ip[i], IP4);
    rte_pktmbuf_adj(m, (uint16_t)packet_l2_len(m, b->ip[i]));
    packet_trim(m, b->len[i]);
    int n = fragment4_cut(m, piece, mtu);
    if (n <= 0)
        return false;
    burst_reset(out);
    out->family = IP4;
    for (int k = 0; k < n; k++) {
        uint8_t *ip = rte_pktmbuf_mtod(piece[k], uint8_t *);
        unsigned at = burst_add(out, piece[k], ip, b->iface[i]);
        out->len[at] = (uint16_t)piece[k]->pkt_len;
        out->nh[at] = b->nh[i];
        out->word[at] = b->word[i];
        store16(ip + 10, 0);
        store16(ip + 10, checksum(ip, (ip[0] & 15) * 4u));
        out->hop[at] = load32(ip + 8);
        packet_class_copy(piece[k], m);
        metalink_hops_copy(piece[k], m);
    }
    (void)f->lanes->apply_nexthops(out, false); // they fit: sets the inputs of ether_out
    f->counter->inject += (unsigned)n - 1;
    f->counter->vr[iface_get(b->iface[i])->vr].copies += (unsigned)n - 1;
    packet_end(f, m, 0);
    burst_cross(f, out);
    ether_out(f, out);
    return true;
}
