// SPDX-License-Identifier: BSD-3-Clause
// path.c - the order of a packet's life; read this first
//
//     rx -> ether_in -+-------------> (features_in) -> ip4_fwd -+-> (acl_out) -> ether_out -> tx
//                     +-> (ip4_in) ->                          |
//                     +-------------> (features_in) -> ip6_fwd -+
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
// one; and those that are at most for us. What an interface was given beyond routing is in
// features_in, which bursts without such an interface do not enter. Their ICMP errors make up two
// more. Everything a burst causes has left the forwarder when path_burst() returns: nothing waits
// for packets to come.
//
// Cost. One burst of TIMED_EVERY is timed: after each stage the cycles since the
// one before are added to its counter (`show thread stages`). That is up to ten times 30 cycles for
// the TSC and a counter, of one burst in 61: 5 cycles a burst. All others pay for looking whether
// it is their turn: the stages' order stands here once, and the compiler makes of it one path with
// the laps and one without. 61 is a prime, so that a pattern in the traffic or the order of the
// queues is not always met at the same place. Of timed bursts, again one in so many is measured
// from its receive queue to the transmit queues (table/latency.h), when that is configured.
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "forwarder/acl.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/record.h"
#include "forwarder/stages.h"
#include "forwarder/tags.h"
#include "forwarder/tx.h"
#include "forwarder/watch.h"
#include "core/rcu.h"
#include "table/latency.h"
#include "table/nexthop_count.h"
#include "table/port.h"
#include "table/trace.h"
#include "forwarder/forbidden.h"

#define TIMED_EVERY LATENCY_TIMED
#define PATH_INLINE static inline __attribute__((always_inline))

// `n` packets have passed a stage of a timed burst.
static __attribute__((noinline, cold)) void lap_count(struct forwarder *f, enum stage stage,
                                                      unsigned n)
{
    struct counter_stage *c = &f->counter->stage[stage];
    uint64_t now = rte_rdtsc();

    c->calls++;
    c->packets += n;
    c->cycles += now - f->lap;
    f->lap = now;
}

// Compiled in three ways: as most bursts go; with laps; and writing down what becomes of the one
// packet (record.h).
enum how { USUAL, TIMED, RECORDED };

PATH_INLINE void lap(struct forwarder *f, enum how how, enum stage stage, unsigned n)
{
    if (how == TIMED)
        lap_count(f, stage, n);
}

// A stage is done with the n packets it found in b, NULL = in f->rx.
PATH_INLINE void done(struct forwarder *f, enum how how, enum stage stage, const struct burst *b,
                      unsigned n)
{
    lap(f, how, stage, n);
    if (how == RECORDED)
        record_stage(f, stage, b);
}

// What the interfaces were given beyond routing.
PATH_INLINE void path_features(struct forwarder *f, struct burst *b, enum how how)
{
    unsigned n = b->n;

    features_in(f, b);
    done(f, how, STAGE_FEATURES, b, n);
}

// What the interfaces they leave by say.
PATH_INLINE void path_acl_out(struct forwarder *f, struct burst *b, enum how how)
{
    unsigned n = b->n;

    if (!n || !(b->features & IFACE_ACL_OUT))
        return;
    acl_out(f, b);
    done(f, how, STAGE_ACL_OUT, b, n);
}

// All next hops are known, nothing has been sent.
static __attribute__((noinline, cold)) void count_nexthops(struct nexthop_count *count,
                                                           const struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++) {
        count[b->nh[i]].packets++;
        count[b->nh[i]].bytes += b->size[i];
    }
}

// From the lookup to the port. `lists`: an access list may be asked about what leaves, or has
// redirected some.
PATH_INLINE void to_port(struct forwarder *f, struct burst *b, uint8_t family, enum how how,
                         bool lists)
{
    unsigned n = b->n;

    if (lists && f->n_ways)
        family == IP4 ? ip4_fwd_redirected(f, b) : ip6_fwd_redirected(f, b);
    else
        family == IP4 ? ip4_fwd(f, b) : ip6_fwd(f, b);
    done(f, how, family == IP4 ? STAGE_IP4_FWD : STAGE_IP6_FWD, b, n);
    if (lists)
        path_acl_out(f, b, how);
    if ((n = b->n)) {
        if (unlikely(f->counting))
            count_nexthops(f->counting, b);
        ether_out(f, b);
        done(f, how, STAGE_ETHER_OUT, b, n);
    }
}

PATH_INLINE void path_fwd(struct forwarder *f, struct burst *b, uint8_t family, enum how how)
{
    if (likely(!b->features)) {
        to_port(f, b, family, how, false);
        return;
    }
    path_features(f, b, how);
    if (b->n)
        to_port(f, b, family, how, true);
}

