// SPDX-License-Identifier: BSD-3-Clause
// idle.c - spin a little, then sleep until there is something to do
//
//     mode         spins for    then sleeps until woken, or, when a queue has to be polled, for
//     performance  ever         -
//     balanced     300 us       20, 40, 80, 100, 100 … us; then up to a thousandth of the silence so far, and no
//                               longer than keeps the CPU 2 % busy: 100 … 1000 us
//     powersave    50 us        50, 100, 200 … 1000 us
//
// A packet ends the pause: the next one starts with spinning again.
//
// Woken: every queue of the plan has a file that becomes readable with a packet
// (a packet socket; plan.h), so ppoll() waits for all of them and for the eventfd
// by which others say that they have put something into our inject ring, changed the plan
// or want us to stop (core/waker.h). Such a sleep costs nothing however long it is; it ends
// after WOKEN_MAX_US at the latest, so that the watchdog sees us alive. The first packet waits for the
// kernel's wake-up, some 10 us, and those behind it for that long in the ring.
//
// Polled: a queue without such a file (memif, net_ring, null) has to bridge the longest
// sleep. 100 us at 10 Mpps are 1,000 packets, less than the 1,024 descriptors a queue has by default. In a long
// silence sleeps get longer, because each costs 3 us of CPU on one machine and 30 us on another
// (a virtual one, where timers and idling are the hypervisor's): 1 ms bridges 1 Mpps. What begins
// at more than that, out of a silence of a second, needs `performance` or more descriptors.
//
// A file that is readable when its queue has nothing (a device with an error, a driver out of
// buffers) would make sleeping a busy loop: after two sleeps in vain files are not looked at until
// a packet comes.
//
// The kernel's timer slack (50 us for ordinary threads) is 1 ns for forwarders (core/thread.c), or a sleep of
// 20 us would last 70. While spinning a CPU that can (WAITPKG) pauses for 1 us at a time, which saves power and leaves
// the core's other hyper-thread its units. RCU: offline while asleep, so that writers do not wait for a sleeper.
#define ALLOW_EXPERIMENTAL_API // rte_power_pause
#include "forwarder/idle.h"

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_pause.h>
#include <rte_power_intrinsics.h>
#include <sys/socket.h>
#include <time.h>

#include "core/rcu.h"
#include "table/exchange.h"

#define SILENCE_SHARE 1000u // the silence so far is at least as many times as long as a sleep
#define SILENT_MAX_US 1000u
#define CPU_SHARE 50u // a sleep is as many times as long as what it costs
#define COST_SLEEPS 64u
#define WOKEN_MAX_US 100000u
#define IN_VAIN_MAX 2

static const struct schedule {
    uint32_t spin_us, first_us, max_us;
} schedules[] = {
    [IDLE_BALANCED] = {300, 20, 100},
    [IDLE_POWERSAVE] = {50, 50, 1000},
};

void idle_init(struct idle *idle, unsigned forwarder)
{
    struct rte_cpu_intrinsics cpu;

    rte_cpu_get_intrinsics_support(&cpu);
    *idle = (struct idle){.forwarder = forwarder,
                          .can_nap = cpu.power_pause,
                          .tsc_per_us = rte_get_tsc_hz() / 1000000,
                          .last_packet = rte_rdtsc()};
}

static uint32_t within(uint64_t us, uint32_t least, uint32_t most)
{
    return us < least ? least : us < most ? (uint32_t)us : most;
}

uint32_t idle_sleep_us(uint8_t mode, uint64_t idle_us, uint32_t last_us, uint32_t cost_ns)
{
    const struct schedule *s = &schedules[mode];
    uint32_t max_us = s->max_us;

    if (mode == IDLE_PERFORMANCE || idle_us < s->spin_us)
        return 0;
    if (mode == IDLE_BALANCED) {
        uint64_t cheap_us = cost_ns * (uint64_t)CPU_SHARE / 1000, bold_us = idle_us / SILENCE_SHARE;
        max_us = within(cheap_us < bold_us ? cheap_us : bold_us, s->max_us, SILENT_MAX_US);
    }
    return within(last_us * 2, s->first_us, max_us);
}

