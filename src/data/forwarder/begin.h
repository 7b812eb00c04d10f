// SPDX-License-Identifier: BSD-3-Clause
// begin.h - polls while the routes are not known yet (plan_begin)
//
// Control packets for the interface by which they came go up at once: neighbors and routing
// protocols wait for nobody. All others are kept, up to BEGIN_KEPT_MAX, and take the stages when
// the routes are known; what does not fit is dropped, START_FULL. Called by path.c and main.c.
#ifndef FORWARDER_BEGIN_H
#define FORWARDER_BEGIN_H

#include "forwarder/state.h"

// Receives from all queues of the plan. How many packets.
unsigned begin_poll(struct forwarder *f, uint8_t begin);
// What is kept takes the stages. How many packets.
unsigned begin_forward_kept(struct forwarder *f);

#endif