// Packets that ether_in has not found plain.
PATH_INLINE void path_odd(struct forwarder *f, enum how how)
{
    unsigned n;

    if ((n = f->odd4.n)) {
        ip4_in(f, &f->odd4);
        done(f, how, STAGE_IP4_IN, &f->odd4, n);
        if (f->odd4.n)
            path_fwd(f, &f->odd4, IP4, how);
        burst_reset(&f->odd4);
    }
    if ((n = f->odd6.n)) {
        ip6_in(f, &f->odd6);
        done(f, how, STAGE_IP6_IN, &f->odd6, n);
        if (f->odd6.n)
            path_fwd(f, &f->odd6, IP6, how);
        burst_reset(&f->odd6);
    }
}

// Packets that may be delivered here, not forwarded.
PATH_INLINE void local_stages(struct forwarder *f, enum how how)
{
    if (f->local4.n) {
        ip4_in(f, &f->local4);
        done(f, how, STAGE_IP4_IN, &f->local4, 0);
        if (unlikely(f->local4.features) && f->local4.n)
            path_features(f, &f->local4, how);
        if (f->local4.n) {
            ip4_local(f, &f->local4);
            done(f, how, STAGE_OTHER, &f->local4, 0);
        }
        burst_reset(&f->local4);
    }
    if (f->local6.n) {
        ip6_in(f, &f->local6);
        done(f, how, STAGE_IP6_IN, &f->local6, 0);
        if (unlikely(f->local6.features) && f->local6.n)
            path_features(f, &f->local6, how);
        if (f->local6.n) {
            ip6_local(f, &f->local6);
            done(f, how, STAGE_OTHER, &f->local6, 0);
        }
        burst_reset(&f->local6);
    }
}

static void path_local(struct forwarder *f)
{
    local_stages(f, USUAL);
}

// ICMP errors of this burst.
PATH_INLINE void origin_stages(struct forwarder *f, enum how how)
{
    if (f->origin4.n) {
        to_port(f, &f->origin4, IP4, how, false);
        burst_reset(&f->origin4);
    }
    if (f->origin6.n) {
        to_port(f, &f->origin6, IP6, how, false);
        burst_reset(&f->origin6);
    }
}

static void path_origin(struct forwarder *f)
{
    origin_stages(f, USUAL);
}

PATH_INLINE void path_apart(struct forwarder *f, enum how how)
{
    unsigned n = f->local4.n + f->local6.n + f->origin4.n + f->origin6.n;

    if (likely(!n))
        return;
    if (how == RECORDED) {
        local_stages(f, how);
        origin_stages(f, how);
    } else {
        path_local(f);
        path_origin(f);
    }
    lap(f, how, STAGE_OTHER, n);
}

// A timed burst goes out: for each port, how long its packets were here.
static __attribute__((noinline, cold)) void tx_flush_timed(struct forwarder *f, unsigned n)
{
    uint64_t ports = f->tx_ports;
    uint16_t sent[PORT_MAX];

    for (uint64_t p = ports; p; p &= p - 1)
        sent[__builtin_ctzll(p)] = (uint16_t)tx_word_n(f->tx_word[__builtin_ctzll(p)]);
    tx_flush(f);
    lap_count(f, STAGE_TX, n);
    for (uint64_t p = f->taken ? ports : 0; p; p &= p - 1)
        if (sent[__builtin_ctzll(p)])
            latency_add(f->index, f->taken_from, (uint16_t)__builtin_ctzll(p), f->lap - f->taken,
                        sent[__builtin_ctzll(p)]);
}

