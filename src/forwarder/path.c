// SPDX-License-Identifier: BSD-3-Clause
// path.c - the order of a packet's life; read this first
//
//     rx -> ether_in -+-------------> ip4_fwd -+-> ether_out -> tx
//                     +-> (ip4_in) ->         |
//                     +-------------> ip6_fwd -+
//                     +-> (ip6_in) ->
//
//     exits:  punt        for the control plane, to the TAP (punt.c)
//             hold        next hop not resolved, to neigh_manager (hold.c)
//             icmp_error  the sender is told; the error takes the same path (icmp_error.c)
//             fragment    too large for the way out (fragment.c)
//             drop        with one named reason (table/drops.def)
//
// A stage takes a burst and leaves the survivors. A burst has one family and one
// kind (burst.h), so frames received together part at ether_in: into plain IPv4 and
// IPv6, which go on to the lookup; odd ones, which ip4_in and ip6_in look at one by
// one; and those that are at most for us. Their ICMP errors make up two more. Everything a burst causes has left the forwarder when path_burst()
// returns: nothing waits for packets to come.
//
// Cost. One burst of TIMED_EVERY is timed: after each stage the cycles since the
// one before are added to its counter (`show thread stages`). That is up to ten times 30 cycles for the TSC
// and a counter, of one burst in 61: 5 cycles a burst. All others pay for looking whether it is their turn: the
// stages' order stands here once, and the compiler makes of it one path with the laps and one without. 61 is a
// prime, so that a pattern in the traffic or the order of the queues is not always met at the same place.
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "forwarder/forwarder_priv.h"
#include "core/rcu.h"
#include "forwarder/forbidden.h"

#define TIMED_EVERY 61u
#define PATH_INLINE static inline __attribute__((always_inline))

// `n` packets have passed a stage of a timed burst.
static __attribute__((noinline, cold)) void lap_count(struct forwarder *f, enum stage stage, unsigned n)
{
    struct counter_stage *c = &f->counter->stage[stage];
    uint64_t now = rte_rdtsc();

    c->calls++;
    c->packets += n;
    c->cycles += now - f->lap;
    f->lap = now;
}

PATH_INLINE void lap(struct forwarder *f, bool timed, enum stage stage, unsigned n)
{
    if (timed)
        lap_count(f, stage, n);
}

// From the lookup to the port.
PATH_INLINE void path_fwd4(struct forwarder *f, struct burst *b, bool timed)
{
    unsigned n = b->n;

    ip4_fwd(f, b);
    lap(f, timed, STAGE_IP4_FWD, n);
    if ((n = b->n)) {
        ether_out(f, b);
        lap(f, timed, STAGE_ETHER_OUT, n);
    }
}

PATH_INLINE void path_fwd6(struct forwarder *f, struct burst *b, bool timed)
{
    unsigned n = b->n;

    ip6_fwd(f, b);
    lap(f, timed, STAGE_IP6_FWD, n);
    if ((n = b->n)) {
        ether_out(f, b);
        lap(f, timed, STAGE_ETHER_OUT, n);
    }
}

// Packets that ether_in has not found plain.
PATH_INLINE void path_odd(struct forwarder *f, bool timed)
{
    unsigned n;

    if ((n = f->odd4.n)) {
        ip4_in(f, &f->odd4);
        lap(f, timed, STAGE_IP4_IN, n);
        if (f->odd4.n)
            path_fwd4(f, &f->odd4, timed);
        burst_reset(&f->odd4);
    }
    if ((n = f->odd6.n)) {
        ip6_in(f, &f->odd6);
        lap(f, timed, STAGE_IP6_IN, n);
        if (f->odd6.n)
            path_fwd6(f, &f->odd6, timed);
        burst_reset(&f->odd6);
    }
}

// Packets that may be delivered here, not forwarded.
static void path_local(struct forwarder *f)
{
    if (f->local4.n) {
        ip4_in(f, &f->local4);
        ip4_local(f, &f->local4);
        burst_reset(&f->local4);
    }
    if (f->local6.n) {
        ip6_in(f, &f->local6);
        ip6_local(f, &f->local6);
        burst_reset(&f->local6);
    }
}

// ICMP errors of this burst.
static void path_origin(struct forwarder *f)
{
    if (f->origin4.n) {
        ip4_fwd(f, &f->origin4);
        ether_out(f, &f->origin4);
        burst_reset(&f->origin4);
    }
    if (f->origin6.n) {
        ip6_fwd(f, &f->origin6);
        ether_out(f, &f->origin6);
        burst_reset(&f->origin6);
    }
}