// What sleeps cost here and now, measured over COST_SLEEPS of them.
static void cost_measure(struct idle *idle)
{
    struct timespec t;

    if (idle->n_sleeps++ % COST_SLEEPS)
        return;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    uint64_t cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    if (idle->n_sleeps > 1)
        idle->cost_ns = (uint32_t)((cpu_ns - idle->cpu_ns) / COST_SLEEPS);
    idle->cpu_ns = cpu_ns;
}

// Fills idle->fd[0..*n) and says how long to sleep.
static uint32_t sleep_prepare(struct idle *idle, const struct plan *plan, uint32_t polled_us, unsigned *n)
{
    bool heed = idle->in_vain < IN_VAIN_MAX;

    idle->fd[0] = (struct pollfd){.fd = forwarder_slot[idle->forwarder].waker.fd, .events = POLLIN};
    *n = 1;
    for (unsigned i = 0; heed && plan && i < plan->n_wait; i++)
        idle->fd[(*n)++] = (struct pollfd){.fd = plan->wait_fd[i], .events = POLLIN};
    return !plan || (heed && plan->n_wait == plan->n_rx) ? WOKEN_MAX_US : polled_us;
}

static bool is_wanted(const struct idle *idle, const struct plan *plan)
{
    struct forwarder_slot *slot = &forwarder_slot[idle->forwarder];

    return rcu_load(&slot->plan) != plan || __atomic_load_n(&slot->stop, __ATOMIC_RELAXED) ||
           !rte_ring_empty(exchange_inject[idle->forwarder]);
}

// A queue's file ended the sleep; the poll that follows shows whether it has a packet.
static void woken_by_queue(struct idle *idle, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        if (idle->fd[i].revents & POLLERR) { // "the interface is down" is told once; reading it takes it back
            int error;
            socklen_t size = sizeof error;
            getsockopt(idle->fd[i].fd, SOL_SOCKET, SO_ERROR, &error, &size);
        }
    idle->in_vain++;
}

static void idle_sleep(struct idle *idle, uint32_t polled_us)
{
    struct waker *waker = &forwarder_slot[idle->forwarder].waker;
    const struct plan *plan = rcu_load(&forwarder_slot[idle->forwarder].plan);
    unsigned n;
    uint32_t us = sleep_prepare(idle, plan, polled_us, &n);
    struct timespec t = {.tv_nsec = (long)us * 1000};
    int n_ready = 0;

    cost_measure(idle);
    waker_prepare(waker);
    if (!is_wanted(idle, plan)) {
        rcu_offline(); // the plan may be freed from here on
        n_ready = ppoll(idle->fd, n, &t, NULL);
        rcu_online();
    }
    waker_done(waker);
    if (n_ready > 0 && !idle->fd[0].revents)
        woken_by_queue(idle, n);
}

void idle_after_poll(struct idle *idle, unsigned taken)
{
    uint64_t now = rte_rdtsc();

    if (taken) {
        idle->last_packet = now;
        idle->sleep_us = 0;
        idle->n_sleeps = 0;
        idle->in_vain = 0;
        return;
    }
    uint8_t mode = __atomic_load_n(&plan_idle_mode, __ATOMIC_RELAXED);
    uint64_t idle_us = (now - idle->last_packet) / idle->tsc_per_us;
    idle->sleep_us = idle_sleep_us(mode, idle_us, idle->sleep_us, idle->cost_ns);
    if (idle->sleep_us)
        idle_sleep(idle, idle->sleep_us);
    else if (idle->can_nap && mode != IDLE_PERFORMANCE)
        rte_power_pause(now + idle->tsc_per_us);
    else
        rte_pause();
}
