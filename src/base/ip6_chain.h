// SPDX-License-Identifier: BSD-3-Clause
// ip6_chain.h - finds the upper layer behind the extension headers of an IPv6 packet
//
// Skips hop-by-hop options, routing, fragment and destination options headers; anything else,
// including AH and ESP, is the upper layer. Access lists and flow records skip at most
// IP6_CHAIN_MAX headers and treat a packet with more as having no upper layer. ICMP errors, which
// are rare and rate-limited, walk the whole chain in the first segment. Any thread; no state.
#ifndef BASE_IP6_CHAIN_H
#define BASE_IP6_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip_proto.h"

#define IP6_CHAIN_MAX 8u

struct ip6_chain {
    bool cut;        // ends before the upper layer, or has too many headers
    bool more;       // more fragments follow
    uint16_t offset; // fragment offset in 8 bytes; if not 0, no upper-layer header follows
    uint8_t proto;   // upper-layer protocol; in a later fragment, as its fragment header says
    uint32_t at;     // offset of the upper layer
};

static inline bool ip6_is_extension(uint8_t proto)
{
    return proto == PROTO_HOPOPTS || proto == PROTO_ROUTING || proto == PROTO_DSTOPTS ||
           proto == PROTO_FRAGMENT;
}

// `end`: number of readable bytes from ip. Each header takes at least 8 bytes.
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
