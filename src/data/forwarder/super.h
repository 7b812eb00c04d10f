// SPDX-License-Identifier: BSD-3-Clause
// super.h - super-packets in the forwarder: where they stay whole, and where they are cut
//
// On the way in, a super-packet is cut if anything is configured that looks at packets one by one;
// otherwise it passes the stages as one packet. Where its way out does not take it, its segments
// leave by themselves: by an exit, or by a port that cannot send it. Interface counters count its
// segments and their bytes on the wire; the ledger counts it once, and its pieces as copies.
#ifndef FORWARDER_SUPER_H
#define FORWARDER_SUPER_H

#include "forwarder/state.h"
#include "table/super.h"

// Looks for super-packets in f->rx, taken from q. Those that must be cut are replaced by their
// segments; if these do not fit in f->rx, it passes all but the last through the stages.
void super_receive(struct forwarder *f, const struct plan_rx *q, struct plan_rx_stats *stats);
// Joins segments in f->rx to super-packets. For a burst of the usual path.
void super_merge(struct forwarder *f);
// Returns the packets that leave b by an exit: `out`, without super-packets whose segments fit the
// next hop, and with super-packets that must not cross the router whole.
uint64_t super_stay(const struct burst *b, uint64_t out);
// Passes the segments of super-packet i of b to their exit, fwd_exit().
void super_exit(struct forwarder *f, struct burst *b, unsigned i);
// Sends packets of a port, some of which are super-packets, by tx_give(); counts their segments.
void super_send(struct forwarder *f, uint16_t port, unsigned owner, struct rte_mbuf **pkt,
                unsigned n);
// A super-packet that super_send has counted for `iface` is dropped for that reason.
void super_uncount(struct forwarder *f, const struct rte_mbuf *m, uint16_t iface,
                   enum drop_reason reason);

#endif
