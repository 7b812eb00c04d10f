// SPDX-License-Identifier: BSD-3-Clause
// queue_stage.h - the two halves of a port's queue: packets in, and, by its owner, out
#ifndef FORWARDER_QUEUE_STAGE_H
#define FORWARDER_QUEUE_STAGE_H

#include "forwarder/state.h"
#include "table/port_queue.h"

struct queue_place { // where a frame goes in a port's queue
    uint16_t client, iface;
    uint8_t class, ecn;
    const uint8_t *ip; // NULL: neither IPv4 nor IPv6
    uint8_t *tag;      // the innermost tag's control information; NULL: untagged
};
// By its tags, its DSCP and what an access list said. `port`: has the interfaces, so of a LAG's
// member the LAG.
struct queue_place queue_place_of(const struct port_queue_settings *s, const struct port *port,
                                  const struct rte_mbuf *m);

// Of the frame's flow; 0: it has none.
uint32_t queue_flow_hash(const struct port_queue_settings *s, uint16_t port,
                         const struct rte_mbuf *m);

// n finished frames for `port`, whose tx_owner is PLAN_TX_QUEUE: into its queue, or into the ring
// to its owner. Counted as held from now on.
void queue_feed(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n);
// For the owner: puts them into the queue manager. False: some were dropped, whose `packet` is NULL
// now.
bool queue_put_all(struct forwarder *f, struct port_queue *q, uint16_t port, struct queue_packet *p,
                   unsigned n, uint64_t now);
// For the owner: the queue manager is as the settings say from now on.
void queue_settings_apply(struct port_queue *q, const struct port_queue_settings *s, uint64_t now);
// For the owner: to the device; what it does not take is kept, and is first in line.
void queue_device_send(struct forwarder *f, struct port_queue *q, uint16_t port,
                       struct rte_mbuf **pkt, unsigned n);
// For the owner: takes over a burst out of a ring. How many.
unsigned queue_ring_take(struct forwarder *f, struct port_queue *q, uint16_t port,
                         const struct port_queue_settings *s, struct rte_ring *ring, uint64_t now);
// The queues that are ours: takes over what others feed and sends what may leave. How many packets
// were sent. Sets f->queue_due.
unsigned queue_serve(struct forwarder *f);

#endif
