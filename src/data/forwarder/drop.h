// SPDX-License-Identifier: BSD-3-Clause
// drop.h - ends packets, with a reason
//
// Ended packets are collected; dead_flush() frees their buffers once per burst.
#ifndef FORWARDER_DROP_H
#define FORWARDER_DROP_H

#include "forwarder/packet.h"
#include "forwarder/state.h"

// The end of a packet, for watches: bits 0-7 enum drop_reason, NONE = no longer needed; 8-23
// interface; 24 it starts at its IP header.
static inline uint32_t dead_word(uint16_t iface, enum drop_reason reason, bool bare)
{
    return (uint32_t)reason | (uint32_t)iface << 8 | (uint32_t)bare << 24;
}
_Static_assert(DROP_N <= 256, "dead_word");

void dead_flush(struct forwarder *f);

// Gives up the buffer of `m`.
static inline void packet_end(struct forwarder *f, struct rte_mbuf *m, uint32_t word)
{
    if (unlikely(f->dead.n == COLLECT_MAX))
        dead_flush(f);
    f->dead_why[f->dead.n] = word;
    f->dead.pkt[f->dead.n++] = m;
}

// Counts a packet, or a copy that was not made, as dropped. The ledger must have counted it before.
static inline void drop_count(struct forwarder *f, uint16_t iface, enum drop_reason reason)
{
    iface_count_drop(f->counter, iface, reason);
}

// Counts n more packets, made of one that came in by (or leaves by) `iface`.
static inline void count_copies(struct forwarder *f, uint16_t iface, unsigned n)
{
    f->counter->inject += n;
    f->counter->vr[iface_get(iface)->vr].copies += n;
}

// Drops packet `m`, which came in by (or was to leave by) `iface`, 0 = none.
static inline void packet_drop(struct forwarder *f, struct rte_mbuf *m, uint16_t iface,
                               enum drop_reason reason)
{
    drop_count(f, iface, reason);
    packet_end(f, m, dead_word(iface, reason, false));
}

// The same for a packet without an Ethernet header: it starts at its IP header.
static inline void packet_drop_bare(struct forwarder *f, struct rte_mbuf *m, uint16_t iface,
                                    enum drop_reason reason)
{
    drop_count(f, iface, reason);
    packet_end(f, m, dead_word(iface, reason, true));
}

// Drops packet i of b, with or without an Ethernet header: packets that were held, made by us, or
// are about to be fragmented have none.
static inline void packet_drop_of(struct forwarder *f, const struct burst *b, unsigned i,
                                  enum drop_reason reason)
{
    drop_count(f, b->iface[i], reason);
    packet_end(f, b->pkt[i], dead_word(b->iface[i], reason, !packet_l2_len(b->pkt[i], b->ip[i])));
}

#endif
