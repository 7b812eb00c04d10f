// SPDX-License-Identifier: BSD-3-Clause
// watch.h - showing frames to watches (table/watch.h); called when some watch has its bit there
#ifndef FORWARDER_WATCH_H
#define FORWARDER_WATCH_H

#include "forwarder/state.h"
#include "table/watch.h"

// Shows f->rx. False: only samples were taken.
bool watch_received(struct forwarder *f, uint16_t port);
// Watches `bits`, which sample, take their samples of f->rx.
void watch_sample(struct forwarder *f, uint16_t port, uint32_t bits);
// All of one port.
void watch_sent(struct forwarder *f, uint16_t port, struct rte_mbuf *const *pkt, unsigned n);
void watch_dropped(struct forwarder *f);                                                  // f->dead
// One frame that came in by `iface`, for watch `index` alone: of an access list.
void watch_one(struct forwarder *f, unsigned index, struct rte_mbuf *m, uint16_t iface);
// Frames for watch `index`, which leads to a port.
void mirror(struct forwarder *f, unsigned index, struct rte_mbuf *const *pkt,
            const struct watch_tag *tag, unsigned n);
void watch_punted(struct forwarder *f); // f->punt[]

#endif
