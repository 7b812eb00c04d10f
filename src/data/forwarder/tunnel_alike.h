// SPDX-License-Identifier: BSD-3-Clause
// tunnel_alike.h - a forwarder's memory of the packets that come by tunnels
//
// Most packets of a tunnel have the same headers, except for a few bytes. So the first one is
// parsed step by step, and serves as a pattern for others, until any tunnel is hidden. Used only by
// tunnel_in.c.
#ifndef FORWARDER_TUNNEL_ALIKE_H
#define FORWARDER_TUNNEL_ALIKE_H

#include <stdbool.h>
#include <stdint.h>

#define ALIKE_BYTES_4 64u // from the outer IP header on: includes the inner EtherType of VXLAN
#define ALIKE_BYTES_6 80u
#define ALIKE_BITS 12 // of a hash of virtual router, addresses, VNI, inner family: a megabyte for
                      // each outer family, of which busy tunnels use 256 bytes each

// Both addresses for frames without, and the type: 14 bytes as two overlapping words.
struct made {
    uint64_t first, last;
};

struct alike {                                      // pattern of one tunnel's packets
    uint8_t is[ALIKE_BYTES_6], mask[ALIKE_BYTES_6]; // from the outer IP header on
    uint64_t valid; // alike_valid() of its packets' virtual router
    uint32_t need;                     // minimum length; UINT32_MAX: matches no packet
    uint32_t length_at, length_beside; // offset of the innermost outer length, and the bytes that
                                       // it does not cover
    uint32_t frame;                    // offset of the frame
    bool ethernet, four;               // inner content
    uint8_t hops; // from this number of tunnels and metalinks passed on, a packet is examined: 0 if
                  // any DSCP may change the inner one; otherwise ECT(1) and CE may
    uint16_t iface;
    struct made made;
    const struct tunnel *tunnel;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct alike) == 256, "an index is a shift");

// An entry is valid while its value equals the packet's. Never 0.
static inline uint64_t alike_valid(uint32_t n_hidden, uint16_t vr)
{
    return (uint64_t)n_hidden << 16 | vr;
}

struct alikes {
    struct alike of[2][1 << ALIKE_BITS]; // by outer family: IPv4, IPv6
};

#endif
