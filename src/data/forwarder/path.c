// SPDX-License-Identifier: BSD-3-Clause
// path.c - the order of a packet's life; read this first
//
//     rx -> ether_in -+-------------> (checks_in) -> ip4_fwd -+-> (checks_out) -> ether_out -> tx
//                     +-> (ip4_in) ->                         |
//                     +-------------> (checks_in) -> ip6_fwd -+
//                     +-> (ip6_in) ->
//                     +-> (labels_in) -> ether_out, with labels
//                             +-> ip4_fwd and so on, without labels
//
// Packets that leave by a metalink come in again by its other end, in the same poll (metalink.c).
// Packets that leave by a tunnel pass ip4_tunnel in place of ip4_fwd, with their outer header, and
// packets that come by one start again at ether_in (tunnel_out.c, tunnel_in.c).
//
//     exits:  punt        for the control plane, to the TAP (punt.c)
//             hold        next hop not resolved: to neigh_manager (hold.c)
//             icmp_error  an error to the sender; it takes the same path (icmp_error.c)
//             fragment    larger than the next hop's MTU (fragment.c)
//             drop        with one named reason (table/drops.def)
//
// A stage takes a burst and leaves the survivors. A burst has one family and one kind, so ether_in
// divides received packets; burst.h describes bursts. When forwarder_poll() returns, all its
// packets have been sent, dropped or put into a ring: none waits for further packets. Only a burst
// whose lookup a device does waits for it (table/lookaside.h).
//
// At startup, until the routes are known, begin.c replaces all that.
#include "forwarder/cross.h"
#include "forwarder/crossing.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/label.h"
#include "forwarder/record.h"
#include "forwarder/stages.h"
#include "forwarder/super.h"
#include "forwarder/tunnel.h"
#include "forwarder/tx.h"
#include "forwarder/watch.h"
#include "table/latency.h"
#include "table/nexthop_count.h"
#include "table/port.h"
#include "table/trial.h"
#include "forwarder/forbidden.h"

#define PATH_INLINE static inline __attribute__((always_inline))

// The stages are compiled in three ways: for most bursts; timed (measure.c); and recorded, for the
// single packet of a trace or of explain (record.h).
enum how { USUAL, TIMED, RECORDED };
// Entry of a burst: plain packets, packets to be checked, packets that may only be delivered here,
// our own ICMP errors, packets of tunnels, or plain packets without their label.
enum entry { PLAIN, ODD, LOCAL, ORIGIN, OUTER, POPPED };

PATH_INLINE void stage_done(struct forwarder *f, enum how how, enum stage stage,
                            const struct burst *b, unsigned n);
PATH_INLINE void path_routed(struct forwarder *f, struct burst *b, uint8_t family,
                             enum entry entry, enum how how);

// Runs a stage on b.
#define STAGE(stage, call)                                                                         \
    do {                                                                                           \
        unsigned n_ = b->n;                                                                        \
        call;                                                                                      \
        stage_done(f, how, stage, b, n_);                                                          \
    } while (0)

// Order of the stages for one burst.
PATH_INLINE void path_burst(struct forwarder *f, struct burst *b, uint8_t family, enum entry entry,
                            enum how how)
{
    const bool ip4 = family == IP4;

    if (!b->n)
        return;
    if (entry == ODD || entry == LOCAL)
        STAGE(ip4 ? STAGE_IP4_IN : STAGE_IP6_IN, ip4 ? ip4_in(f, b) : ip6_in(f, b));
    if (how == RECORDED && f->trial && entry != ORIGIN && entry != OUTER)
        trial_in(f, b);
    if (entry != ORIGIN && entry != OUTER && unlikely(b->features) && b->n)
        STAGE(STAGE_CHECKS_IN, checks_in(f, b));
    if (how == RECORDED && f->trial)
        trial_in_over(b);
    if (how == RECORDED && entry == LOCAL && f->trial && f->trial->past)
        trial_route(f, b);
    if (entry == LOCAL && b->n)
        STAGE(STAGE_OTHER, fwd_local(f, b)); // empties b
    if (entry == LOCAL || !b->n)
        return;
    if ((entry == PLAIN || entry == ODD) && how != RECORDED && unlikely(f->lookaside) &&
        f->lookaside->park(f->lookaside, f, b))
        return;
    path_routed(f, b, family, entry, how);
}

// Counts packets whose next hops are known per next hop, and those between virtual routers, only if
// somebody wants to know (table/nexthop_count.h).
__attribute__((noinline)) void path_count(struct forwarder *f, const struct burst *b)
{
    struct nexthop_count *count = nexthop_count_row(f->counting);

    if (f->counting & NEXTHOP_CROSS)
        burst_cross(f, b);
    for (unsigned i = 0; count && i < b->n; i++) {
        uint32_t id = b->nh[i];
        if (b->family == LABELS) // that of the label, not its neighbor
            id = label_done(b, i).id;
        count[id].packets++;
        count[id].bytes += b->size[i];
    }
}

