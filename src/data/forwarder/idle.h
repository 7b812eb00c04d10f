// SPDX-License-Identifier: BSD-3-Clause
// idle.h - sleeping of a forwarder thread when there is nothing to forward
#ifndef FORWARDER_IDLE_H
#define FORWARDER_IDLE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "table/plan.h"

struct idle {
    unsigned forwarder; // its index
    bool can_nap;       // the CPU can pause until a given time (WAITPKG)
    bool deaf; // enabling a receive interrupt failed: the queues are polled in this pause
    uint32_t armed;     // serial of the plan whose receive interrupts are enabled, 0 = none
    uint8_t in_vain;    // sleeps in a row that a queue ended without a packet
    uint32_t sleep_us;  // length of the last sleep in this pause, 0 = none yet
    uint32_t n_sleeps;  // in this pause
    uint32_t cost_ns;   // CPU time of one sleep and the next poll, 0 = not known yet
    uint64_t cpu_ns;    // CPU time of the thread at the last measurement of cost_ns
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
    uint64_t silence_us;  // since the last packet that was not one of a few
    uint32_t last_us;     // previous sleep, 0 = none
    uint32_t cost_ns;     // CPU time of a sleep, 0 = not known
    uint32_t descriptors; // of the smallest queue
};
// How long to sleep now if queues have to be polled: 0 = keep polling.
uint32_t idle_sleep_us(uint8_t mode, const struct idle_pause *p);

#endif
