// SPDX-License-Identifier: BSD-3-Clause
// metalink.h - metalinks: pairs of interfaces joined inside the forwarder
//
// Port PORT_METALINK has no device: it receives all frames sent on it, in the same forwarder
// (forwarder/metalink.c). A metalink is a pair of VLANs of that port, 2k and 2k + 1. Each end sends
// with its own VLAN tag, and frames with that tag lead to the other end. So the stages need no
// knowledge of metalinks, and a frame itself tells where it goes.
//
// The number of metalinks passed travels with the packet: a bit of ol_flags tells that it has
// passed any (like table/packet_class.h), the number is in hash.sched.color, which nothing else
// here reads. Both lie in the buffer's first cache line. A held packet keeps its number, fragments
// get it by metalink_hops_copy, and an ICMP error starts at 0, so that it can travel back as far as
// the packet came.
#ifndef TABLE_METALINK_H
#define TABLE_METALINK_H

#include <rte_mbuf.h>
#include <stdint.h>

#include "table/limits.h"

#define METALINK_HOPS_MAX 8u
#define METALINK_VLAN_FIRST 2u

_Static_assert(METALINK_VLAN_FIRST + 2 * METALINK_MAX <= 4095, "VLANs of PORT_METALINK");

extern uint64_t metalink_flag; // bit of ol_flags; 0 before exchange_init

// The VLAN in which end 0 or 1 of metalink `index` (below METALINK_MAX) sends.
static inline uint16_t metalink_vlan(unsigned index, unsigned end)
{
    return (uint16_t)(METALINK_VLAN_FIRST + 2 * index + end);
}

// The VLAN in which the other end sends.
static inline uint16_t metalink_vlan_peer(uint16_t vlan)
{
    return vlan ^ 1;
}

// --- forwarder ---
static inline unsigned metalink_hops(const struct rte_mbuf *m)
{
    return m->ol_flags & metalink_flag ? m->hash.sched.color : 0;
}

static inline void metalink_hops_set(struct rte_mbuf *m, unsigned hops)
{
    m->ol_flags |= metalink_flag;
    m->hash.sched.color = (uint8_t)hops;
}

// Copies the count to a fragment of `from`.
static inline void metalink_hops_copy(struct rte_mbuf *to, const struct rte_mbuf *from)
{
    to->ol_flags = (to->ol_flags & ~metalink_flag) | (from->ol_flags & metalink_flag);
    to->hash.sched.color = from->hash.sched.color;
}

#endif