static __attribute__((noinline, cold)) void trial_past_route(struct forwarder *f, struct burst *b,
                                                             enum entry entry)
{
    if (entry != OUTER)
        trial_route(f, b);
    f->trial->past->lost |= (entry == OUTER ? TRIAL_LOST_TUNNEL : 0) |
                            (entry == POPPED ? TRIAL_LOST_LABEL : 0);
}

// The stages from the lookup on.
PATH_INLINE void path_routed(struct forwarder *f, struct burst *b, uint8_t family,
                             enum entry entry, enum how how)
{
    const bool ip4 = family == IP4;

    if (how == RECORDED && f->trial && f->trial->past)
        trial_past_route(f, b, entry);
    do { // once, and once more for each metalink
        if (entry == OUTER)
            STAGE(ip4 ? STAGE_IP4_FWD : STAGE_IP6_FWD, ip4 ? ip4_tunnel(f, b) : ip6_tunnel(f, b));
        else
            STAGE(ip4 ? STAGE_IP4_FWD : STAGE_IP6_FWD, ip4 ? ip4_fwd(f, b) : ip6_fwd(f, b));
        if (entry != ORIGIN && unlikely(b->features & IFACE_ACL_OUT) && b->n)
            STAGE(STAGE_CHECKS_OUT,
                  how == RECORDED && f->trial ? trial_checks_out(f, b) : checks_out(f, b));
        if (!b->n)
            return;
        if (unlikely(f->counting))
            path_count(f, b);
    } while (entry == PLAIN && how != RECORDED && unlikely(burst_crosses(b)) &&
             crossing_pass(f, b));
    if (!ip4 && unlikely(burst_crosses(b)))
        tunnel_limits(f, b);
    if (b->n)
        STAGE(STAGE_ETHER_OUT, entry == POPPED ? ether_out_moved(f, b) : ether_out(f, b));
}

// Packets with labels. A packet that loses its labels here was counted with them on receive.
PATH_INLINE void path_labels(struct forwarder *f, enum how how)
{
    struct burst *b = &f->labels;

    burst_reset(&f->in4);
    burst_reset(&f->in6);
    f->in4.l2 = f->in6.l2 = f->bare4.l2 = f->bare6.l2 = ETHER_HDR;
    STAGE(STAGE_LABELS, labels_in(f, b));
    if (how == RECORDED && f->trial && f->trial->past)
        f->trial->past->lost |= TRIAL_LOST_LABEL;
    if (b->n && unlikely(f->counting))
        path_count(f, b);
    if (b->n)
        STAGE(STAGE_ETHER_OUT, ether_out_labels(f, b));
    burst_reset(b);
    path_burst(f, &f->in4, IP4, POPPED, how);
    path_burst(f, &f->in6, IP6, POPPED, how);
    if (f->bare4.n)
        path_routed(f, &f->bare4, IP4, POPPED, how);
    if (f->bare6.n)
        path_routed(f, &f->bare6, IP6, POPPED, how);
    burst_reset(&f->bare4);
    burst_reset(&f->bare6);
}

static __attribute__((noinline)) void path_labels_usual(struct forwarder *f)
{
    path_labels(f, USUAL);
}

// Handles packets that may only be delivered here, and the ICMP errors of this burst.
PATH_INLINE void path_local(struct forwarder *f, enum how how)
{
    path_burst(f, &f->local4, IP4, LOCAL, how);
    path_burst(f, &f->local6, IP6, LOCAL, how);
    path_burst(f, &f->origin4, IP4, ORIGIN, how);
    path_burst(f, &f->origin6, IP6, ORIGIN, how);
    burst_reset(&f->local4);
    burst_reset(&f->local6);
    burst_reset(&f->origin4);
    burst_reset(&f->origin6);
}

void path_local_usual(struct forwarder *f)
{
    path_local(f, USUAL);
}

// Order of the bursts: passes f->rx, n packets received by `port`, through all stages.
PATH_INLINE void path_received(struct forwarder *f, const struct port *port,
                               struct plan_rx_stats *stats, unsigned n, enum how how)
{
    stats->packets += n;
    burst_reset(&f->in4);
    burst_reset(&f->in6);
    stats->bytes += ether_in(f, port);
    if (unlikely(f->budget.on))
        budget_spend(f);
    stage_done(f, how, STAGE_ETHER_IN, NULL, n);
    path_burst(f, &f->in4, IP4, PLAIN, how);
    path_burst(f, &f->in6, IP6, PLAIN, how);
    if (unlikely(f->odd)) {
        const unsigned labels = f->labels.n;
        if (labels)
            how == RECORDED ? path_labels(f, RECORDED) : path_labels_usual(f);
        if (how == TIMED)
            measure_stage(f, STAGE_LABELS, labels);
        path_burst(f, &f->odd4, IP4, ODD, how);
        path_burst(f, &f->odd6, IP6, ODD, how);
        burst_reset(&f->odd4);
        burst_reset(&f->odd6);
        f->odd = 0;
    }
    n = f->local4.n + f->local6.n + f->origin4.n + f->origin6.n;
    if (unlikely(n)) {
        how == RECORDED ? path_local(f, RECORDED) : path_local_usual(f);
        if (how == TIMED)
            measure_stage(f, STAGE_OTHER, n);
    }
}

