// SPDX-License-Identifier: BSD-3-Clause
// trace_test.c - traced packets are forwarded like others, and the recorded steps are true
#include "random.h"

#include <rte_mbuf.h>
#include <stdlib.h>

#include "table/trace.h"

static unsigned watch; // of the last trace

// Traces `count` packets received by port 0 (`port` of the watch) for which `wanted` returns 1;
// NULL: all.
static void begin(unsigned count, uint64_t (*wanted)(void *m))
{
    struct watch w = {
        .to = WATCH_TO_TRACE, .filter = wanted ? (void *)&watch : NULL, .filter_code = wanted};

    router_role(ROLE_CONTROL);
    int r = watch_new(&w, 0);
    assert_true(r >= 0);
    watch = (unsigned)r;
    assert_int_equal(trace_begin(watch, count), 0);
    assert_int_equal(trace_begin(watch, count), -EBUSY);
    watch_bit_set(&port_get(0)->watch_rx, watch, true);
}

static void end_of(unsigned index)
{
    router_role(ROLE_CONTROL);
    watch_bit_set(&port_get(0)->watch_rx, index, false);
    trace_end(index);
    watch_free(index);
    assert_null(trace_at(index, 0));
}

static void end(void)
{
    end_of(watch);
}

static unsigned n_traced_of(unsigned index)
{
    unsigned n = 0;

    while (trace_at(index, n))
        n++;
    return n;
}

static unsigned n_traced(void)
{
    return n_traced_of(watch);
}

static uint8_t *l4_of(struct rte_mbuf *m)
{
    return rte_pktmbuf_mtod_offset(m, uint8_t *, 34);
}

// Source port is 7 modulo 10.
static uint64_t is_seventh(void *m)
{
    return l4_of(m)[1] % 10 == 7;
}

path_test(traced_packets_keep_their_place_among_the_others)
{
    uint16_t in = rig_iface(0, 0, VR_DEFAULT), out = rig_iface(1, 0, VR_DEFAULT);
    struct frame got;

    rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out, 1));
    begin(100, is_seventh);
    for (uint16_t sport = 0; sport < 200; sport++) {
        struct frame f =
            ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3", .sport = sport, .to_iface = in);
        rig_send(0, &f);
    }
    rig_poll();
    for (uint16_t sport = 0; sport < 200; sport++) { // 0 means 1000
        assert_true(rig_receive(1, &got));
        assert_int_equal(frame_l3(&got)[20] << 8 | frame_l3(&got)[21], sport ? sport : 1000);
    }
    assert_int_equal(n_traced(), 20);
    for (unsigned i = 0; i < 20; i++) {
        const struct packet_trace *p = trace_at(watch, i);
        assert_int_equal(p->bytes[p->in.at + 35], i * 10 + 7);
        assert_int_equal(packet_trace_last(p, TRACED_PACKET)->end, TRACED_SENT);
        assert_int_equal(p->frame[0].port, 1);
        assert_int_equal(p->in.port, 0);
        assert_true(p->tsc > 0);
    }
    end();
}

path_test(no_more_are_traced_than_asked_for)
{
    uint16_t in = rig_iface(0, 0, VR_DEFAULT), out = rig_iface(1, 0, VR_DEFAULT);

    rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out, 1));
    begin(5, NULL);
    for (unsigned i = 0; i < 300; i++) {
        struct frame f = ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3", .to_iface = in);
        rig_send(0, &f);
    }
    assert_int_equal(rig_poll_out(1), 300);
    assert_int_equal(n_traced(), 5);
    end();
}

