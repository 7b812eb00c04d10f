// SPDX-License-Identifier: BSD-3-Clause
// idle.c - spins a little, then sleeps until there is work
//
//     mode         spins for    then sleeps until woken or, if a queue has to be polled, for
//     performance  ever         -
//     balanced     300 us       20, 40, 80, 100, 100 ... us; then up to a thousandth of the past
//                               silence, within two limits: 1 % of the CPU, and the time that
//                               the ring bridges (100 ... 4000 us)
//     powersave    50 us        50, 100, 200 ... us, up to the time the ring bridges (<= 4000 us)
//
// A packet ends the pause, and spinning starts again. A few packets (64, followed by a pause of a
// second) do not end the silence: hellos and keepalives do not announce a flood.
//
// Woken: every queue of the plan has a file that becomes readable with a packet (struct plan_wait:
// a packet socket, or a driver's receive interrupt). ppoll() waits for them and for the eventfd by
// which other threads announce packets in our inject ring, a new plan, or the end (core/waker.h).
// Such a sleep ends after WOKEN_MAX_US at the latest, for the watchdog. The first packet waits some
// 10 us for the kernel's wake-up. Interrupts are enabled before the first sleep of a pause, and the
// queues polled once more, because interrupts may not report earlier packets; the first packet
// disables them.
//
// Polled: a queue without such a file (memif, net_ring, null) has to bridge the longest sleep. 100
// us at 10 Mpps are 1,000 packets, fewer than the 1,024 descriptors of a queue by default. In a
// long silence sleeps get longer, because each costs 3 us of CPU, or 30 us on a virtual machine, up
// to the time that the ring bridges at 0.5 Mpps: 2 ms for 1,024. A burst that fits the ring is
// never lost; a higher rate that starts after seconds of silence needs `performance` or more
// descriptors.
//
// A file that is readable although its queue is empty (a device with an error, a driver out of
// buffers) would turn sleeping into a busy loop: after two futile sleeps, files are ignored until a
// packet comes.
//
// The timer slack is 1 ns for forwarders (core/thread.c); otherwise a sleep of 20 us would last 70.
// A spinning CPU with WAITPKG pauses for 1 us at a time. Asleep, the thread is offline for RCU, so
// that writers do not wait for it.
#define ALLOW_EXPERIMENTAL_API // rte_power_pause
#include "forwarder/idle.h"

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>
#include <rte_power_intrinsics.h>
#include <sys/socket.h>
#include <time.h>

#include "core/rcu.h"
#include "table/exchange.h"

#define SILENCE_SHARE 1000u // minimum ratio of past silence to a sleep
#define FEW_PACKETS 64u // this many do not end a silence,
#define FEW_PAUSE_US 1000000u // if followed by such a pause
#define SILENT_MAX_US 4000u
#define SILENT_US_PER_PACKET 2u // traffic after a long silence is assumed to be at most 0.5 Mpps
#define CPU_SHARE 100u // minimum ratio of a sleep to its CPU cost
#define COST_SLEEPS 64u
#define WOKEN_MAX_US 100000u
#define IN_VAIN_MAX 2
#define LATE_US 60u // a sleep may last this much longer, which a queue that is due must not

static const struct schedule {
    uint32_t spin_us, first_us, max_us;
} schedules[] = {
    [IDLE_BALANCED] = {300, 20, 100},
    [IDLE_POWERSAVE] = {50, 50, SILENT_MAX_US},
};

void idle_init(struct idle *idle, unsigned forwarder)
{
    struct rte_cpu_intrinsics cpu;

    rte_cpu_get_intrinsics_support(&cpu);
    *idle = (struct idle){.forwarder = forwarder,
                          .can_nap = cpu.power_pause,
                          .tsc_per_us = rte_get_tsc_hz() / 1000000,
                          .last_packet = rte_rdtsc(),
                          .last_busy = rte_rdtsc()};
}

