// SPDX-License-Identifier: BSD-3-Clause
// tx.h - finished frames on their way to a port's transmit queue
#ifndef FORWARDER_TX_H
#define FORWARDER_TX_H

#include "forwarder/state.h"

void tx_flush(struct forwarder *f); // all of them
// n frames of `port` that end here, though their interfaces have counted them as sent.
void tx_drop(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n,
             enum drop_reason reason);
// What is done with frames right before the device gets them: they are shown to watches, and copied
// where the device wants it. How many there are then.
unsigned tx_prepare(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n);
// One frame that its interface has counted.
void tx_append(struct forwarder *f, struct rte_mbuf *m, uint16_t port);
// One frame without VLAN tags, out of interface `id`, which counts it; `no_room`: why it is dropped
// if its tags do not fit.
void tx_frame(struct forwarder *f, struct rte_mbuf *m, uint16_t id, enum drop_reason no_room);

#endif
