// SPDX-License-Identifier: BSD-3-Clause
// remark.h - changes the DSCP of a packet
//
// The two ECN bits stay (RFC 3168 5), the IPv4 header checksum is updated by the difference (RFC
// 1624 3). Writes the header in the frame and the burst's copies of it: so the packet may leave by
// ether_out or by another exit, with or without a next hop so far. Forwarders only.
#ifndef FORWARDER_REMARK_H
#define FORWARDER_REMARK_H

#include "forwarder/burst.h"
#include "forwarder/packet.h"

// HC' = ~(~HC + ~m + m') (RFC 1624 3, equation 3); all in network order, which the sum allows.
static inline uint16_t remark_checksum(uint16_t sum, uint16_t was, uint16_t is)
{
    uint32_t s = (uint32_t)(uint16_t)~sum + (uint16_t)~was + is;

    s = (s & 0xffff) + (s >> 16);
    s = (s & 0xffff) + (s >> 16);
    return (uint16_t)~s;
}

// `word`: bytes 8..11 of an IPv4 header, ending with the checksum.
static inline void remark_hop(uint32_t *word, uint16_t was, uint16_t is)
{
    uint8_t *sum = (uint8_t *)word + 2;

    store16(sum, remark_checksum(load16(sum), was, is));
}

static inline uint8_t remark_dscp_of(const uint8_t *ip, uint8_t family)
{
    return family == IP4 ? ip[1] >> 2 : (uint8_t)((ip[0] << 4 | ip[1] >> 4) >> 2 & 63);
}

// Sets the DSCP of packet i of b, 0..63.
static inline void packet_remark(struct burst *b, unsigned i, uint8_t dscp)
{
    uint8_t *ip = b->ip[i];
    uint16_t was = load16(ip);

    if (b->family == IP6) { // version, traffic class, flow label (RFC 8200 3)
        ip[0] = (uint8_t)(0x60 | dscp >> 2);
        ip[1] = (uint8_t)((ip[1] & 0x3f) | dscp << 6);
        return;
    }
    ip[1] = (uint8_t)((ip[1] & 3) | dscp << 2);
    store16(ip + 10, remark_checksum(load16(ip + 10), was, load16(ip)));
    remark_hop(&b->hop[i], was, load16(ip));
    remark_hop(&b->hop_out[i], was, load16(ip));
}

#endif
