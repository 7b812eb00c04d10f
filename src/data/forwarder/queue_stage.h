// SPDX-License-Identifier: BSD-3-Clause
// queue_stage.h - the two halves of a port's queue: packets in, and, by its owner, out
//
// One forwarder owns a queue and alone touches its queue manager. Others put packets into a ring to
// the owner, which takes them out once per poll.
#ifndef FORWARDER_QUEUE_STAGE_H
#define FORWARDER_QUEUE_STAGE_H

#include "forwarder/state.h"
#include "table/port_queue.h"

struct queue_place { // place of a frame in a port's queue
    uint16_t client, iface;
    uint8_t class, ecn;
    const uint8_t *ip; // NULL: neither IPv4 nor IPv6
    uint8_t *tag;      // the innermost tag's control information; NULL: untagged
};
// By its interface, its DSCP and its class of an access list.
struct queue_place queue_place_of(const struct port_queue_settings *s, const struct class_map *map,
                                  uint16_t iface, const struct rte_mbuf *m);

// Hash of the frame's flow; 0: none.
uint32_t queue_flow_hash(const struct rte_mbuf *m);

// Puts n finished frames for `port`, whose tx_owner is PLAN_TX_QUEUE, into its queue, or into the
// ring to its owner. They count as held from now on.
void queue_feed(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n);
// Drops such a frame. Its interface is beside it, as if it were its tag.
void queue_drop(struct forwarder *f, struct rte_mbuf *m, enum drop_reason reason);
// For the owner: puts packets into the queue manager. Returns false if some were dropped, whose
// `packet` is NULL now.
bool queue_put_all(struct forwarder *f, struct port_queue *q, struct queue_packet *p, unsigned n,
                   uint64_t now);
// For the owner: applies the settings to the queue manager.
void queue_settings_apply(struct port_queue *q, const struct port_queue_settings *s, uint64_t now);
// For the owner: sends to the device; keeps refused packets first in line.
void queue_device_send(struct forwarder *f, struct port_queue *q, uint16_t port,
                       struct rte_mbuf **pkt, unsigned n);
// For the owner: takes a burst out of a ring. Returns the number.
unsigned queue_ring_take(struct forwarder *f, struct port_queue *q,
                         const struct port_queue_settings *s, struct rte_ring *ring, uint64_t now);
// Serves our queues: takes packets from feeders and sends packets that are due. Returns the number
// of packets sent. Sets f->queue_due.
unsigned queue_serve(struct forwarder *f);

#endif
