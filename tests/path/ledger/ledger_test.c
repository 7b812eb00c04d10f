// SPDX-License-Identifier: BSD-3-Clause
// ledger_test.c - every packet ends in exactly one place
//
// Sends random frames through a router with one of everything, in bursts of random size, whole or
// in segments, while transmit rings fill up, held packets are released or dropped, and next hops
// change. After each round the router is empty, and rx + inject = tx + punt + drops; at the end no
// buffer is missing (rig_teardown). KAMUEE_SEED=n repeats a run.
#include "random.h"

#include <rte_mbuf.h>
#include <stdlib.h>

#define FRAMES 50000u

// Plays neigh_manager: releases some packets and drops some.
static void neighbors_answer(struct random *r)
{
    for (struct rte_mbuf *m; (m = rig_held());)
        if (random_below(r, 2))
            assert_int_equal(rig_inject(0, m), 0);
        else
            rig_release(m);
}

static void take_punts(void)
{
    static struct frame f;

    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        while (rig_punted(c, &f, NULL))
            ;
}

static void send_one(struct random *r)
{
    static struct frame f;
    static const unsigned segments[] = {2048, 2048, 2048, 200, 60, 14};

    unsigned port = random_frame(r, &f);
    unsigned segment = segments[random_below(r, 6)];
    if (segment < f.n / 20) // the pool is finite
        segment = 200;
    rig_send_mbuf(port, 0, rig_mbuf(&f, segment));
    if (random_below(r, 40) == 0)
        rig_inject_frame(0, (uint16_t)(1 + random_below(r, 9)), &(struct frame){.n = 60});
}

path_test(fifty_thousand_random_frames_leave_the_ledger_at_zero)
{
    const char *seed = getenv("KAMUEE_SEED");
    struct random r = {.state = seed ? strtoull(seed, NULL, 0) : 20260101};

    random_router();
    random_lists();
    rig_icmp_rate(1000000, 1000);
    for (unsigned sent = 0, blocked = 0; sent < FRAMES;) {
        unsigned n = 1 + random_below(&r, 100);
        if (random_below(&r, 30) == 0) {
            blocked = !blocked;
            rig_tx_block(1, blocked);
        }
        for (unsigned i = 0; i < n && sent < FRAMES; i++, sent++)
            send_one(&r);
        rig_poll();
        rig_check_conservation();
        neighbors_answer(&r);
        rig_poll();
        take_punts();
        for (unsigned p = 0; p < RIG_PORTS; p++)
            if (p != 1 || !blocked)
                rig_discard(p);
    }
    for (struct rte_mbuf *m; (m = rig_held());)
        rig_release(m);
    struct ledger l;
    ledger_read(&l, 2);
    assert_int_equal(l.imbalance, 0);
    assert_int_equal(l.rx, FRAMES);
    assert_in_range(l.inject, 1000, FRAMES);
    assert_in_range(l.tx, 1000, FRAMES);
    assert_in_range(l.punt, 1000, FRAMES);
    assert_in_range(l.drops, 1000, FRAMES);
    assert_int_equal(l.held, 0);
}

