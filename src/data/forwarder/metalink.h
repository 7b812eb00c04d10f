// SPDX-License-Identifier: BSD-3-Clause
// metalink.h - passes packets from one end of a metalink to the other (table/metalink.h)
//
// For a forwarder, inside a burst. Packets stay on the forwarder; how often they may cross is
// limited in each packet.
#ifndef FORWARDER_METALINK_H
#define FORWARDER_METALINK_H

#include "forwarder/state.h"

// Bursts that can result from one burst: 8 hops of 64 packets, each cut into 16 fragments.
#define METALINK_BURSTS_MAX 128u

// The fast path, inside the stages: all packets of b, which are plain, have one next hop, over a
// metalink whose other end does nothing beyond routing. They are now received there and may be
// looked up again; b may be empty. Returns false if they have to take the slow path, ether_out.
bool metalink_pass(struct forwarder *f, struct burst *b);
// Moves up to `max` <= BURST_MAX of the next frames to f->rx. Returns false if there are none.
bool metalink_take(struct forwarder *f, unsigned max);

#endif
