// SPDX-License-Identifier: BSD-3-Clause
// idle.c - spin a little, then sleep: the only system call of a forwarder
//
//     mode         spins for    then sleeps
//     performance  ever         -
//     balanced     300 us       20, 40, 80, 100, 100 … us
//     powersave    50 us        50, 100, 200 … 1000 us
//
// A packet ends the pause: the next one starts with spinning again. The longest
// sleep is what the receive queues have to bridge: 100 us at 10 Mpps are 1,000
// packets, less than the 1,024 descriptors a queue has by default; a burst above
// that rate is preceded by packets that keep the forwarder awake. The kernel's timer
// slack (50 us for ordinary threads) is 1 ns for forwarders (core/thread.c), or a sleep of 20 us would last 70.
//
// RCU: offline while asleep, so that writers do not wait for a sleeper.
#include "forwarder/idle.h"

#include <rte_cycles.h>
#include <rte_pause.h>
#include <time.h>

#include "core/rcu.h"
#include "table/plan.h"

#define BALANCED_SPIN_US 300u
#define BALANCED_FIRST_US 20u
#define BALANCED_MAX_US 100u
#define POWERSAVE_SPIN_US 50u
#define POWERSAVE_FIRST_US 50u
#define POWERSAVE_MAX_US 1000u

void idle_init(struct idle *idle)
{
    *idle = (struct idle){.tsc_per_us = rte_get_tsc_hz() / 1000000, .last_packet = rte_rdtsc()};
}

static uint32_t grow(uint32_t last_us, uint32_t first_us, uint32_t max_us)
{
    uint32_t next = last_us ? last_us * 2 : first_us;

    return next < max_us ? next : max_us;
}

uint32_t idle_sleep_us(uint8_t mode, uint64_t idle_us, uint32_t last_us)
{
    if (mode == IDLE_BALANCED && idle_us >= BALANCED_SPIN_US)
        return grow(last_us, BALANCED_FIRST_US, BALANCED_MAX_US);
    if (mode == IDLE_POWERSAVE && idle_us >= POWERSAVE_SPIN_US)
        return grow(last_us, POWERSAVE_FIRST_US, POWERSAVE_MAX_US);
    return 0;
}

void idle_after_poll(struct idle *idle, unsigned taken)
{
    uint64_t now = rte_rdtsc();

    if (taken) {
        idle->last_packet = now;
        idle->sleep_us = 0;
        return;
    }
    uint8_t mode = __atomic_load_n(&plan_idle_mode, __ATOMIC_RELAXED);
    idle->sleep_us = idle_sleep_us(mode, (now - idle->last_packet) / idle->tsc_per_us, idle->sleep_us);
    if (!idle->sleep_us) {
        rte_pause();
        return;
    }
    struct timespec t = {.tv_nsec = (long)idle->sleep_us * 1000};
    rcu_offline();
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    rcu_online();
}
