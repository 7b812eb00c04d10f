// SPDX-License-Identifier: BSD-3-Clause
// metalink.h - metalinks: pairs of interfaces joined inside the forwarder
//
// Port PORT_METALINK has no device: what is sent by it is received by it, in the same forwarder
// (forwarder/metalink.c). A metalink is a pair of VLANs of that port, 2k and 2k + 1. Each end tags
// what it sends with its own VLAN, and frames with that tag lead to the other end: so the stages
// need to know nothing of metalinks, and a frame says by itself where it goes.
//
// How many metalinks a packet has passed travels with it: a bit of ol_flags says that it has passed
// any (as table/packet_class.h), the number is hash.sched.color, which nobody else here reads. Both
// lie in the buffer's first cache line. A packet that is held keeps its number, pieces get it by
// metalink_hops_copy, and an ICMP error begins at 0: it finds its way back as far as the packet
// has come.
#ifndef TABLE_METALINK_H
#define TABLE_METALINK_H

#include <rte_mbuf.h>
#include <stdint.h>

#include "table/limits.h"

#define METALINK_HOPS_MAX 8u
#define METALINK_VLAN_FIRST 2u

extern uint64_t metalink_flag; // of ol_flags; 0 before metalink_init

// Registers the flag. exchange_init calls it; again is fine. 0 or -errno.
int metalink_init(void);

// The VLAN of metalink `index`, below METALINK_MAX, that its first or second end sends with.
static inline uint16_t metalink_vlan(unsigned index, unsigned end)
{
    return (uint16_t)(METALINK_VLAN_FIRST + 2 * index + end);
}

// The VLAN that the other end sends with.
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

// A piece of `from` has passed as many.
static inline void metalink_hops_copy(struct rte_mbuf *to, const struct rte_mbuf *from)
{
    to->ol_flags = (to->ol_flags & ~metalink_flag) | (from->ol_flags & metalink_flag);
    to->hash.sched.color = from->hash.sched.color;
}

#endif
