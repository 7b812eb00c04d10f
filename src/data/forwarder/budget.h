// SPDX-License-Identifier: BSD-3-Clause
// budget.h - divides an overloaded core fairly between virtual routers
//
// An overloaded core leaves packets in its receive queues, which then overflow for all virtual
// routers: a single flooded one would cost the others their packets. While bursts are full, each
// virtual router gets its share of the core, by weight, plus capacity that others leave unused
// (max-min fairness); packets beyond that are dropped right after ether_in, where they have cost
// least. Nothing is dropped while the core keeps up, or while no virtual router clearly exceeds its
// share.
//
// Windows of a millisecond are judged by counters that exist anyway. Packets are counted by virtual
// router in one full window of 64, and in each window while one is limited; never if there is only
// one virtual router.
#ifndef FORWARDER_BUDGET_H
#define FORWARDER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "table/limits.h"

struct forwarder;

struct budget {
    bool on;          // packets are counted in this window
    bool limits;      // some virtual router is limited
    uint8_t probe;    // full windows until packets are counted again
    uint64_t ends;    // TSC at the end of this window
    uint64_t off_at;  // TSC when limits end, unless another window is full
    // Counters at the start of the window.
    uint64_t bursts, full, idle, rx;
    uint32_t dropped;  // packets over budget, in this window
    uint32_t capacity; // packets that the core forwards in a window
    uint16_t n_active;
    uint16_t active[VR_MAX]; // virtual routers with packets in this window
    uint32_t offered[VR_MAX], limit[VR_MAX]; // packets per window
};

// Ends the window when f->now is past budget.ends: once per millisecond.
void budget_window(struct forwarder *f);
// Drops packets over budget from the bursts that ether_in has filled.
void budget_spend(struct forwarder *f);

#endif
