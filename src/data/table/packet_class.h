// SPDX-License-Identifier: BSD-3-Clause
// packet_class.h - class of a packet given by an access list: 0-7, for its output queue
//
// A rule with `class N` marks the packet (forwarder/acl_act.c), and the queue manager of the output
// port reads the mark before it looks at the packet's DSCP. Ports without a queue manager ignore
// it. The mark stays with the packet while it is held or handed to another forwarder; copies of the
// whole buffer keep it, fragments get it by packet_class_copy.
//
// A bit of ol_flags tells that there is a class. It is a dynamic flag of DPDK, so that no driver
// uses it otherwise; every device driver clears it on receive (net_ring does not, because it hands
// on buffers as they are). The class itself is in hash.sched.traffic_class, which nothing else here
// reads. Both lie in the buffer's first cache line.
#ifndef TABLE_PACKET_CLASS_H
#define TABLE_PACKET_CLASS_H

#include <rte_mbuf.h>
#include <stdint.h>

#define PACKET_CLASS_N 8u
#define PACKET_CLASS_NONE (-1)

extern uint64_t packet_class_flag; // bit of ol_flags; 0 before exchange_init

// --- forwarder ---
static inline void packet_class_set(struct rte_mbuf *m, unsigned class)
{
    m->ol_flags |= packet_class_flag;
    m->hash.sched.traffic_class = (uint8_t)class;
}

// 0 .. PACKET_CLASS_N - 1, or PACKET_CLASS_NONE.
static inline int packet_class_get(const struct rte_mbuf *m)
{
    return m->ol_flags & packet_class_flag ? m->hash.sched.traffic_class : PACKET_CLASS_NONE;
}

// Copies the class to a fragment of `from`.
static inline void packet_class_copy(struct rte_mbuf *to, const struct rte_mbuf *from)
{
    to->ol_flags = (to->ol_flags & ~packet_class_flag) | (from->ol_flags & packet_class_flag);
    to->hash.sched.traffic_class = from->hash.sched.traffic_class;
}

#endif
