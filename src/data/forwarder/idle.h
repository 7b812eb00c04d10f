// SPDX-License-Identifier: BSD-3-Clause
// idle.h - what a forwarder thread does when there is nothing to forward
#ifndef FORWARDER_IDLE_H
#define FORWARDER_IDLE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "table/plan.h"

struct idle {
    unsigned forwarder; // its index
    bool can_nap;       // the CPU can pause until a time (WAITPKG)
    bool deaf; // a receive interrupt could not be switched on: the queues are polled in this pause
    uint32_t armed;     // serial of the plan whose receive interrupts are on, 0 = none
    uint8_t in_vain;    // sleeps in a row that a queue ended without having a packet
    uint32_t sleep_us;  // length of the last sleep in this pause, 0 = none yet
    uint32_t n_sleeps;  // in this pause
    uint32_t cost_ns;   // CPU time of one sleep and the poll after it, 0 = not known yet
    uint64_t cpu_ns;    // CPU time of the thread when cost_ns was last looked at
    uint64_t tsc_per_us;
    uint64_t last_packet; // TSC of the last poll that took packets
    uint64_t last_busy;   // TSC of the last packet that was not one of a few
    uint32_t n_few;       // packets since the last second of silence
    struct pollfd fd[1 + PLAN_RX_MAX];
};

void idle_init(struct idle *idle, unsigned forwarder);
// After each poll: `taken` packets. Returns at once, or sleeps as plan_idle_mode says, but not
// beyond `due` (TSC), when there is something to send; offline for RCU meanwhile.
void idle_after_poll(struct idle *idle, unsigned taken, uint64_t due);

struct idle_pause {
    uint64_t idle_us;     // since the last packet
    uint64_t silence_us;  // since the last but for a few
    uint32_t last_us;     // the sleep before, 0 = none
    uint32_t cost_ns;     // CPU time of a sleep, 0 = not known
    uint32_t descriptors; // of the queue that has the fewest
};
// How long to sleep now when queues have to be polled: 0 = poll on.
uint32_t idle_sleep_us(uint8_t mode, const struct idle_pause *p);

#endif