// What the burst left in our arrays goes out.
PATH_INLINE void path_flush(struct forwarder *f, enum how how)
{
    unsigned n = f->tx_queued;

    if (n && how == TIMED) {
        tx_flush_timed(f, n);
    } else if (n) {
        tx_flush(f);
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
    lap(f, how, STAGE_OTHER, n);
}

PATH_INLINE void path_stages(struct forwarder *f, uint16_t port, struct plan_rx_stats *stats,
                             unsigned n, enum how how)
{
    stats->packets += n;
    burst_reset(&f->in4);
    burst_reset(&f->in6);
    stats->bytes += ether_in(f, port);
    done(f, how, STAGE_ETHER_IN, NULL, n);
    if (likely(f->in4.n))
        path_fwd(f, &f->in4, IP4, how);
    if (f->in6.n)
        path_fwd(f, &f->in6, IP6, how);
    if (unlikely(f->odd4.n | f->odd6.n))
        path_odd(f, how);
    path_apart(f, how);
}

__attribute__((noinline, cold)) void path_recorded(struct forwarder *f, uint16_t port,
                                                   struct plan_rx_stats *stats)
{
    path_stages(f, port, stats, 1, RECORDED);
}

// The packets [at, at + n) of a burst become f->rx.
static void rx_part(struct forwarder *f, const struct arrivals *all, unsigned at, unsigned n)
{
    memcpy(f->rx.pkt, all->pkt + at, n * sizeof *all->pkt);
    memcpy(f->rx.frame, all->frame + at, n * sizeof *all->frame);
    f->rx.n = n;
}

// Each packet of f->rx that a trace wants goes alone and is written down; what came before it goes
// before it, as a burst. Left in f->rx is what came behind the last one: how many.
static unsigned path_traced(struct forwarder *f, const struct plan_rx *q,
                            struct plan_rx_stats *stats)
{
    struct arrivals all = f->rx;
    unsigned from = 0;

    for (unsigned i = 0; i < all.n; i++) {
        struct packet_trace *p =
            trace_take(q->port, all.pkt[i], iface_of_frame(port_get(q->port), all.pkt[i], true));
        if (!p)
            continue;
        if (i > from) {
            rx_part(f, &all, from, i - from);
            path_stages(f, q->port, stats, i - from, USUAL);
            path_flush(f, USUAL);
        }
        rx_part(f, &all, i, 1);
        record_begin(f, p, q->port, all.pkt[i]);
        path_recorded(f, q->port, stats);
        path_flush(f, USUAL);
        record_end(f);
        trace_done(p);
        from = i + 1;
    }
    if (from)
        rx_part(f, &all, from, all.n - from);
    return f->rx.n;
}

// Somebody looks at what this port receives. How many packets are left to go the usual way.
static __attribute__((noinline, cold)) unsigned
path_watched(struct forwarder *f, const struct plan_rx *q, struct plan_rx_stats *stats)
{
    return watch_received(f, q->port) ? path_traced(f, q, stats) : f->rx.n;
}

PATH_INLINE void path_whole(struct forwarder *f, const struct plan_rx *q, unsigned n, enum how how)
{
    struct plan_rx_stats *stats = &forwarder_slot[f->index].rx_stats[q->port][q->queue];

    f->counter->burst_size[31 - __builtin_clz(n)]++;
    if (unlikely(port_get(q->port)->watch_rx))
        n = path_watched(f, q, stats);
    path_stages(f, q->port, stats, n, how);
    path_flush(f, how);
}

// How many packets waited in the queue: those of the burst and those that still do.
static void depth_sample(struct forwarder *f, const struct plan_rx *q, unsigned n)
{
    struct plan_rx_stats *stats = &forwarder_slot[f->index].rx_stats[q->port][q->queue];
    int rest = rte_eth_rx_queue_count(q->port, q->queue); // negative: the driver cannot tell

    if (rest < 0)
        return;
    stats->depth = n + (unsigned)rest;
    stats->depth_max = RTE_MAX(stats->depth_max, stats->depth);
    stats->depth_samples++;
}

// Is it the turn of this timed burst, which was taken from f->lap on?
static void latency_begin(struct forwarder *f, uint16_t port)
{
    uint32_t every = __atomic_load_n(&latency_every, __ATOMIC_ACQUIRE); // partner: latency_start

    f->taken = 0;
    if (!every)
        return;
    f->until_latency =
        f->until_latency < every ? f->until_latency : every - 1; // it may have been more
    if (f->until_latency--)
        return;
    f->until_latency = every - 1;
    f->taken = f->lap;
    f->taken_from = port;
}

static __attribute__((noinline, cold)) void path_burst_timed(struct forwarder *f,
                                                             const struct plan_rx *q, unsigned n)
{
    latency_begin(f, q->port);
    lap_count(f, STAGE_RX, n);
    depth_sample(f, q, n);
    f->lap = rte_rdtsc();
    path_whole(f, q, n, TIMED);
    f->until_timed = TIMED_EVERY - 1;
}

static void path_burst(struct forwarder *f, const struct plan_rx *q, unsigned n)
{
    f->until_timed--;
    path_whole(f, q, n, USUAL);
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
    f->counting = __atomic_load_n(&nexthop_counting[f->index],
                                  __ATOMIC_ACQUIRE); // partner: nexthop_count_set
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
        path_flush(f, USUAL); // what is injected is not timed
    }
    taken += injected;
    f->last_poll_busy = taken > 0;
    f->counter->polls_idle += !taken;
    return taken;
}
