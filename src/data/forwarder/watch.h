// SPDX-License-Identifier: BSD-3-Clause
// watch.h - shows frames to watches (table/watch.h); call it when some watch has its bit there
#ifndef FORWARDER_WATCH_H
#define FORWARDER_WATCH_H

#include "forwarder/state.h"
#include "table/watch.h"

// Shows f->rx. Returns false if only samples were taken.
bool watch_received(struct forwarder *f, uint16_t port);
// Takes samples of f->rx for the watches in `bits`.
void watch_sample(struct forwarder *f, uint16_t port, uint32_t bits);
// All frames are of one port.
void watch_sent(struct forwarder *f, uint16_t port, struct rte_mbuf *const *pkt, unsigned n);
void watch_dropped(struct forwarder *f);                                                  // f->dead
// Shows packet i of b to the watch of a mirror session (table/acl_target.h), if it still has a
// frame: for a rule of an access list, or a program.
void watch_mirror(struct forwarder *f, const struct burst *b, unsigned i, uint16_t session);
// Sends copies of frames for watch `index`, which leads to a port.
void mirror(struct forwarder *f, unsigned index, struct rte_mbuf *const *pkt,
            const struct watch_tag *tag, unsigned n);
void watch_punted(struct forwarder *f); // f->punt[]

#endif
