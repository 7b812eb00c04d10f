// SPDX-License-Identifier: BSD-3-Clause
// budget.h - a share of the core for each virtual router, while the core cannot keep up
//
// A core that cannot keep up leaves packets in receive queues, which then overflow for everybody:
// one flooded virtual router would cost all others their packets. While bursts are full, each
// virtual router gets its share of the core, by weight, and what others leave of theirs (max-min
// fairness); what it sends above that is dropped right behind ether_in, where a packet has cost
// least. Nothing is dropped while the core keeps up, or while no virtual router is clearly above
// its share.
//
// A window of a millisecond is judged by counters that exist anyway. Packets are counted by virtual
// router in one full window of 64, and in each while one is limited; never where there is only one
// virtual router.
#ifndef FORWARDER_BUDGET_H
#define FORWARDER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "table/limits.h"

struct forwarder;

struct budget {
    bool on;          // packets are counted in this window
    bool limits;      // somebody is limited
    uint8_t probe;    // full windows until packets are counted again
    uint64_t ends;    // TSC: of this window
    uint64_t off_at;  // TSC: no window was full since so long that limits end
    // Counters at its start.
    uint64_t bursts, full, idle, rx;
    uint32_t dropped;  // packets over budget, in this window
    uint32_t capacity; // packets that the core forwards in a window
    uint16_t n_active;
    uint16_t active[VR_MAX]; // that have packets in this window
    uint32_t offered[VR_MAX], limit[VR_MAX]; // packets in a window
};

// Ends the window: f->now is behind budget.ends. Once in a millisecond.
void budget_window(struct forwarder *f);
// Drops what is over budget from the bursts that ether_in has filled.
void budget_spend(struct forwarder *f);

#endif
