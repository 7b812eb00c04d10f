// SPDX-License-Identifier: BSD-3-Clause
// path.c - the order of a packet's life; read this first
//
//     rx -> ether_in -+-> ip4_in -> ip4_fwd -+-> ether_out -> tx
//                     +-> ip6_in -> ip6_fwd -+
//
//     exits:  punt        for the control plane, to the TAP (punt.c)
//             hold        next hop not resolved, to neigh_manager (hold.c)
//             icmp_error  the sender is told; the error takes the same path (icmp_error.c)
//             fragment    too large for the way out (fragment.c)
//             drop        with one named reason (table/drops.def)
//
// A stage takes a burst and leaves the survivors. A burst has one family and one
// kind (burst.h), so frames received together part into four at ether_in - IPv4
// and IPv6, each of them transit or at most for us - and their ICMP errors make up
// two more. Everything a burst causes has left the forwarder when path_burst()
// returns: nothing waits for packets to come.
#include <rte_cycles.h>

#include "forwarder/forwarder_priv.h"
#include "core/rcu.h"
#include "forwarder/forbidden.h"

static void path_ip4(struct forwarder *f)
{
    if (f->in4.n) {
        ip4_fwd(f, &f->in4);
        ether_out(f, &f->in4);
    }
    if (unlikely(f->odd4.n)) {
        ip4_in(f, &f->odd4);
        ip4_fwd(f, &f->odd4);
        ether_out(f, &f->odd4);
        burst_reset(&f->odd4);
    }
}

static void path_ip6(struct forwarder *f)
{
    if (f->in6.n) {
        ip6_fwd(f, &f->in6);
        ether_out(f, &f->in6);
    }
    if (unlikely(f->odd6.n)) {
        ip6_in(f, &f->odd6);
        ip6_fwd(f, &f->odd6);
        ether_out(f, &f->odd6);
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

// What the burst left in our arrays goes out.
static void path_flush(struct forwarder *f)
{
    if (f->tx_queued)
        tx_flush(f);
    punt_flush(f);
    if (f->hold.n)
        hold_flush(f);
    if (f->dead.n)
        dead_flush(f);
}

static void path_burst(struct forwarder *f, const struct plan_rx *q, unsigned n)
{
    struct plan_rx_stats *stats = &forwarder_slot[f->index].rx_stats[q->port][q->queue];

    stats->packets += n;
    burst_reset(&f->in4);
    burst_reset(&f->in6);
    stats->bytes += ether_in(f, q->port);
    path_ip4(f);
    path_ip6(f);
    path_local(f);
    path_origin(f);
    path_flush(f);
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
        unsigned n = rx(f, q->port, q->queue);
        if (n)
            path_burst(f, q, n);
        taken += n;
    }
    unsigned injected = inject(f);
    if (injected) {
        path_origin(f);
        path_flush(f);
    }
    taken += injected;
    f->last_poll_busy = taken > 0;
    f->counter->polls_idle += !taken;
    return taken;
}
