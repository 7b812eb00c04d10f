// SPDX-License-Identifier: BSD-3-Clause
// plan_test.c - assignment of receive and transmit queues to forwarders, and idle forwarders
#include "harness.h"

#include <rte_ethdev.h>
#include <stdlib.h>

#include "forwarder/idle.h"

static uint16_t in, out;

void rig_begin(void)
{
    rig_in_and_out(&in, &out);
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_adjacency(out, 1));
}

static struct frame packet(void)
{
    return ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1");
}

static uint64_t rx_of(unsigned forwarder, uint16_t port, uint16_t queue)
{
    return forwarder_slot[forwarder].rx_stats[port][queue].packets;
}

path_test(a_queue_moves_between_running_forwarders_without_losing_a_packet)
{
    uint16_t port = iface_get(in)->port;
    struct plan_rx both[] = {{port, 0}, {port, 1}};
    rig_plan_set(0, rig_plan_new(0, both, 2));
    rig_plan_set(1, rig_plan_new(1, NULL, 0));
    struct frame f = packet();
    for (unsigned i = 0; i < 300; i++) {
        rig_send_queue(0, i % 2, &f);
        if (i == 100)
            rig_plan_set(
                0,
                rig_plan_new(0, both, 1)); // old plan, a grace period, new plan
        if (i == 101)
            rig_plan_set(1, rig_plan_new(1, both + 1, 1));
        if (i % 10 == 0) {
            rig_step(1);
            rig_step(0);
        }
    }
    assert_int_equal(rig_poll_out(1), 300);
    assert_int_equal(rig_drops_all(), 0);
    assert_int_equal(rx_of(0, port, 0), 150);
    assert_int_equal(rx_of(0, port, 1) + rx_of(1, port, 1), 150);
    assert_true(rx_of(0, port, 1) > 0);
    assert_true(rx_of(1, port, 1) > 0);
    assert_int_equal(forwarder_slot[0].rx_stats[port][0].bytes, 150 * f.n);
}

path_test(each_forwarder_sends_by_its_own_transmit_queue)
{
    uint16_t port = iface_get(in)->port;
    struct plan_rx q[] = {{port, 0}, {port, 1}};
    rig_plan_set(0, rig_plan_new(0, q, 1));
    rig_plan_set(1, rig_plan_new(1, q + 1, 1));
    struct frame g, f = packet();
    rig_send_queue(0, 0, &f);
    rig_send_queue(0, 1, &f);
    rig_poll();
    assert_true(rig_receive_queue(1, 0, &g));
    assert_true(rig_receive_queue(1, 1, &g));
}

path_test(without_a_plan_nothing_is_polled_and_injected_frames_are_dropped_by_name)
{
    struct frame f = packet();
    rig_plan_set(0, NULL);
    rig_send(0, &f);
    rig_inject_frame(0, out, &f);
    rig_poll();
    assert_only_drop(DROP_TX_NO_QUEUE, 1);
}

path_test(a_stopped_port_is_a_named_drop_and_not_counted_as_sent)
{
    struct plan_rx rx[] = {{iface_get(in)->port, 0}};
    struct plan *p = rig_plan_new(0, rx, 1);
    p->tx_owner[iface_get(out)->port] = PLAN_TX_NONE;
    rig_plan_set(0, p);
    struct frame f = packet();
    rig_send_n(0, &f, 10);
    rig_poll();
    assert_only_drop(DROP_TX_NO_QUEUE, 10);
    assert_int_equal(rig_counted(out).tx_packets, 0);
    assert_int_equal(rig_counted(out).tx_bytes, 0);
    assert_int_equal(rig_counted(out).drop_packets, 10);
}

path_test(a_port_that_takes_nothing_drops_by_name_and_others_go_on)
{
    uint16_t sub = rig_iface(1, 9, VR_DEFAULT), third = rig_iface(2, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "203.0.113.0/24", rig_adjacency(third, 2));
    rig_route(VR_DEFAULT, "203.0.113.128/25", rig_adjacency(sub, 2));
    rig_tx_block(1, true);
    for (unsigned i = 0; i < 30; i++) {
        struct frame f = ip_frame(.src = "192.0.2.1", .dst = i % 3 == 0   ? "198.51.100.1"
                                                             : i % 3 == 1 ? "203.0.113.1"
                                                                          : "203.0.113.129");
        rig_send(0, &f);
    }
    assert_int_equal(rig_poll_out(2), 10);
    assert_only_drop(DROP_TX_FULL, 20);
    assert_int_equal(rig_counted(sub).tx_packets, 0);
    assert_int_equal(rig_counted(sub).drop_packets, 10);
    assert_int_equal(rig_counted(out).tx_packets, 0);
    assert_int_equal(rig_counted(out).drop_packets, 10);
}

