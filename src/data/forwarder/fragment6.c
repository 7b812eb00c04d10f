// SPDX-License-Identifier: BSD-3-Clause
// fragment6.c - cuts IPv6 packets made by us into fragments
//
// Routers do not fragment packets of others (RFC 8200 5), so these are outer packets of tunnels,
// whose whole payload may be cut (RFC 2473 7.1): they have no extension header that each fragment
// needs. Fragments are copies in buffers of exchange_pool, which suit every port.
#include <errno.h>

#include "forwarder/exits.h"
#include "forwarder/packet.h"
#include "table/metalink.h"
#include "table/packet_class.h"
#include "forwarder/forbidden.h"

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
