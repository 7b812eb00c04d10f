// SPDX-License-Identifier: BSD-3-Clause
// begin.h - polls before the routes are known (plan_begin)
//
// Control packets for their input interface are punted at once: neighbors and routing protocols
// must not wait. All others are kept, up to BEGIN_KEPT_MAX, and pass the stages when the routes are
// known; packets beyond that are dropped, START_FULL. Called by poll.c and main.c.
#ifndef FORWARDER_BEGIN_H
#define FORWARDER_BEGIN_H

#include "forwarder/state.h"

// Receives from all queues of the plan. Returns the number of packets.
unsigned begin_poll(struct forwarder *f, uint8_t begin);
// Passes kept packets through the stages. Returns the number of packets.
unsigned begin_forward_kept(struct forwarder *f);

#endif
