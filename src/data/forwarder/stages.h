// SPDX-License-Identifier: BSD-3-Clause
// stages.h - the stages, in the order of path.c, and path.c itself for record.c and explain.c
#ifndef FORWARDER_STAGES_H
#define FORWARDER_STAGES_H

#include "forwarder/state.h"

// Receives from one queue into f->rx. The number of packets.
unsigned rx(struct forwarder *f, uint16_t port, uint16_t queue);
// f->rx, of one port -> in4, in6, odd4, odd6, local4, local6, or an exit. The bytes of all frames.
uint64_t ether_in(struct forwarder *f, const struct port *port);
// Checks packets that are not plain: they are dropped, punted, or go on.
void ip4_in(struct forwarder *f, struct burst *b);
void ip6_in(struct forwarder *f, struct burst *b);
// What interfaces do beyond routing (b->features).
void features_in(struct forwarder *f, struct burst *b);
void features_behind_list(struct forwarder *f, struct burst *b); // the checks behind access lists
// Next hop for each packet; survivors have an adjacency and a lowered TTL.
void ip4_fwd(struct forwarder *f, struct burst *b);
void ip6_fwd(struct forwarder *f, struct burst *b);
// The same, where an access list has redirected some of them (f->redirected).
void ip4_fwd_redirected(struct forwarder *f, struct burst *b);
void ip6_fwd_redirected(struct forwarder *f, struct burst *b);
// The same without lookup: b->nh is set (BURST_RESUMED).
void ip4_resume(struct forwarder *f, struct burst *b);
void ip6_resume(struct forwarder *f, struct burst *b);
// The same, of tunnels' packets (BURST_TUNNEL).
void ip4_tunnel(struct forwarder *f, struct burst *b);
void ip6_tunnel(struct forwarder *f, struct burst *b);
// Delivers what is ours, drops the rest (BURST_LOCAL).
void ip4_local(struct forwarder *f, struct burst *b);
void ip6_local(struct forwarder *f, struct burst *b);
// Writes the new Ethernet header and puts each packet into its port's tx array.
void ether_out(struct forwarder *f, struct burst *b);
// Takes packets from the kernel, from neigh_manager, and from forwarders without a queue of a port.
// How many.
unsigned inject(struct forwarder *f);

// f->rx, of `port`, through all stages; path_flush() sends what they leave. Recorded: the one frame
// in f->rx, each stage written down (record.h).
void path_usual(struct forwarder *f, const struct port *port, struct plan_rx_stats *stats);
void path_flush(struct forwarder *f);
// b, which has waited for its lookup (gpu_stage.h), through the stages behind it, and sent.
void path_answered(struct forwarder *f, struct burst *b);
// What has waited for its access list: that list, and the checks behind it. Then it is parked
// again.
void path_listed(struct forwarder *f, struct gpu_parked_burst *e);
// f->rx, taken from that queue, through all stages, watches included, and sent.
void path_taken(struct forwarder *f, const struct plan_rx *q);

// The next frame that has left by a metalink or tunnel, or come by a tunnel, takes its stages,
// recorded. False: there is none.
bool path_cross_recorded(struct forwarder *f);
void path_cross_end(struct forwarder *f); // drops those that are left
void path_recorded(struct forwarder *f, const struct port *port, struct plan_rx_stats *stats);

#endif
