// SPDX-License-Identifier: BSD-3-Clause
// idle.h - what a forwarder does when there is nothing to forward
//
// Owned by one forwarder thread.
#ifndef FORWARDER_IDLE_H
#define FORWARDER_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct idle {
    uint64_t tsc_per_us;
    uint64_t last_packet; // TSC of the last poll that took packets
    uint32_t sleep_us;    // length of the last sleep in this pause, 0 = none yet
};

void idle_init(struct idle *idle);
// After each poll: `taken` packets. Returns at once, or sleeps as plan_idle_mode says; offline for RCU meanwhile.
void idle_after_poll(struct idle *idle, unsigned taken);

// How long to sleep now: 0 = poll on. `idle_us`: since the last packet; `last_us`: the sleep before, 0 = none.
uint32_t idle_sleep_us(uint8_t mode, uint64_t idle_us, uint32_t last_us);

#endif
