// SPDX-License-Identifier: BSD-3-Clause
// tunnel_alike.h - what a forwarder remembers of the packets that come by tunnels
//
// Most packets have the headers of another one of their tunnel, but for a few bytes. So the first
// one is read step by step, and says what others have to look like, until any tunnel is hidden.
// Written and read by tunnel_in.c.
#ifndef FORWARDER_TUNNEL_ALIKE_H
#define FORWARDER_TUNNEL_ALIKE_H

#include <stdbool.h>
#include <stdint.h>

#define ALIKE_BYTES_4 64u // from the outer IP header on: with the EtherType in VXLAN
#define ALIKE_BYTES_6 80u
#define ALIKE_BITS 12 // of a hash of virtual router, addresses, VNI, inner family: a megabyte for
                      // each outer family, of which busy tunnels use 256 bytes each

// Both addresses of frames that had none, and the type: 14 bytes as two overlapping words.
struct made {
    uint64_t first, last;
};

struct alike {                                      // packets of one tunnel
    uint8_t is[ALIKE_BYTES_6], mask[ALIKE_BYTES_6]; // from the outer IP header on
    uint64_t valid; // alike_valid() of its packets' virtual router
    uint32_t need;                     // bytes of the shortest; UINT32_MAX: no packet is alike
    uint32_t length_at, length_beside; // the innermost outer length, and the bytes it leaves out
    uint32_t frame;                    // where the frame begins
    bool ethernet, four;               // what is carried
    uint8_t hops; // tunnels and metalinks passed from which on a packet is looked at: 0 if any DSCP
                  // may change the inner one; without, ECT(1) and CE may
    uint16_t number;
    struct made made;
    const struct tunnel *tunnel;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct alike) == 256, "an index is a shift");

// An entry counts while its own equals that of the packet. Never 0.
static inline uint64_t alike_valid(uint32_t n_hidden, uint16_t vr)
{
    return (uint64_t)n_hidden << 16 | vr;
}

struct alikes {
    struct alike of[2][1 << ALIKE_BITS]; // by the outer family: IPv4, IPv6
};

#endif
