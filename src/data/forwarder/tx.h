// SPDX-License-Identifier: BSD-3-Clause
// tx.h - passes finished frames to transmit queues
#ifndef FORWARDER_TX_H
#define FORWARDER_TX_H

#include "forwarder/state.h"
#include "forwarder/tags.h"

void tx_flush(struct forwarder *f); // all ports
// Returns the interface of untagged frames that leave by the port, which may be a LAG's member.
static inline uint16_t tx_iface_own(uint16_t port)
{
    uint8_t lag = __atomic_load_n(&port_get(port)->lag, __ATOMIC_RELAXED);

    return port_get(lag ? lag : port)->untagged;
}
// Returns the interface of a finished frame. A tagged frame has it in the buffer, in place of a tag
// that the device would insert.
static inline uint16_t tx_iface(uint16_t port, const struct rte_mbuf *m)
{
    return tags_begin(m) ? m->vlan_tci : tx_iface_own(port);
}
// Passes n <= BURST_MAX frames to the owner of the port's transmit queue, or where they go instead.
void tx_give(struct forwarder *f, uint16_t port, unsigned owner, struct rte_mbuf **pkt, unsigned n);
// Drops a frame that `iface` has counted as sent.
void tx_drop(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, enum drop_reason reason);
// Prepares frames for the device: shows them to watches, and copies them if the device needs it.
// Returns the number of frames left.
unsigned tx_prepare(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n);
// Appends a frame that `iface` has counted.
void tx_append(struct forwarder *f, struct rte_mbuf *m, uint16_t port, uint16_t iface);
// Sends a frame without VLAN tags out of interface `id`, which counts it; `no_room`: drop reason if
// its tags do not fit.
void tx_frame(struct forwarder *f, struct rte_mbuf *m, uint16_t id, enum drop_reason no_room);

#endif
