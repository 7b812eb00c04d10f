// SPDX-License-Identifier: BSD-3-Clause
// packet.h - access to frames: unaligned loads and stores, lengths, trimming
//
// Headers lie at any address, so every access is a memcpy, which compiles to one move. Values are
// as in memory (network order) unless the name says _host. Forwarders only; no state.
#ifndef FORWARDER_PACKET_H
#define FORWARDER_PACKET_H

#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/ip.h"
#include "base/ip_proto.h"

#define ETHER_HDR 14u
#define VLAN_HDR 4u
#define LABEL_HDR 4u
#define ETHER_TYPE_IP4 RTE_BE16(0x0800)
#define ETHER_TYPE_IP6 RTE_BE16(0x86dd)
#define ETHER_TYPE_MPLS RTE_BE16(0x8847)
#define ETHER_TYPE_SLOW RTE_BE16(0x8809) // slow protocols: LACP, marker
#define ETHER_TYPE_VLAN RTE_BE16(0x8100)    // C-tag; also an outer one
#define ETHER_TYPE_QINQ RTE_BE16(0x88a8)    // S-tag: outer only
#define ETHER_TYPE_QINQ_OLD RTE_BE16(0x9100) // before 802.1ad: outer only

static inline uint16_t load16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}

static inline uint32_t load32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static inline uint64_t load64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static inline void store16(void *p, uint16_t v)
{
    memcpy(p, &v, 2);
}

static inline void store32(void *p, uint32_t v)
{
    memcpy(p, &v, 4);
}

static inline void store64(void *p, uint64_t v)
{
    memcpy(p, &v, 8);
}

static inline uint16_t load16_host(const void *p)
{
    return rte_be_to_cpu_16(load16(p));
}

// Is it the EtherType of a VLAN tag?
static inline bool is_tag(uint16_t type_be)
{
    return type_be == ETHER_TYPE_VLAN || type_be == ETHER_TYPE_QINQ ||
           type_be == ETHER_TYPE_QINQ_OLD;
}

static inline bool ip4_has_df(const uint8_t *ip)
{
    return load16(ip + 6) & RTE_BE16(0x4000);
}

static inline bool ip4_is_link_local(const uint8_t *a) // 169.254/16 (RFC 3927)
{
    return a[0] == 169 && a[1] == 254;
}

static inline bool ip6_is_link_local(const uint8_t *a) // fe80::/10
{
    return a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
}

// Bytes before the IP header.
static inline uint32_t packet_l2_len(const struct rte_mbuf *m, const uint8_t *ip)
{
    return (uint32_t)(ip - rte_pktmbuf_mtod(m, const uint8_t *));
}

// Bytes from `ip` to the end of the first segment: readable without walking the chain.
static inline uint32_t packet_readable(const struct rte_mbuf *m, const uint8_t *ip)
{
    return m->data_len - packet_l2_len(m, ip);
}

// For a packet of one segment.
static inline void packet_set_length(struct rte_mbuf *m, uint64_t bytes)
{
    store64(&m->pkt_len, bytes | bytes << 32); // pkt_len, data_len and vlan_tci
}

// Cuts the packet to `len` bytes, dropping whole segments if possible. len >= the first segment's
// headers.
static inline void packet_trim(struct rte_mbuf *m, uint32_t len)
{
    struct rte_mbuf *s = m;
    uint32_t left = len;

    if (len >= m->pkt_len)
        return;
    m->pkt_len = len;
    for (uint16_t n = 1; left > s->data_len; n++) {
        left -= s->data_len;
        s = s->next;
        m->nb_segs = (uint16_t)(n + 1);
    }
    s->data_len = (uint16_t)left;
    if (s == m)
        m->nb_segs = 1;
    rte_pktmbuf_free(s->next);
    s->next = NULL;
}

// Decrements the TTL and adjusts the checksum, or the hop limit, in a packet that ether_out does
// not write. For the sum see hop_lowered in lanes.c.
static inline void ttl_lower(uint8_t *ip, uint8_t family)
{
    if (family == IP4) {
        uint32_t w = rte_le_to_cpu_32(load32(ip + 8)), sum = (w >> 16) + 1;
        sum += sum >= 0xffff;
        store32(ip + 8, rte_cpu_to_le_32(((w & 0xffff) - 1) | sum << 16));
    } else {
        ip[7]--;
    }
}

static inline uint8_t ttl_of(const uint8_t *ip, uint8_t family)
{
    return ip[family == IP4 ? 8 : 7];
}

#endif
