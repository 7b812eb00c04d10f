// SPDX-License-Identifier: BSD-3-Clause
// ip6_chain.h - what is behind the extension headers of an IPv6 packet
//
// Hop-by-hop options, routing, fragment and destination options are passed over; anything else, AH
// and ESP too, is the upper layer. Access lists and flow records pass over IP6_CHAIN_MAX headers at
// most: a packet with more has no upper layer for them. ICMP errors, which are rare and limited,
// look at the whole chain in the first segment. Any thread; no state.
#ifndef BASE_IP6_CHAIN_H
#define BASE_IP6_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip_proto.h"

#define IP6_CHAIN_MAX 8u

struct ip6_chain {
    bool cut;        // ends before the upper layer, or has too many headers
    bool more;       // a fragment that others follow
    uint16_t offset; // of a later fragment, in 8 bytes: what is behind is the middle of something
    uint8_t proto;   // of the upper layer; of a later fragment, what its fragment header names
    uint32_t at;     // where it begins
};

static inline bool ip6_is_extension(uint8_t proto)
{
    return proto == PROTO_HOPOPTS || proto == PROTO_ROUTING || proto == PROTO_DSTOPTS ||
           proto == PROTO_FRAGMENT;
}

// `end`: bytes from ip on that may be read; each header takes 8 of them at least.
static inline struct ip6_chain ip6_chain_of(const uint8_t *ip, uint32_t end, unsigned max)
{
    struct ip6_chain c = {.proto = ip[6], .at = IP6_HDR};

    for (unsigned n = 0; ip6_is_extension(c.proto) && !c.offset; n++) {
        if (n == max || end < c.at + 8) {
            c.cut = true;
            return c;
        }
        const uint8_t *header = ip + c.at;
        bool fragment = c.proto == PROTO_FRAGMENT;
        if (fragment) {
            c.offset = (uint16_t)((header[2] << 8 | header[3]) >> 3);
            c.more |= header[3] & 1;
        }
        c.proto = header[0];
        c.at += fragment ? 8 : 8u * (header[1] + 1u);
    }
    return c;
}

static inline struct ip6_chain ip6_chain(const uint8_t *ip, uint32_t end)
{
    return ip6_chain_of(ip, end, IP6_CHAIN_MAX);
}

#endif