static uint32_t clamp_us(uint64_t us, uint32_t least, uint32_t most)
{
    return us < least ? least : us < most ? (uint32_t)us : most;
}

uint32_t idle_sleep_us(uint8_t mode, const struct idle_pause *p)
{
    const struct schedule *s = &schedules[mode];
    uint32_t bridged_us = clamp_us((uint64_t)p->descriptors * SILENT_US_PER_PACKET,
                                 schedules[IDLE_BALANCED].max_us, SILENT_MAX_US);
    uint32_t max_us = bridged_us < s->max_us ? bridged_us : s->max_us;

    if (mode == IDLE_PERFORMANCE || p->idle_us < s->spin_us)
        return 0;
    if (mode == IDLE_BALANCED) {
        uint64_t cheap_us = p->cost_ns * (uint64_t)CPU_SHARE / 1000,
                 bold_us = p->silence_us / SILENCE_SHARE;
        max_us = clamp_us(cheap_us < bold_us ? cheap_us : bold_us, s->max_us, bridged_us);
    }
    return clamp_us(p->last_us * 2, s->first_us, max_us);
}

// Measures the present cost of sleeps, over COST_SLEEPS of them.
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

static const struct plan *plan_now(const struct idle *idle)
{
    return rcu_load(&forwarder_slot[idle->forwarder].plan);
}

// --- receive interrupts ---

// Returns true if they were on already, or the plan has none; false if packets may have come before
// they were on.
static bool interrupts_on(struct idle *idle, const struct plan *plan)
{
    bool any = false;

    if (!plan || idle->armed == plan->serial)
        return true;
    idle->armed = plan->serial;
    idle->deaf = false;
    for (unsigned i = 0; i < plan->n_wait; i++) {
        const struct plan_wait *w = &plan->wait[i];
        if (!plan_wait_is_interrupt(w))
            continue;
        any = true;
        // Fails for a vhost device without a guest.
        idle->deaf |= rte_eth_dev_rx_intr_enable(w->port, w->queue) != 0;
    }
    return !any;
}

static __attribute__((noinline)) void interrupts_off(struct idle *idle)
{
    const struct plan *plan = plan_now(idle);

    idle->armed = 0;
    for (unsigned i = 0; plan && i < plan->n_wait; i++)
        if (plan_wait_is_interrupt(&plan->wait[i]))
            rte_eth_dev_rx_intr_disable(plan->wait[i].port, plan->wait[i].queue);
}

// Makes a file that ended a sleep unreadable again. Returns false if that is not our task, or
// failed.
static bool file_empty(const struct plan_wait *w)
{
    switch (w->wake) {
    case WAKE_EVENT:
        return waker_file_empty(w->fd, 8);
    case WAKE_EDGE:
        return waker_file_empty(w->fd, 0);
    case WAKE_UIO:
        return waker_file_empty(w->fd, 4);
    default:
        return false;
    }
}

// --- sleeping ---

// Fills idle->fd[0..*n) and returns the length of the sleep.
static uint32_t sleep_prepare(struct idle *idle, const struct plan *plan, uint32_t polled_us,
                              unsigned *n)
{
    bool heed = idle->in_vain < IN_VAIN_MAX;

    idle->fd[0] = (struct pollfd){.fd = forwarder_slot[idle->forwarder].waker.fd, .events = POLLIN};
    *n = 1;
    for (unsigned i = 0; heed && plan && i < plan->n_wait; i++)
        idle->fd[(*n)++] = (struct pollfd){.fd = plan->wait[i].fd, .events = POLLIN};
    return !plan || (heed && !idle->deaf && plan->n_wait == plan->n_rx) ? WOKEN_MAX_US : polled_us;
}

static bool has_work(const struct idle *idle, const struct plan *plan)
{
    struct forwarder_slot *slot = &forwarder_slot[idle->forwarder];

    return rcu_load(&slot->plan) != plan || __atomic_load_n(&slot->stop, __ATOMIC_RELAXED) ||
           !rte_ring_empty(exchange_inject[idle->forwarder]);
}

