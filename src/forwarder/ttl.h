// SPDX-License-Identifier: BSD-3-Clause
// ttl.h - one hop less to live, and the checksum that goes with it
#ifndef FORWARDER_TTL_H
#define FORWARDER_TTL_H

#include "base/ip.h"
#include "forwarder/packet.h"

// TTL and checksum of an IPv4 header, or the hop limit, `lower` (0 or 1) less. RFC 1624 eq. 3: the TTL is the high byte
// of its 16-bit word, so one less of it is 0x0100 more in the checksum, which as bytes lie in memory is 1.
static inline void ttl_lower(uint8_t *ip, uint8_t family, uint32_t lower)
{
    if (family == IP4) {
        uint32_t w = rte_le_to_cpu_32(load32(ip + 8)), sum = (w >> 16) + lower;
        sum += (sum >= 0xffff) & lower;
        store32(ip + 8, rte_cpu_to_le_32(((w & 0xffff) - lower) | sum << 16));
    } else {
        ip[7] = (uint8_t)(ip[7] - lower);
    }
}

static inline uint8_t ttl_of(const uint8_t *ip, uint8_t family)
{
    return ip[family == IP4 ? 8 : 7];
}

#endif
