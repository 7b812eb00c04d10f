// SPDX-License-Identifier: BSD-3-Clause
// lanes_priv.h - what both sets of lanes mean by plain
#ifndef FORWARDER_LANES_PRIV_H
#define FORWARDER_LANES_PRIV_H

#include <stddef.h>

#include "forwarder/lanes.h"
#include "table/nexthop.h"

#define LANES_MAC 0x0000ffffffffffffull
#define LANES_IP4 (0x0008ull | 0x45ull << 16)     // EtherType, version and header length, as loaded
#define LANES_IP6 (0xdd86ull | 0x60ull << 16)
#define LANES_LINK_LOCAL4 0xfea9u                 // 169.254/16 (RFC 3927), as loaded
#define LANES_WHOLE 128u                          // ether_in.c: HEADERS_MAX
#define LANES_CKSUM (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_BAD)

// struct iface as its first 8 bytes: kind, up, MAC
_Static_assert(offsetof(struct iface, kind) == 0 && offsetof(struct iface, up) == 1 && offsetof(struct iface, mac) == 2, "own");

static inline unsigned lanes_l2(enum tag tag)
{
    return tag == TAGGED ? 18 : 14;
}

extern const struct lanes lanes_scalar, lanes_avx512;

#endif
