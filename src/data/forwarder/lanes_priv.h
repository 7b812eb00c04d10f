// SPDX-License-Identifier: BSD-3-Clause
// lanes_priv.h - constants of a plain packet, and the interface of a frame by its tags, for all
// sets
#ifndef FORWARDER_LANES_PRIV_H
#define FORWARDER_LANES_PRIV_H

#include <stddef.h>

#include "forwarder/lanes.h"
#include "forwarder/packet.h"
#include "table/nexthop.h"

#define LANES_MAC 0x0000ffffffffffffull
#define LANES_IP4 (0x0008ull | 0x45ull << 16)     // EtherType, version and header length, as loaded
#define LANES_IP6 (0xdd86ull | 0x60ull << 16)
#define LANES_LABELS 0x4788u                      // EtherType, as loaded
#define LANES_TAG 0x0081u                         // EtherType 0x8100, as loaded
#define LANES_LINK_LOCAL4 0xfea9u                 // 169.254/16 (RFC 3927), as loaded
#define LANES_CKSUM (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_BAD)

// The first 8 bytes of struct iface: flags in the low LANES_FLAGS bits of the first 16, virtual
// router in the others; MAC. An unused entry is not up.
#define LANES_FLAGS IFACE_FLAGS_BITS
#define LANES_VR (UINT16_MAX >> LANES_FLAGS)
_Static_assert(offsetof(struct iface, flags_vr) == 0 && offsetof(struct iface, mac) == 2, "own");
_Static_assert((sizeof(struct iface) & (sizeof(struct iface) - 1)) == 0,
               "where an interface is, without a multiplication");

// The port's marks on all frames of a kind.
#define LANES_STRIPPED (RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED)
static inline uint64_t lanes_stripped(enum tag tag)
{
    return tag == STRIPPED || tag == DOUBLE_STRIPPED ? RTE_MBUF_F_RX_VLAN_STRIPPED : 0;
}

static inline unsigned lanes_l2(enum tag tag)
{
    return tag == DOUBLE ? 22 : tag == TAGGED || tag == DOUBLE_STRIPPED ? 18 : 14;
}

// The interface of a frame with two tags, DOUBLE or DOUBLE_STRIPPED; 0 = none, or the outer tag is
// of another type than the interface's. `word`: 8 bytes from the first tag on, as loaded; `tci`: of
// the mbuf.
static inline uint16_t lanes_pair(const struct port *port, enum tag tag, uint64_t word,
                                  uint16_t tci)
{
    uint32_t inner = (uint32_t)(tag == DOUBLE ? word >> 32 : word);
    uint16_t outer = (tag == DOUBLE ? __builtin_bswap16((uint16_t)(word >> 16)) : tci) & 0xfff;
    uint16_t id =
        port_inner[port->outer_row[outer]][__builtin_bswap16((uint16_t)(inner >> 16)) & 0xfff];
    bool right =
        (uint16_t)inner == LANES_TAG && (tag != DOUBLE || (uint16_t)word == iface_get(id)->tpid_be);

    return right ? id : 0;
}

// The interface of a frame of that kind; 0 = none, or its outer tag is of another type.
static inline uint16_t lanes_iface_of(const struct port *port, enum tag tag,
                                      const struct rte_mbuf *m, const uint8_t *frame)
{
    if (tag == UNTAGGED)
        return port->untagged;
    if (tag == DOUBLE || tag == DOUBLE_STRIPPED)
        return lanes_pair(port, tag, load64(frame + 12), m->vlan_tci);
    if (tag == STRIPPED)
        return port->vlan_iface[m->vlan_tci & 0xfff];
    uint32_t word = load32(frame + 12);
    uint16_t id = port->vlan_iface[__builtin_bswap32(word) & 0xfff];
    return (uint16_t)word == LANES_TAG ? id : 0;
}

// Check (7): first octet 1..223 but not 127, and not link-local (ip4_in.c). 0 or 1, for use with &.
static inline __attribute__((always_inline)) unsigned lanes_is_unicast4(uint32_t addr)
{
    uint8_t o = (uint8_t)addr;

    return ((uint8_t)(o - 1) < 223) & (o != 127) & ((uint16_t)addr != LANES_LINK_LOCAL4);
}

// Sum of a 20-byte header given as words; 0xffff if the checksum is right (RFC 1071).
static inline __attribute__((always_inline)) uint32_t
lanes_header_sum(uint64_t w0, uint64_t w8, uint32_t w16)
{
    uint64_t s = (uint32_t)w0 + (w0 >> 32) + (uint32_t)w8 + (w8 >> 32) + w16;

    s = (s & 0xffffffff) + (s >> 32);
    s = (s & 0xffff) + (s >> 16);
    s = (s & 0xffff) + (s >> 16);
    return (uint32_t)((s & 0xffff) + (s >> 16));
}

// RFC 1624 eq. 3: the TTL is the high byte of its 16-bit word, so lowering it by 1 adds 0x0100 to
// the checksum, which is 1 in memory order.
static inline __attribute__((always_inline)) uint32_t
lanes_hop_lowered_by(uint32_t hop, uint32_t by, uint8_t family)
{
    uint32_t sum = (hop >> 16) + by;

    sum += sum >= 0xffff;
    return family == IP4 ? ((hop & 0xffff) - by) | sum << 16 : hop - (by << 24);
}

static inline __attribute__((always_inline)) uint32_t lanes_hop_lowered(uint32_t hop,
                                                                        uint8_t family)
{
    return lanes_hop_lowered_by(hop, 1, family);
}

extern const struct lanes lanes_scalar, lanes_avx2, lanes_avx512, lanes_avx512_loads;

#endif