// Sends the packets collected by the stages: transmit queues, punt and hold rings, freed buffers.
PATH_INLINE void path_leave(struct forwarder *f, enum how how)
{
    unsigned n = f->tx_queued;

    if (n)
        how == TIMED ? measure_tx_flush(f, n) : tx_flush(f);
    if (unlikely(f->n_crossing))
        crossing_take(f);
    n = f->punt_n + f->hold.n + f->dead.n;
    if (likely(!n))
        return;
    f->punted |= f->punt_n > 0;
    punt_flush(f);
    if (f->hold.n)
        hold_flush(f);
    if (f->dead.n)
        dead_flush(f);
    if (how == TIMED)
        measure_stage(f, STAGE_OTHER, n);
}

// A stage has processed the n packets of b, NULL = f->rx.
PATH_INLINE void stage_done(struct forwarder *f, enum how how, enum stage stage,
                            const struct burst *b, unsigned n)
{
    if (how == TIMED)
        measure_stage(f, stage, n);
    if (how == RECORDED)
        record_stage(f, stage, b);
}

PATH_INLINE void path_outer(struct forwarder *f, enum how how)
{
    path_burst(f, &f->outer4, IP4, OUTER, how);
    path_burst(f, &f->outer6, IP6, OUTER, how);
    burst_reset(&f->outer4);
    burst_reset(&f->outer6);
}

void path_outer_usual(struct forwarder *f)
{
    path_outer(f, USUAL);
}

__attribute__((noinline, cold)) void path_outer_recorded(struct forwarder *f)
{
    path_outer(f, RECORDED);
}

// --- for record.c, explain.c and crossing.c ---

void path_usual(struct forwarder *f, const struct port *port, struct plan_rx_stats *stats)
{
    path_received(f, port, stats, f->rx.n, USUAL);
}

__attribute__((noinline, cold)) void path_recorded(struct forwarder *f, const struct port *port,
                                                   struct plan_rx_stats *stats)
{
    path_received(f, port, stats, 1, RECORDED);
}

void path_flush(struct forwarder *f)
{
    path_leave(f, USUAL);
}

// --- for bursts that have waited ---

// Handles packets for us, and ICMP errors: the burst may have produced as many as there is room
// for.
static void answered_local(struct forwarder *f)
{
    if (f->local4.n + f->local6.n + f->origin4.n + f->origin6.n)
        path_local_usual(f);
}

__attribute__((noinline)) void path_answered(struct forwarder *f, struct burst *b)
{
    answered_local(f);
    if (b->family == IP4)
        path_routed(f, b, IP4, ODD, USUAL);
    else
        path_routed(f, b, IP6, ODD, USUAL);
    answered_local(f);
    path_leave(f, USUAL);
}

// --- for poll.c and begin.c ---

static unsigned show_watches(struct forwarder *f, const struct plan_rx *q,
                             struct plan_rx_stats *stats)
{
    return watch_received(f, q->port) ? record_traced(f, q->port, stats) : f->rx.n;
}

void path_part(struct forwarder *f, const struct plan_rx *q, struct plan_rx_stats *stats)
{
    show_watches(f, q, stats);
    path_usual(f, port_get(q->port), stats);
    path_flush(f);
}

// For a port with watches or super-packets. Returns the number of packets left for the normal path.
static __attribute__((noinline, cold)) unsigned
look_at(struct forwarder *f, const struct plan_rx *q, struct plan_rx_stats *stats)
{
    if (port_get(q->port)->watch_rx & PORT_SUPERS)
        super_receive(f, q, stats);
    return show_watches(f, q, stats);
}

// Is the sample of flows the port's only watch, as usual, and takes none of these n packets?
PATH_INLINE bool samples_none(struct forwarder *f, uint32_t watches, unsigned n)
{
    struct sampling *s = &f->sampling[WATCH_FLOWS];

    if (watches != 1u << WATCH_FLOWS || s->seed != watch_table[WATCH_FLOWS].seed || s->skip < n)
        return false;
    s->skip -= n;
    return true;
}

PATH_INLINE void path_queue(struct forwarder *f, const struct plan_rx *q, unsigned n, enum how how)
{
    struct plan_rx_stats *stats = &forwarder_slot[f->index].rx_stats[q->port][q->queue];

    f->counter->burst_size[31 - __builtin_clz(n)]++;
    const uint32_t watches = watch_bits(&port_get(q->port)->watch_rx);
    if (watches && unlikely(!samples_none(f, watches, n)))
        n = look_at(f, q, stats);
    path_received(f, port_get(q->port), stats, n, how);
    path_leave(f, how);
}

__attribute__((noinline, cold)) void path_queue_timed(struct forwarder *f, const struct plan_rx *q,
                                                      unsigned n)
{
    measure_start(f, q, n);
    path_queue(f, q, n, TIMED);
    f->until_timed = LATENCY_TIMED - 1;
}

void path_queue_usual(struct forwarder *f, const struct plan_rx *q, unsigned n)
{
    path_queue(f, q, n, USUAL);
}
