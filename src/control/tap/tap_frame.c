// SPDX-License-Identifier: BSD-3-Clause
// tap_frame.c - finds the checksum of a frame, and tells the kernel its state
//
// Only a checksum that the port knows to be good or missing is reported; the kernel itself checks
// all others. A TCP packet that the port joined from segments is announced as such, with the size
// of the segments, so that the kernel can count and acknowledge them.
#include "tap/tunnel_back.h"

#include <netinet/in.h>
#include <rte_byteorder.h>
#include <stdbool.h>

#define ETHER_HDR 14u

struct l4 {
    uint8_t gso; // VIRTIO_NET_HDR_GSO_… if the port joined segments
    uint8_t proto;
    uint16_t at;     // from the beginning of the frame
    uint16_t sum_at; // of the checksum, from `at`
    uint16_t len;    // of the header
};

// Finds the TCP or UDP header. Returns false if there is none or it is incomplete.
static bool find_l4(const struct rte_mbuf *m, struct l4 *l)
{
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *ip = frame + ETHER_HDR;
    unsigned n = m->data_len;

    if (n >= ETHER_HDR + 20 && frame[12] == 0x08 && frame[13] == 0x00)
        *l = (struct l4){VIRTIO_NET_HDR_GSO_TCPV4, ip[9], (uint16_t)(ETHER_HDR + (ip[0] & 15) * 4u),
                         0, 0};
    else if (n >= ETHER_HDR + 40 && frame[12] == 0x86 && frame[13] == 0xdd)
        *l = (struct l4){VIRTIO_NET_HDR_GSO_TCPV6, ip[6], ETHER_HDR + 40, 0, 0};
    else
        return false;
    if (l->proto == IPPROTO_TCP && n >= l->at + 20u) {
        l->sum_at = 16;
        l->len = (uint16_t)((frame[l->at + 12] >> 4) * 4u);
    } else if (l->proto == IPPROTO_UDP && n >= l->at + 8u) {
        l->sum_at = 6;
        l->len = 8;
    } else {
        return false;
    }
    return true;
}

struct virtio_net_hdr tap_frame_header(const struct rte_mbuf *m)
{
    struct virtio_net_hdr h = {.gso_type = VIRTIO_NET_HDR_GSO_NONE};
    uint64_t sum = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    struct l4 l;

    if (sum == RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN || sum == RTE_MBUF_F_RX_L4_CKSUM_BAD ||
        !find_l4(m, &l))
        return h; // the kernel checks it
    if (sum == RTE_MBUF_F_RX_L4_CKSUM_NONE) {
        h.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
        h.csum_start = l.at;
        h.csum_offset = l.sum_at;
    } else {
        h.flags = VIRTIO_NET_HDR_F_DATA_VALID;
    }
    if (m->ol_flags & RTE_MBUF_F_RX_LRO && m->tso_segsz && l.proto == IPPROTO_TCP) {
        h.gso_type = l.gso;
        h.gso_size = m->tso_segsz;
        h.hdr_len = (uint16_t)(l.at + l.len);
    }
    return h;
}
