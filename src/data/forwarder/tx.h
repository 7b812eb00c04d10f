// SPDX-License-Identifier: BSD-3-Clause
// tx.h - passes finished frames to transmit queues
#ifndef FORWARDER_TX_H
#define FORWARDER_TX_H

#include "forwarder/state.h"

void tx_flush(struct forwarder *f); // all ports
// Drops n frames of `port` that their interfaces have counted as sent.
void tx_drop(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n,
             enum drop_reason reason);
// Prepares frames for the device: shows them to watches, and copies them if the device needs it.
// Returns the number of frames left.
unsigned tx_prepare(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n);
// Appends a frame that its interface has counted.
void tx_append(struct forwarder *f, struct rte_mbuf *m, uint16_t port);
// Sends a frame without VLAN tags out of interface `id`, which counts it; `no_room`: drop reason if
// its tags do not fit.
void tx_frame(struct forwarder *f, struct rte_mbuf *m, uint16_t id, enum drop_reason no_room);

#endif