// Each of three traces gets its own selection of the same packets, as if it were alone.
path_test(traces_do_not_disturb_each_other)
{
    uint16_t in = rig_iface(0, 0, VR_DEFAULT), out = rig_iface(1, 0, VR_DEFAULT);
    unsigned all, sevenths;

    rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out, 1));
    begin(200, NULL);
    all = watch;
    begin(200, is_seventh);
    sevenths = watch;
    begin(3, NULL);
    for (uint16_t sport = 0; sport < 100; sport++) {
        struct frame f =
            ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3", .sport = sport, .to_iface = in);
        rig_send(0, &f);
    }
    assert_int_equal(rig_poll_out(1), 100);
    assert_int_equal(n_traced_of(all), 100);
    assert_int_equal(n_traced_of(sevenths), 10);
    assert_int_equal(n_traced(), 3);
    for (unsigned i = 0; i < 10; i++) {
        const struct packet_trace *p = trace_at(sevenths, i), *q = trace_at(all, 10 * i + 7);
        assert_int_equal(p->bytes[p->in.at + 35], i * 10 + 7);
        assert_memory_equal(p, q, sizeof *p + p->used);
    }
    end();
    end_of(sevenths);
    assert_int_equal(n_traced_of(all), 100);
    end_of(all);
}

path_test(what_no_queue_takes_is_told)
{
    uint16_t in = rig_iface(0, 0, VR_DEFAULT), out = rig_iface(1, 0, VR_DEFAULT);

    rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out, 1));
    rig_route(VR_DEFAULT, "10.9.0.0/16", rig_nexthop(NEXTHOP_LOCAL, in));
    begin(10, NULL);
    rig_tx_block(1, true);
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3", .to_iface = in);
    rig_forward(0, &f);
    assert_int_equal(packet_trace_last(trace_at(watch, 0), TRACED_PACKET)->drop, DROP_TX_FULL);
    router_role(ROLE_CONTROL);
    punt_policy_set(PUNT_OTHER, &(struct punt_limit){.per_s = 1, .burst = 1, .queue = 0});
    f = ip_frame(.src = "192.0.2.1", .dst = "10.9.2.3", .to_iface = in);
    rig_forward(0, &f);
    const struct packet_trace_step *s = packet_trace_last(trace_at(watch, 1), TRACED_PACKET);
    assert_int_equal(s->drop, DROP_PUNT_RING_FULL);
    assert_string_equal(s->stage, "punt");
    end();
}

// Traces every second random frame, in bursts with the others: its counts equal the ledger's, and
// the results of explain for each frame alone.
static uint64_t every_second(void *m)
{
    static unsigned n;

    return n++ & 1;
}

static unsigned ends[TRACED_DROPPED + 1], drops[DROP_N];

static void count_traced(void)
{
    for (unsigned i = 0; trace_at(watch, i); i++) {
        const struct packet_trace *p = trace_at(watch, i);
        assert_true(p->n_steps > 0);
        for (unsigned k = 0; k < p->n_steps; k++) {
            const struct packet_trace_step *s = &p->step[k];
            ends[s->end]++;
            if (s->end == TRACED_DROPPED)
                drops[s->drop]++;
        }
        assert_in_range(packet_trace_last(p, TRACED_PACKET)->end, TRACED_SENT, TRACED_DROPPED);
    }
}

static void settle(void)
{
    static struct frame f;

    for (struct rte_mbuf *m; (m = rig_held());)
        rig_release(m);
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        while (rig_punted(c, &f, NULL))
            ;
    for (unsigned p = 0; p < RIG_PORTS; p++)
        rig_discard(p);
    rig_check_conservation();
}

path_test(tracing_random_frames_changes_nothing)
{
    static struct frame f;
    struct random r = {.state = 77};

    random_router();
    random_lists();
    rig_icmp_rate(1000000, 1000);
    for (unsigned round = 0; round < 100; round++) {
        unsigned sent = 0;
        begin(TRACE_COUNT_MAX, round % 2 ? every_second : NULL);
        for (unsigned i = 0; i < 60; i++) {
            unsigned port = random_frame(&r, &f);
            rig_send_mbuf(port, 0, rig_mbuf(&f, i % 3 ? 2048 : f.n / 20 + 40));
            sent += port == 0;
        }
        rig_poll();
        assert_int_equal(n_traced() >= (round % 2 ? sent / 2 : sent), 1);
        count_traced();
        settle();
        end();
    }
    for (unsigned e = TRACED_SENT; e <= TRACED_DROPPED; e++)
        assert_in_range(ends[e], 20, 100 * 60);
    for (unsigned d = 0; d < DROP_N; d++)
        assert_true(drops[d] <= rig_drops(d));
}
