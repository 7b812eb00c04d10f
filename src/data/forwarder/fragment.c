// SPDX-License-Identifier: BSD-3-Clause
// Exit fragment4: an IPv4 packet without DF that is larger than the next hop's MTU
//
// DPDK's rte_ip_frag cuts it (RFC 791 3.2, RFC 1812 5.2.6) into buffers of exchange_pool; the
// fragments take the same adjacency. One packet becomes n, so the ledger's inject grows by n - 1. A
// packet in one segment is copied, so that the fragments suit every port; fragments of a chain (a
// jumbo frame) refer to its buffers.
#include <errno.h>
#include <rte_ip_frag.h>

#include "base/checksum.h"
#include "forwarder/cross.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/label.h"
#include "forwarder/packet.h"
#include "forwarder/stages.h"
#include "table/metalink.h"
#include "table/packet_class.h"
#include "forwarder/forbidden.h"

int fragment4_cut(struct forwarder *f, uint16_t iface, struct rte_mbuf *m, struct rte_mbuf **piece,
                  uint16_t mtu)
{
    uint16_t room = (uint16_t)(rte_pktmbuf_data_room_size(exchange_pool) - RTE_PKTMBUF_HEADROOM);
    uint32_t hlen = (*rte_pktmbuf_mtod(m, const uint8_t *) & 15) * 4u;

    if (mtu < hlen + 8)
        return 0;
    int n = m->nb_segs > 1 ? rte_ipv4_fragment_packet(m, piece, BURST_MAX, mtu, exchange_pool,
                                                      exchange_pool)
                           : fragment4_copy(m, piece, BURST_MAX, RTE_MIN(mtu, room));
    if (n <= 0)
        return n;
    count_copies(f, iface, (unsigned)n - 1);
    for (int k = 0; k < n; k++) {
        uint8_t *ip = rte_pktmbuf_mtod(piece[k], uint8_t *);
        store16(ip + 10, 0);
        store16(ip + 10, checksum(ip, (ip[0] & 15) * 4u));
        packet_class_copy(piece[k], m);
        metalink_hops_copy(piece[k], m);
    }
    return n;
}

bool fragment4(struct forwarder *f, struct burst *b, unsigned i)
{
    struct burst *out = &f->fragment;
    struct rte_mbuf *m = b->pkt[i], *piece[BURST_MAX];
    uint16_t mtu = nexthop_word_mtu(b->word[i]);

    if (!burst_ttl_is_final(b))
        ttl_lower(b->ip[i], IP4);
    rte_pktmbuf_adj(m, (uint16_t)packet_l2_len(m, b->ip[i]));
    packet_trim(m, b->len[i]);
    int n = fragment4_cut(f, b->iface[i], m, piece, mtu);
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
    }
    packet_end(f, m, 0);
    if (unlikely(nexthop_word_kind(nexthop_word(nexthop_get(b->nh[i]))) == NEXTHOP_ENCAP)) {
        label_send(f, out, false);
        return true;
    }
    (void)f->lanes->apply_nexthops(out, false); // they fit: sets the inputs of ether_out
    burst_cross(f, out);
    ether_out(f, out);
    return true;
}

// --- IPv6 packets made by us ---
//
// Routers do not fragment packets of others (RFC 8200 5), so these are outer packets of tunnels,
// whose whole payload may be cut (RFC 2473 7.1): they have no extension header that each fragment
// needs. Fragments are copies in buffers of exchange_pool, which suit every port.

#define FRAGMENT_HDR 8u
#define HEAD (ETHER_HDR + IP6_HDR + FRAGMENT_HDR)

// Makes a fragment of `n` bytes of the payload from `at` on; `more`: others follow.
static struct rte_mbuf *make_piece(const struct rte_mbuf *m, const uint8_t *ip, uint32_t at,
                                   uint32_t n, bool more, uint32_t id)
{
    struct rte_mbuf *piece = rte_pktmbuf_alloc(exchange_pool);
    uint8_t *frame = piece ? (uint8_t *)rte_pktmbuf_append(piece, (uint16_t)(HEAD + n)) : NULL;

    if (!frame) {
        rte_pktmbuf_free(piece);
        return NULL;
    }
    uint8_t *header = frame + ETHER_HDR, *fragment = header + IP6_HDR, *to = frame + HEAD;
    const void *from = rte_pktmbuf_read(m, packet_l2_len(m, ip) + IP6_HDR + at, n, to);
    if (from != to)
        memcpy(to, from, n);
    memcpy(header, ip, IP6_HDR);
    store16(header + 4, rte_cpu_to_be_16((uint16_t)(FRAGMENT_HDR + n)));
    header[6] = PROTO_FRAGMENT;
    fragment[0] = ip[6];
    fragment[1] = 0;
    store16(fragment + 2, rte_cpu_to_be_16((uint16_t)(at | more)));
    store32(fragment + 4, rte_cpu_to_be_32(id));
    packet_class_copy(piece, m);
    metalink_hops_copy(piece, m);
    return piece;
}

int fragment6_cut(const struct rte_mbuf *m, const uint8_t *ip, uint16_t mtu, uint32_t id,
                  struct rte_mbuf **piece, unsigned max)
{
    const uint32_t len = load16_host(ip + 4), room = (mtu - IP6_HDR - FRAGMENT_HDR) & ~7u;
    unsigned n = 0;

    if (mtu < IP6_HDR + 2 * FRAGMENT_HDR || len > room * max)
        return 0;
    for (uint32_t at = 0; at < len; at += room) {
        const bool more = len - at > room;
        piece[n] = make_piece(m, ip, at, more ? room : len - at, more, id);
        if (!piece[n]) {
            while (n)
                rte_pktmbuf_free(piece[--n]);
            return -ENOBUFS;
        }
        n++;
    }
    return (int)n;
}