// Random frames are useful only if they reach nearly every code path.
path_test(random_frames_reach_nearly_every_drop_reason)
{
    static const enum drop_reason not_reached[] = {
        DROP_HOLD_FULL, DROP_HOLD_LIMIT, DROP_HOLD_RING_FULL, DROP_HOLD_TIMEOUT, DROP_HOLD_GONE,
        DROP_PUNT_RING_FULL, DROP_PUNT_POLICED, DROP_PUNT_TAP, DROP_PUNT_NO_TAP,
        DROP_INJECT_NO_FORWARDER, DROP_INJECT_RING_FULL, DROP_INJECT_NO_BUFFER, DROP_TX_FULL,
        DROP_TX_NO_BUFFER, DROP_TX_NO_QUEUE, DROP_VR_CPU_BUDGET,
        DROP_START_FULL, // path/begin
        // No virtual router has a budget here: path/punt, e2e/test_vr_budget.py.
        DROP_VR_PUNT_BUDGET, DROP_VR_NEIGHBOR_BUDGET,
        // No port has a queue here: path/queue, queue_test.
        DROP_QUEUE_FULL, DROP_QUEUE_SHARE, DROP_QUEUE_PORT_FULL, DROP_QUEUE_RING_FULL,
        DROP_QUEUE_CODEL, DROP_QUEUE_TIME, DROP_QUEUE_FLOW,
        // There is no metalink here: path/metalink.
        DROP_METALINK_HOPS, DROP_METALINK_FULL,
        // There is no tunnel here: path/tunnel.
        DROP_TUNNEL_NO_ROUTE, DROP_TUNNEL_RECURSION, DROP_TUNNEL_PROTOCOL, DROP_TUNNEL_ROOM,
        DROP_TUNNEL_TOO_BIG, DROP_TUNNEL_FULL, DROP_TUNNEL_SOURCE, DROP_TUNNEL_HEADER,
        DROP_TUNNEL_FRAGMENT, DROP_TUNNEL_CHECKSUM, DROP_TUNNEL_ECN,
        // No interface accepts labels here: path/label, packet_storm.
        DROP_MPLS_NOT_ENABLED, DROP_MPLS_UNKNOWN_LABEL, DROP_MPLS_RESERVED, DROP_MPLS_TRUNCATED,
        DROP_MPLS_STACK, DROP_MPLS_PAYLOAD, DROP_MPLS_TTL, DROP_MPLS_TOO_BIG, DROP_MPLS_ROOM,
        // There is no packet program here: e2e/test_program.py.
        DROP_PROGRAM_DROP, DROP_PROGRAM_FAULT, DROP_PROGRAM_NO_WAY,
        // There is no LAG here: path/lag.
        DROP_LAG_INACTIVE, DROP_LAG_NO_MEMBER, DROP_SLOW_TAGGED, DROP_SLOW_DESTINATION,
        DROP_SLOW_TRUNCATED, DROP_SLOW_SUBTYPE, DROP_SLOW_POLICED, DROP_LACP_LENGTH,
        DROP_LACP_LOOPED, DROP_LACP_NOT_CONFIGURED};
    struct random r = {.state = 7};

    random_router();
    random_lists();
    struct iface *checked = iface_find_name("p2.30.6");
    iface_put_flags(checked, IFACE_URPF4 | IFACE_URPF6, IFACE_URPF4 | IFACE_URPF6);
    checked->policy.urpf[0] = checked->policy.urpf[1] = URPF_STRICT;
    for (unsigned i = 0; i < 20000; i++) {
        if (i == 10000) { // reverse-path checks: strict on the first port, loose on the second
            iface_get(1)->policy.urpf[0] = iface_get(1)->policy.urpf[1] = URPF_STRICT;
            iface_get(2)->policy.urpf[0] = iface_get(2)->policy.urpf[1] = URPF_LOOSE;
            iface_put_flags(iface_get(1), IFACE_URPF4 | IFACE_URPF6, IFACE_URPF4 | IFACE_URPF6);
            iface_put_flags(iface_get(2), IFACE_URPF4 | IFACE_URPF6 | IFACE_OFFLOAD,
                            IFACE_URPF4 | IFACE_URPF6 | IFACE_OFFLOAD);
        }
        send_one(&r);
        rig_step(0);
        for (struct rte_mbuf *m; (m = rig_held());)
            rig_release(m);
        take_punts();
        for (unsigned p = 0; p < RIG_PORTS; p++)
            rig_discard(p);
    }
    for (unsigned reason = DROP_NONE + 1; reason < DROP_N; reason++) {
        bool expected = true;
        for (unsigned k = 0; k < sizeof not_reached / sizeof *not_reached; k++)
            expected &= reason != not_reached[k];
        if (expected && !rig_drops(reason))
            fail_msg("no random frame was dropped as %s", drop_info[reason].name);
    }
}