path_test(a_port_that_frees_without_looking_gets_copies_of_foreign_buffers)
{
    port_get(iface_get(out)->port)->fast_free = true;
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .payload = 900), g;
    rig_forward(0, &f);
    assert_int_equal(rte_mempool_in_use_count(exchange_pool),
                     0); // no other forwarders are known
    assert_true(rig_receive(1, &g));
    exchange_mix();
    rig_send(0, &f);
    rig_send_mbuf(0, 0, rig_mbuf(&f, 300)); // in segments
    rig_poll();
    assert_int_equal(rte_mempool_in_use_count(exchange_pool), 2);
    for (unsigned i = 0; i < 2; i++) {
        struct frame copy;
        assert_true(rig_receive(1, &copy));
        assert_int_equal(copy.n, g.n);
        assert_memory_equal(copy.b, g.b, g.n);
    }
    static struct rte_mbuf *all[8192];
    unsigned n = 0;
    while ((all[n] = rte_pktmbuf_alloc(exchange_pool)))
        n++;
    rig_forward(0, &f);
    rte_pktmbuf_free_bulk(all, n);
    assert_only_drop(DROP_TX_NO_BUFFER, 1);
    assert_int_equal(counter_of_slot(THREAD_SLOT_FORWARDER)->iface[out].tx_packets, 3);
}

path_test(polls_are_counted_and_idle_ones_apart)
{
    struct frame f = packet();
    rig_steps(0, 2);
    rig_send(0, &f);
    rig_steps(0, 2);
    const struct counter_block *c = counter_of_slot(THREAD_SLOT_FORWARDER);
    assert_int_equal(c->polls, 4);
    assert_int_equal(c->polls_idle, 3);
    assert_int_equal(c->bursts, 1);
    assert_true(c->busy_cycles > 0);
    assert_true(c->idle_cycles > 0);
}

path_test(each_burst_is_counted_by_its_size_and_one_in_61_is_timed)
{
    static const unsigned size[] = {1, 2, 3, 4, 15, 16, 63, 64};
    static const uint64_t in_bucket[BURST_SIZE_N] = {1, 2, 1, 1, 1, 1, 1};
    struct frame f = packet();
    for (unsigned k = 0; k < sizeof size / sizeof *size; k++) {
        rig_send_n(0, &f, size[k]);
        rig_step(0);
    }
    const struct counter_block *c = counter_of_slot(THREAD_SLOT_FORWARDER);
    assert_memory_equal(c->burst_size, in_bucket, sizeof in_bucket);
    for (unsigned i = 8; i < 61 + 61 + 1; i++) {
        rig_send(0, &f);
        rig_step(0);
    }
    assert_int_equal(c->bursts, 61 + 61 + 1);
    assert_int_equal(rig_discard(1), 168 + 115);
    static const enum stage passed[] = {STAGE_RX, STAGE_ETHER_IN, STAGE_IP4_FWD, STAGE_ETHER_OUT,
                                        STAGE_TX};
    for (unsigned i = 0; i < sizeof passed / sizeof *passed; i++) {
        const struct counter_stage *s = &c->stage[passed[i]];
        assert_int_equal(s->calls,
                         3); // bursts 1, 62 and 123, of one packet each
        assert_int_equal(s->packets, 3);
        assert_true(s->cycles > 0);
    }
    assert_int_equal(c->stage[STAGE_IP4_IN].calls, 0); // no odd packets
    assert_int_equal(c->stage[STAGE_IP6_IN].calls, 0);
    assert_int_equal(c->stage[STAGE_IP6_FWD].calls, 0);
    assert_int_equal(c->stage[STAGE_OTHER].calls, 0);
}

