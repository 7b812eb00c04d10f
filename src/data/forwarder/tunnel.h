// SPDX-License-Identifier: BSD-3-Clause
// tunnel.h - packets into tunnels and out of them
#ifndef FORWARDER_TUNNEL_H
#define FORWARDER_TUNNEL_H

#include "core/rcu.h"
#include "forwarder/state.h"
#include "table/tunnel.h"

// --- out: tunnel_out.c ---
// n finished frames that leave by a port of tunnels.
void tunnel_put(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n);
// At most `max` <= BURST_MAX of them get their outer header and become f->outer4 and f->outer6.
// False: there were none.
bool tunnel_take_out(struct forwarder *f, unsigned max);

// The usual case, without becoming frames of a port of tunnels: of the packets of b, which are
// plain, those that leave by tunnels are f->outer4 or f->outer6 then, or finished frames, and no
// longer in b. Those that are left take the long way, ether_out.
void tunnel_pass(struct forwarder *f, struct burst *b);

// --- in: tunnel_in.c ---
static inline bool tunnel_any(void)
{
    return rcu_load(&tunnel_index);
}

// Of the packets `of` of b, those that are addressed to us and a tunnel's are taken, or dropped
// with a reason. The mask of the others.
uint64_t tunnel_take(struct forwarder *f, struct burst *b, uint64_t of);
// At most `max` of the packets so taken become f->rx, received by the port that it returns, which
// stands for f->tunnel_in_port. NULL: there are none.
const struct port *tunnel_take_in(struct forwarder *f, unsigned max);

// Those that are left are dropped: TUNNEL_FULL.
void tunnel_give_up(struct forwarder *f);

#endif
