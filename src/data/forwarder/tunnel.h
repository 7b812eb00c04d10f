// SPDX-License-Identifier: BSD-3-Clause
// tunnel.h - encapsulation into tunnels and decapsulation
#ifndef FORWARDER_TUNNEL_H
#define FORWARDER_TUNNEL_H

#include "base/ip_proto.h"
#include "core/rcu.h"
#include "forwarder/state.h"
#include "table/tunnel.h"

// --- out: tunnel_out.c ---
// May some packet of b, which has next hops, leave by a tunnel?
static inline bool burst_enters_tunnels(const struct burst *b)
{
    return b->out_ports & ((1ull << TUNNEL_PORTS) - 1) << PORT_TUNNEL;
}
// Encapsulates at most `max` <= BURST_MAX frames of ports of tunnels into f->outer4 and f->outer6.
// Returns false if there were none.
bool tunnel_take_out(struct forwarder *f, unsigned max);

// The fast path, without frames of a port of tunnels: encapsulates packets of b, which are plain,
// that leave by tunnels, into f->outer4 and f->outer6, and removes them from b. Remaining packets
// take the slow path, ether_out.
void tunnel_pass(struct forwarder *f, struct burst *b);

// --- in: tunnel_in.c ---
static inline bool tunnel_any(void)
{
    return rcu_load(&tunnel_index);
}

// Takes or drops those packets `of` of b that are addressed to us and belong to a tunnel. Returns
// the mask of the others.
uint64_t tunnel_take(struct forwarder *f, struct burst *b, uint64_t of);
// Moves at most `max` of these packets to f->rx. Returns the receiving port, which stands for
// f->tunnel_in_port; NULL: none.
const struct port *tunnel_take_in(struct forwarder *f, unsigned max);
// Drops such a packet: TUNNEL_FULL.
void tunnel_drop_in(struct forwarder *f, struct rte_mbuf *m);

// --- tunnel encapsulation limits: tunnel_limit.c ---
// Can an IPv6 header of that kind contain a limit, or precede one?
static inline bool tunnel_limit_may_be(uint8_t proto)
{
    return proto == PROTO_HOPOPTS || proto == PROTO_ROUTING || proto == PROTO_DSTOPTS;
}
// Offset of the packet's limit from its IPv6 header; 0: none.
uint32_t tunnel_limit_at(const uint8_t *ip, uint32_t readable);
// Ends IPv6 packets of b, which have next hops, that would enter a tunnel in spite of a limit of 0.
void tunnel_limits(struct forwarder *f, struct burst *b);

#endif
