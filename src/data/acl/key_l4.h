// SPDX-License-Identifier: BSD-3-Clause
// key_l4.h - reads the fields above IP that rules compare from a packet
//
// For any thread, inside a burst. It never reads beyond the given length, and reads all protocols
// in the same way: traffic mixes them, so branches would be mispredicted.
#ifndef ACL_KEY_L4_H
#define ACL_KEY_L4_H

#include <string.h>

#include "acl/acl.h"
#include "base/ip_proto.h"

// Required bytes of the upper layer's header.
static const uint8_t acl_l4_bytes[256] = {
    [PROTO_TCP] = 14, [PROTO_UDP] = 4,  [PROTO_UDPLITE] = 4,
    [PROTO_SCTP] = 4, [PROTO_ICMP] = 2, [PROTO_ICMP6] = 2,
};

// Reads ports, flags, type and code at l4, of which `left` bytes may be read. Returns false if
// these are too few. Does not branch on the protocol: traffic mixes protocols.
static inline __attribute__((always_inline)) bool
acl_l4_read(const uint8_t *l4, int32_t left, uint8_t proto, struct acl_key_l4 *k)
{
    unsigned need = acl_l4_bytes[proto];
    bool is_tcp = proto == PROTO_TCP, is_icmp = need == 2;
    uint16_t first, second;

    if (__builtin_expect(left < (int32_t)need, 0))
        return false;
    k->sport = k->dport = 0;
    k->tcp_flags = 0;
    if (__builtin_expect(!need, 0))
        return true;
    memcpy(&first, l4, 2);
    memcpy(&second, l4 + (need >= 4 ? 2 : 0), 2);
    k->sport = is_icmp ? (uint8_t)first : __builtin_bswap16(first);
    k->dport = is_icmp ? (uint16_t)(first >> 8) : __builtin_bswap16(second);
    k->tcp_flags = l4[is_tcp ? 13 : 0] & (is_tcp ? 0xff : 0);
    return true;
}

#endif