path_test(what_leaves_the_common_path_is_told_as_other)
{
    struct frame lost = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1");
    rig_send(0, &lost); // the first burst is a timed one
    rig_poll();
    assert_only_drop(DROP_IP4_NO_ROUTE, 1);
    const struct counter_block *c = counter_of_slot(THREAD_SLOT_FORWARDER);
    assert_int_equal(c->stage[STAGE_IP4_FWD].packets, 1);
    assert_int_equal(c->stage[STAGE_ETHER_OUT].packets, 0);
    assert_int_equal(c->stage[STAGE_OTHER].packets, 1);
}

// Plays a driver that can report its fill level, or cannot.
// uint32_t before DPDK 25.11
typedef __typeof__(rte_eth_fp_ops->rx_queue_count(NULL)) queue_count_t;
static queue_count_t waiting;
static queue_count_t count_waiting(void *queue)
{
    return waiting;
}

path_test(queue_depth_is_what_waited_before_the_burst)
{
    struct frame f = packet();
    uint16_t port = iface_get(in)->port;
    const struct plan_rx_stats *stats = &forwarder_slot[0].rx_stats[port][0];
    eth_rx_queue_count_t own = rte_eth_fp_ops[port].rx_queue_count;
    rte_eth_fp_ops[port].rx_queue_count = count_waiting;
    waiting = (queue_count_t)-ENOTSUP;
    rig_send(0, &f);
    rig_step(0);
    assert_int_equal(stats->depth_samples, 0);
    for (unsigned i = 0; i < 3 * 61; i++) {
        waiting = i < 61 ? 100 : 7;
        rig_send(0, &f);
        rig_send(0, &f);
        rig_step(0);
    }
    rte_eth_fp_ops[port].rx_queue_count = own;
    assert_int_equal(stats->depth_samples, 3);
    assert_int_equal(stats->depth, 9);
    assert_int_equal(stats->depth_max, 102);
    rig_discard(1);
}

// --- false sharing ---

#define LINE 64u

static const struct region { // all shared memory that forwarders 0 and 1 write
    const void *at;
    size_t n;
} *shared_regions(unsigned *n)
{
    static struct region r[3];

    r[0] =
        (struct region){counter_of_slot(THREAD_SLOT_FORWARDER), 2 * sizeof(struct counter_block)};
    r[1] = (struct region){forwarder_slot, 2 * sizeof *forwarder_slot};
    r[2] = (struct region){nexthop_used_mark[0], 2 * NEXTHOP_MAX};
    *n = 3;
    return r;
}

// Marks the lines of the regions that differ from `before`, and updates `before`.
static unsigned lines_written(uint8_t *before, uint8_t *mark, uint8_t bit)
{
    unsigned n_regions, n = 0, line = 0;
    const struct region *r = shared_regions(&n_regions);

    for (unsigned k = 0; k < n_regions; k++) {
        assert_int_equal((uintptr_t)r[k].at % LINE, 0);
        assert_int_equal(r[k].n % LINE, 0);
        for (size_t at = 0; at < r[k].n; at += LINE, line++) {
            const uint8_t *now = (const uint8_t *)r[k].at + at;
            if (!memcmp(before + (size_t)line * LINE, now, LINE))
                continue;
            mark[line] |= bit;
            n++;
            memcpy(before + (size_t)line * LINE, now, LINE);
        }
    }
    return n;
}

path_test(no_cache_line_is_written_by_two_forwarders)
{
    uint16_t port = iface_get(in)->port;
    struct plan_rx q[] = {{port, 0}, {port, 1}};
    rig_plan_set(0, rig_plan_new(0, q, 1));
    rig_plan_set(1, rig_plan_new(1, q + 1, 1));
    struct frame good = packet(), lost = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1");
    unsigned n_regions;
    size_t bytes = 0;
    const struct region *r = shared_regions(&n_regions);
    for (unsigned k = 0; k < n_regions; k++)
        bytes += r[k].n;
    uint8_t *before = calloc(1, bytes), *mark = calloc(1, bytes / LINE);
    lines_written(before, mark, 0);
    for (unsigned f = 0; f < 2; f++) {
        for (unsigned i = 0; i < 200; i++) {
            rig_send_queue(0, f, i % 4 ? &good : &lost);
            if (i % 16 == 0)
                rig_step(f);
        }
        rig_step(f);
        assert_true(lines_written(before, mark, (uint8_t)(1u << f)) > 3);
    }
    for (size_t line = 0; line < bytes / LINE; line++)
        if (mark[line] == 3)
            fail_msg("line %zu of what forwarders write is written by both", line);
    free(before);
    free(mark);
    rig_discard(1);
    assert_only_drop(DROP_IP4_NO_ROUTE, 100);
}

