// SPDX-License-Identifier: BSD-3-Clause
// metalink.h - packets on their way from one end of a metalink to the other
#ifndef FORWARDER_METALINK_H
#define FORWARDER_METALINK_H

#include "forwarder/state.h"

// Bursts that one burst may become: 8 hops of 64 packets, each cut into 16 pieces.
#define METALINK_BURSTS_MAX 128u

// The usual case, without leaving the stages: all packets of b, which are plain, have one next hop,
// over a metalink whose other end does nothing beyond routing. They are received there now and may
// be looked up again; perhaps none is left. False: they take the long way, ether_out.
bool metalink_pass(struct forwarder *f, struct burst *b);
// n finished frames that leave by PORT_METALINK.
void metalink_put(struct forwarder *f, struct rte_mbuf **pkt, unsigned n);
// The next of them, `max` <= BURST_MAX at most, become f->rx. False: there are none.
bool metalink_take(struct forwarder *f, unsigned max);
// Those that are left are dropped: METALINK_FULL.
void metalink_give_up(struct forwarder *f);

#endif
