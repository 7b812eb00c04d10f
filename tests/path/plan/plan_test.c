// SPDX-License-Identifier: BSD-3-Clause
// plan_test.c - who polls which queue, who sends by which, what an idle forwarder does
#include "harness.h"

#include "forwarder/idle.h"

static uint16_t in, out;

static void two_interfaces(void)
{
    in = rig_iface(0, 0, VR_DEFAULT);
    out = rig_iface(1, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_adjacency(out, 1));
}

static struct frame packet(void)
{
    return frame_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = "198.51.100.1"});
}

static uint64_t rx_of(unsigned forwarder, uint16_t port, uint16_t queue)
{
    return forwarder_slot[forwarder].rx_stats[port][queue].packets;
}

static void a_queue_moves_between_running_forwarders_without_losing_a_packet(void **state)
{
    two_interfaces();
    uint16_t port = iface_get(in)->port;
    struct plan_rx both[] = {{port, 0}, {port, 1}};
    rig_plan_set(0, rig_plan_new(0, both, 2));
    rig_plan_set(1, rig_plan_new(1, NULL, 0));
    struct frame f = packet();
    for (unsigned i = 0; i < 300; i++) {
        rig_send_queue(0, i % 2, &f);
        if (i == 100)
            rig_plan_set(0, rig_plan_new(0, both, 1)); // out of the old plan, a grace period, into the new one
        if (i == 101)
            rig_plan_set(1, rig_plan_new(1, both + 1, 1));
        if (i % 10 == 0) {
            rig_step(1);
            rig_step(0);
        }
    }
    rig_poll();
    assert_int_equal(rig_discard(1), 300);
    assert_int_equal(rig_drops_all(), 0);
    assert_int_equal(rx_of(0, port, 0), 150);
    assert_int_equal(rx_of(0, port, 1) + rx_of(1, port, 1), 150);
    assert_true(rx_of(0, port, 1) > 0);
    assert_true(rx_of(1, port, 1) > 0);
    assert_int_equal(forwarder_slot[0].rx_stats[port][0].bytes, 150 * f.n);
}

static void each_forwarder_sends_by_its_own_transmit_queue(void **state)
{
    two_interfaces();
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

static void without_a_plan_nothing_is_polled_and_injected_frames_are_dropped_by_name(void **state)
{
    two_interfaces();
    struct frame f = packet();
    rig_plan_set(0, NULL);
    rig_send(0, &f);
    rig_inject_frame(0, out, &f);
    rig_poll();
    assert_only_drop(DROP_TX_NO_QUEUE, 1);
}

static void a_stopped_port_is_a_named_drop_and_not_counted_as_sent(void **state)
{
    two_interfaces();
    struct plan_rx rx[] = {{iface_get(in)->port, 0}};
    struct plan *p = rig_plan_new(0, rx, 1);
    p->tx_owner[iface_get(out)->port] = PLAN_TX_NONE;
    rig_plan_set(0, p);
    struct frame f = packet();
    for (unsigned i = 0; i < 10; i++)
        rig_send(0, &f);
    rig_poll();
    assert_only_drop(DROP_TX_NO_QUEUE, 10);
    struct counter_iface c;
    counter_sum_iface(out, &c);
    assert_int_equal(c.tx_packets, 0);
    assert_int_equal(c.tx_bytes, 0);
    assert_int_equal(c.drop_packets, 10);
}

static void a_port_that_takes_nothing_drops_by_name_and_others_go_on(void **state)
{
    two_interfaces();
    uint16_t sub = rig_iface(1, 9, VR_DEFAULT), third = rig_iface(2, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "203.0.113.0/24", rig_adjacency(third, 2));
    rig_route(VR_DEFAULT, "203.0.113.128/25", rig_adjacency(sub, 2));
    rig_tx_block(1, true);
    for (unsigned i = 0; i < 30; i++) {
        struct frame f = frame_ip(&(struct ip_spec){
            .src = "192.0.2.1", .dst = i % 3 == 0 ? "198.51.100.1" : i % 3 == 1 ? "203.0.113.1" : "203.0.113.129"});
        rig_send(0, &f);
    }
    rig_poll();
    assert_int_equal(rig_discard(2), 10);
    assert_only_drop(DROP_TX_FULL, 20);
    struct counter_iface c;
    counter_sum_iface(sub, &c);
    assert_int_equal(c.tx_packets, 0);
    assert_int_equal(c.drop_packets, 10);
    counter_sum_iface(out, &c);
    assert_int_equal(c.tx_packets, 0);
    assert_int_equal(c.drop_packets, 10);
}

static void polls_are_counted_and_idle_ones_apart(void **state)
{
    two_interfaces();
    struct frame f = packet();
    rig_step(0);
    rig_step(0);
    rig_send(0, &f);
    rig_step(0);
    rig_step(0);
    const struct counter_block *c = counter_of_slot(THREAD_SLOT_FORWARDER);
    assert_int_equal(c->polls, 4);
    assert_int_equal(c->polls_idle, 3);
    assert_int_equal(c->bursts, 1);
    assert_true(c->busy_cycles > 0);
    assert_true(c->idle_cycles > 0);
}

static void idle_sleep_grows_within_the_bounds_of_the_mode(void **state)
{
    uint32_t last = 0, total = 0;

    assert_int_equal(idle_sleep_us(IDLE_PERFORMANCE, 1000000, 0), 0);
    assert_int_equal(idle_sleep_us(IDLE_BALANCED, 299, 0), 0);
    for (unsigned i = 0; i < 10; i++, total += last) {
        uint32_t next = idle_sleep_us(IDLE_BALANCED, 300 + total, last);
        assert_true(next >= last && next >= 20 && next <= 100);
        last = next;
    }
    assert_int_equal(last, 100);
    last = 0;
    for (unsigned i = 0; i < 10; i++) {
        last = idle_sleep_us(IDLE_POWERSAVE, 60, last);
        assert_in_range(last, 50, 1000);
    }
    assert_int_equal(last, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        path_test(a_queue_moves_between_running_forwarders_without_losing_a_packet),
        path_test(each_forwarder_sends_by_its_own_transmit_queue),
        path_test(without_a_plan_nothing_is_polled_and_injected_frames_are_dropped_by_name),
        path_test(a_stopped_port_is_a_named_drop_and_not_counted_as_sent),
        path_test(a_port_that_takes_nothing_drops_by_name_and_others_go_on),
        path_test(polls_are_counted_and_idle_ones_apart),
        path_test(idle_sleep_grows_within_the_bounds_of_the_mode),
    };
    return path_run(tests);
}