#define RING 1024 // descriptors

static uint32_t sleep_us(uint8_t mode, uint64_t idle_us, uint32_t last_us, uint32_t cost_ns,
                         uint32_t descriptors)
{
    struct idle_pause p = {idle_us, idle_us, last_us, cost_ns, descriptors};

    return idle_sleep_us(mode, &p);
}

path_test(idle_performance_never_sleeps)
{
    assert_int_equal(sleep_us(IDLE_PERFORMANCE, 0, 0, 0, RING), 0);
    assert_int_equal(sleep_us(IDLE_PERFORMANCE, 3600000000u, 0, 5000, RING), 0);
}

path_test(idle_sleep_grows_within_the_bounds_of_the_mode)
{
    uint32_t last = 0, total = 0;

    assert_int_equal(sleep_us(IDLE_BALANCED, 299, 0, 0, RING), 0);
    for (unsigned i = 0; i < 10; i++, total += last) {
        uint32_t next = sleep_us(IDLE_BALANCED, 300 + total, last, 30000, RING);
        assert_true(next >= last && next >= 20 && next <= 100);
        last = next;
    }
    assert_int_equal(last, 100);
    assert_int_equal(sleep_us(IDLE_BALANCED, 100000, last, 30000, RING), 100);
    assert_int_equal(sleep_us(IDLE_BALANCED, 150000, last, 30000, RING), 150);
    assert_int_equal(sleep_us(IDLE_BALANCED, 700000, 600, 30000, RING), 700);
    last = 0;
    for (unsigned i = 0; i < 10; i++) {
        uint32_t next = sleep_us(IDLE_POWERSAVE, 60, last, 0, RING);
        assert_true(next >= last && next >= 50 && next <= 2 * RING);
        last = next;
    }
    assert_int_equal(last, 2 * RING);
}

path_test(idle_sleep_in_a_long_silence_follows_its_cost)
{
    static const struct {
        uint32_t cost_ns, us;
    } want[] = {{0, 100},      {1000, 100},   {1500, 150},    {3900, 390},
                {10000, 1000}, {30000, 2048}, {500000, 2048}, {UINT32_MAX, 2048}};

    for (unsigned k = 0; k < sizeof want / sizeof *want; k++) {
        uint32_t last = 100;
        for (unsigned i = 0; i < 10; i++)
            last = sleep_us(IDLE_BALANCED, 10000000 + i, last, want[k].cost_ns, RING);
        assert_int_equal(last, want[k].us);
    }
}

path_test(idle_sleep_is_no_longer_than_the_ring_bridges)
{
    static const struct {
        uint32_t descriptors, us;
    } want[] = {{32, 100}, {128, 256}, {512, 1024}, {1024, 2048}, {4096, 4000}, {UINT16_MAX, 4000}};

    for (enum idle_mode mode = IDLE_BALANCED; mode <= IDLE_POWERSAVE; mode++)
        for (unsigned k = 0; k < sizeof want / sizeof *want; k++) {
            uint32_t last = 0;
            for (unsigned i = 0; i < 20; i++)
                last = sleep_us(mode, 3600000000u, last, 100000, want[k].descriptors);
            assert_int_equal(last, want[k].us);
        }
}

path_test(idle_sleep_grows_at_once_when_a_packet_has_not_ended_the_silence)
{
    struct idle_pause p = {
        .idle_us = 299, .silence_us = 10000000, .cost_ns = 30000, .descriptors = RING};

    assert_int_equal(idle_sleep_us(IDLE_BALANCED, &p), 0);
    p.idle_us = 300;
    for (uint32_t want = 20; want < 2048; want *= 2) {
        p.last_us = idle_sleep_us(IDLE_BALANCED, &p);
        assert_int_equal(p.last_us, want);
    }
    p.silence_us = 300000; // but there was recent traffic
    assert_int_equal(idle_sleep_us(IDLE_BALANCED, &p), 300);
}
