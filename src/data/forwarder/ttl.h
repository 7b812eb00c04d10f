// SPDX-License-Identifier: BSD-3-Clause
// ttl.h - decrements the TTL, and adjusts the checksum
#ifndef FORWARDER_TTL_H
#define FORWARDER_TTL_H

#include "base/ip.h"
#include "forwarder/packet.h"

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