// Files of queues ended the sleep; the next poll shows whether there is a packet. `serial`: of
// their plan.
static void woken_by_queue(struct idle *idle, unsigned n, uint32_t serial)
{
    const struct plan *plan = plan_now(idle);
    bool emptied = true;

    if (!plan || plan->serial != serial) // perhaps closed, and its number reused
        return;
    for (unsigned i = 1; i < n; i++) {
        if (idle->fd[i].revents &
            POLLERR) { // "the interface is down" comes once; reading clears it
            int error;
            socklen_t size = sizeof error;
            getsockopt(idle->fd[i].fd, SOL_SOCKET, SO_ERROR, &error, &size);
        }
        if (idle->fd[i].revents)
            emptied &= file_empty(&plan->wait[i - 1]);
    }
    idle->in_vain += !emptied;
}

// `due_us`: time until a queue may send.
static void idle_sleep(struct idle *idle, const struct plan *plan, uint32_t polled_us,
                       uint32_t due_us)
{
    struct waker *waker = &forwarder_slot[idle->forwarder].waker;
    uint32_t serial = plan ? plan->serial : 0;
    unsigned n;
    uint32_t us = RTE_MIN(sleep_prepare(idle, plan, polled_us, &n), due_us);
    struct timespec t = {.tv_nsec = (long)us * 1000};
    int n_ready = 0;

    cost_measure(idle);
    waker_prepare(waker);
    if (!has_work(idle, plan)) {
        rcu_offline(); // the plan may be freed from now on
        n_ready = ppoll(idle->fd, n, &t, NULL);
        rcu_online();
    }
    waker_done(waker);
    if (n_ready > 0 && !idle->fd[0].revents)
        woken_by_queue(idle, n, serial);
}

static void pause_end(struct idle *idle, uint64_t now, unsigned taken)
{
    idle->last_packet = now;
    idle->n_few += taken;
    if (idle->n_few > FEW_PACKETS) {
        idle->last_busy = now;
        idle->n_few = FEW_PACKETS; // until a pause restarts the count
    }
    idle->sleep_us = 0;
    idle->n_sleeps = 0;
    idle->in_vain = 0;
    if (__builtin_expect(idle->armed != 0, false))
        interrupts_off(idle);
}

// Time until `due`, minus the possible excess of a sleep.
static uint32_t due_in_us(const struct idle *idle, uint64_t now, uint64_t due)
{
    if (due == UINT64_MAX)
        return UINT32_MAX;
    uint64_t us = due > now ? (due - now) / idle->tsc_per_us : 0;
    return us > LATE_US ? clamp_us(us - LATE_US, 0, UINT32_MAX) : 0;
}

void idle_after_poll(struct idle *idle, unsigned taken, uint64_t due)
{
    uint64_t now = rte_rdtsc();

    if (taken) {
        pause_end(idle, now, taken);
        return;
    }
    const struct plan *plan = plan_now(idle);
    uint8_t mode = __atomic_load_n(&plan_idle_mode, __ATOMIC_RELAXED);
    struct idle_pause p = {.idle_us = (now - idle->last_packet) / idle->tsc_per_us,
                           .silence_us = (now - idle->last_busy) / idle->tsc_per_us,
                           .last_us = idle->sleep_us,
                           .cost_ns = idle->cost_ns,
                           .descriptors = plan ? plan->descriptors : UINT16_MAX};
    uint32_t due_us = due_in_us(idle, now, due);
    uint32_t us = RTE_MIN(idle_sleep_us(mode, &p), due_us);
    if (p.idle_us > FEW_PAUSE_US)
        idle->n_few = 0;
    if (us && !interrupts_on(idle, plan))
        return; // one more poll first
    idle->sleep_us = us;
    if (us)
        idle_sleep(idle, plan, us, due_us);
    else if (idle->can_nap && mode != IDLE_PERFORMANCE)
        rte_power_pause(now + idle->tsc_per_us);
    else
        rte_pause();
}
