// SPDX-License-Identifier: BSD-3-Clause
// stages.h - the stages, in the order of path.c, and the functions of path.c
#ifndef FORWARDER_STAGES_H
#define FORWARDER_STAGES_H

#include "forwarder/state.h"

// Receives from one queue into f->rx. Returns the number of packets.
unsigned rx(struct forwarder *f, uint16_t port, uint16_t queue);
// Divides f->rx, of one port, into in4, in6, odd4, odd6, local4, local6, or exits. Returns the
// bytes of all frames.
uint64_t ether_in(struct forwarder *f, const struct port *port);
// Checks packets that are not plain: they are dropped, punted, or continue.
void ip4_in(struct forwarder *f, struct burst *b);
void ip6_in(struct forwarder *f, struct burst *b);
// Checks of input interfaces beyond routing (b->features).
void checks_in(struct forwarder *f, struct burst *b);
// Chooses each packet's next hop; survivors have an adjacency and a decremented TTL.
void ip4_fwd(struct forwarder *f, struct burst *b);
void ip6_fwd(struct forwarder *f, struct burst *b);
// The same without lookup: b->nh is set (BURST_RESUMED).
void fwd_resume(struct forwarder *f, struct burst *b);
// The same for packets of tunnels (BURST_TUNNEL).
void ip4_tunnel(struct forwarder *f, struct burst *b);
void ip6_tunnel(struct forwarder *f, struct burst *b);
// Delivers packets for us, drops the others (BURST_LOCAL).
void fwd_local(struct forwarder *f, struct burst *b);
// Checks of output interfaces, for bursts with IFACE_ACL_OUT.
void checks_out(struct forwarder *f, struct burst *b);
// Writes the new Ethernet header and appends each packet to its port's tx array.
void ether_out(struct forwarder *f, struct burst *b);
// The same for packets with labels.
void ether_out_labels(struct forwarder *f, struct burst *b);
// The same for packets whose frames begin elsewhere than they did, b->l2 bytes ahead of them.
void ether_out_moved(struct forwarder *f, struct burst *b);
// Puts labels in front of the IP packets whose next hop is ENCAP and whose neighbor takes them, and
// appends these to their ports' tx arrays. `lower`: their TTL is still to be lowered. Returns the
// mask of the others, which stay.
uint64_t ether_out_push(struct forwarder *f, const struct burst *b, bool lower);
// Takes packets from the kernel, from neigh_manager, and from forwarders without a queue of a port.
// Returns the number.
unsigned inject(struct forwarder *f);

// --- begin.c: polls before the routes are known (plan_begin) ---

// Receives from all queues of the plan. Control packets for their input interface are punted at
// once: neighbors and routing protocols must not wait. All others are kept, up to BEGIN_KEPT_MAX,
// and pass the stages when the routes are known; packets beyond that are dropped, START_FULL.
// Returns the number of packets.
unsigned begin_poll(struct forwarder *f, uint8_t begin);
// Passes kept packets through the stages. Returns the number of packets.
unsigned begin_forward_kept(struct forwarder *f);

// --- measure.c: one burst in LATENCY_TIMED is timed ---

// Starts timing a burst of n packets, taken from q since f->lap.
void measure_start(struct forwarder *f, const struct plan_rx *q, unsigned n);
// n packets have passed a stage: its counter gets the cycles since the previous one.
void measure_stage(struct forwarder *f, enum stage stage, unsigned n);
// Sends the n packets left by the burst, and records their latency for each port, if configured.
void measure_tx_flush(struct forwarder *f, unsigned n);

// --- trial.c: explain's packet gets the attributes that a commit would give (table/trial.h) ---
// While f->trial is set. The packet comes in by its real interface, and goes on by it after the
// checks: only these see the other attributes.

// Before and after checks_in. The packet also gets the virtual router of the trial.
void trial_in(struct forwarder *f, struct burst *b);
void trial_in_over(struct burst *b);
// Instead of checks_out: packet by packet, with the attributes of the output.
void trial_checks_out(struct forwarder *f, struct burst *b);
// The entry with the attributes of output interface `id`.
uint16_t trial_out(struct forwarder *f, uint16_t id);
// With routes of an earlier time: chooses the packet's next hop, ahead of the lookup.
void trial_route(struct forwarder *f, struct burst *b);
uint32_t trial_source(const struct forwarder *f, const struct burst *b); // the source's, for uRPF
uint32_t trial_nexthop_to(const struct forwarder *f, const struct ip_addr *to, uint16_t vr);
// Completes a lookup whose next hop is in an entry: its id of then, its neighbor.
void trial_lookup(const struct forwarder *f, struct packet_trace_lookup *l);
void trial_end(void); // empties the entries

// --- path.c ---

// Passes the n packets of f->rx, taken from that queue, through all stages, including watches, and
// sends them. Timed: f->lap is the time before they were taken.
void path_queue_usual(struct forwarder *f, const struct plan_rx *q, unsigned n);
void path_queue_timed(struct forwarder *f, const struct plan_rx *q, unsigned n);
// Passes b, which has waited for its lookup (table/lookaside.h), through the remaining stages, and
// sends it.
void path_answered(struct forwarder *f, struct burst *b);

// These leave the results to path_flush(). f->rx, of `port`; recorded: the one frame in it, with
// each stage recorded (record.h).
void path_usual(struct forwarder *f, const struct port *port, struct plan_rx_stats *stats);
void path_recorded(struct forwarder *f, const struct port *port, struct plan_rx_stats *stats);
// The first packets of a burst, in f->rx, with watches and traces; sends them and empties f->rx.
void path_part(struct forwarder *f, const struct plan_rx *q, struct plan_rx_stats *stats);
// Packets that may only be delivered here, and our ICMP errors.
void path_local_usual(struct forwarder *f);
// f->outer4 and f->outer6, outer packets of tunnels.
void path_outer_usual(struct forwarder *f);
void path_outer_recorded(struct forwarder *f);
void path_flush(struct forwarder *f);
// Counts the packets of b, whose next hops are known, as f->counting says.
void path_count(struct forwarder *f, const struct burst *b);

#endif