PATH_INLINE void path_apart(struct forwarder *f, bool timed)
{
    unsigned n = f->local4.n + f->local6.n + f->origin4.n + f->origin6.n;

    if (likely(!n))
        return;
    path_local(f);
    path_origin(f);
    lap(f, timed, STAGE_OTHER, n);
}

// What the burst left in our arrays goes out.
PATH_INLINE void path_flush(struct forwarder *f, bool timed)
{
    unsigned n = f->tx_queued;

    if (n) {
        tx_flush(f);
        lap(f, timed, STAGE_TX, n);
    }
    n = f->punt_n + f->hold.n + f->dead.n;
    if (likely(!n))
        return;
    f->punted |= f->punt_n > 0;
    punt_flush(f);
    if (f->hold.n)
        hold_flush(f);
    if (f->dead.n)
        dead_flush(f);
    lap(f, timed, STAGE_OTHER, n);
}

PATH_INLINE void path_stages(struct forwarder *f, const struct plan_rx *q, unsigned n, bool timed)
{
    struct plan_rx_stats *stats = &forwarder_slot[f->index].rx_stats[q->port][q->queue];

    f->counter->burst_size[31 - __builtin_clz(n)]++;
    stats->packets += n;
    burst_reset(&f->in4);
    burst_reset(&f->in6);
    stats->bytes += ether_in(f, q->port);
    lap(f, timed, STAGE_ETHER_IN, n);
    if (likely(f->in4.n))
        path_fwd4(f, &f->in4, timed);
    if (f->in6.n)
        path_fwd6(f, &f->in6, timed);
    if (unlikely(f->odd4.n | f->odd6.n))
        path_odd(f, timed);
    path_apart(f, timed);
    path_flush(f, timed);
}

// How many packets waited in the queue: those of the burst and those that still do.
static void depth_sample(struct forwarder *f, const struct plan_rx *q, unsigned n)
{
    struct plan_rx_stats *stats = &forwarder_slot[f->index].rx_stats[q->port][q->queue];
    int rest = rte_eth_rx_queue_count(q->port, q->queue); // negative: the driver can not tell

    if (rest < 0)
        return;
    stats->depth = n + (unsigned)rest;
    stats->depth_max = RTE_MAX(stats->depth_max, stats->depth);
    stats->depth_samples++;
}

static __attribute__((noinline, cold)) void path_burst_timed(struct forwarder *f, const struct plan_rx *q, unsigned n)
{
    lap_count(f, STAGE_RX, n);
    depth_sample(f, q, n);
    f->lap = rte_rdtsc();
    path_stages(f, q, n, true);
    f->until_timed = TIMED_EVERY - 1;
}

static void path_burst(struct forwarder *f, const struct plan_rx *q, unsigned n)
{
    f->until_timed--;
    path_stages(f, q, n, false);
}

// The time since the last poll began belongs to what that poll found.
static void path_account(struct forwarder *f)
{
    uint64_t now = rte_rdtsc(), spent = now - f->now;

    if (f->last_poll_busy)
        f->counter->busy_cycles += spent;
    else
        f->counter->idle_cycles += spent;
    f->now = now;
    f->counter->polls++;
}

unsigned forwarder_poll(struct forwarder *f)
{
    unsigned taken = 0;

    path_account(f);
    f->used_epoch = __atomic_load_n(&nexthop_used_epoch, __ATOMIC_RELAXED);
    f->plan = rcu_load(&forwarder_slot[f->index].plan);
    for (unsigned i = 0; f->plan && i < f->plan->n_rx; i++) {
        const struct plan_rx *q = &f->plan->rx[i];
        bool timed = !f->until_timed;
        if (unlikely(timed))
            f->lap = rte_rdtsc();
        unsigned n = rx(f, q->port, q->queue);
        if (n && unlikely(timed))
            path_burst_timed(f, q, n);
        else if (n)
            path_burst(f, q, n);
        taken += n;
    }
    unsigned injected = inject(f);
    if (injected) {
        path_origin(f);
        path_flush(f, false); // what is injected is not timed
    }
    taken += injected;
    f->last_poll_busy = taken > 0;
    f->counter->polls_idle += !taken;
    return taken;
}
