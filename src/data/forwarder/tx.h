// SPDX-License-Identifier: BSD-3-Clause
// tx.h - passes finished frames to transmit queues
#ifndef FORWARDER_TX_H
#define FORWARDER_TX_H

#include <string.h>

#include "forwarder/state.h"

void tx_flush(struct forwarder *f); // all ports
// The interface of a frame in f->tx_pkt[port], beside which `iface` is in f->tx_iface[port].
static inline uint16_t tx_iface_of(uint16_t port, uint16_t iface)
{
    return iface ? iface : port_get(port)->untagged;
}
// Drops a frame that `iface` has counted as sent.
void tx_drop(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, enum drop_reason reason);
// Prepares frames for the device: shows them to watches, and copies them if the device needs it.
// iface: as in f->tx_iface[port]; NULL: beside each frame, as in a queue. Returns the number of
// frames left.
unsigned tx_prepare(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, uint16_t *iface,
                    unsigned n);
// Empties f->tx_pkt[port].
static inline void tx_clear(struct forwarder *f, uint16_t port)
{
    const uint64_t word = f->tx_word[port];

    if (unlikely(tx_word_n(word) != (word >> 16 & 0xffff))) // not all are of the port's own
        memset(f->tx_iface[port], 0, tx_word_n(word) * sizeof *f->tx_iface[port]);
    f->tx_word[port] = 0;
}
// Appends a frame that `iface` has counted.
void tx_append(struct forwarder *f, struct rte_mbuf *m, uint16_t port, uint16_t iface);
// Sends a frame without VLAN tags out of interface `id`, which counts it; `no_room`: drop reason if
// its tags do not fit.
void tx_frame(struct forwarder *f, struct rte_mbuf *m, uint16_t id, enum drop_reason no_room);

#endif
