// SPDX-License-Identifier: BSD-3-Clause
// alarm_test.c - alarms are raised and end, by a clock of the test's own: each for its subject
//
// The engine is tested with values of one alarm, the subjects with the state of fake managers. Time
// passes only when a test lets it pass.
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alarm/alarm.h"
#include "alarm/window.h"
#include "base/clock.h"
#include "core/thread.h"
#include "fake/fake_managers.h"
#include "fake/fake_queue.h"
#include "fake/fake_rib.h"
#include "feature/alarm_watch.h"
#include "interface/kernel_state.h"
#include "rib/rib_manager.h"
#include "table/counter.h"
#include "table/nexthop.h"
#include "test_server.h"

static uint64_t now_s = 1000;
static int64_t clock_set_s; // seconds that the wall clock was set forward or back

static uint64_t wall_ns(void)
{
    return (uint64_t)(1800000000 + clock_set_s + (int64_t)now_s) * NS_PER_SECOND;
}

static void seconds_pass(unsigned n)
{
    while (n--) {
        alarm_watch_look(now_s * NS_PER_SECOND, wall_ns());
        event_base_loop(loop, EVLOOP_NONBLOCK);
        now_s++;
    }
}

static bool is_raised(enum alarm_name name)
{
    return alarm_active(name);
}

// The number of these alarms n seconds later.
static unsigned after(unsigned n, enum alarm_name name)
{
    seconds_pass(n);
    return alarm_active(name);
}

// --- engine -------------------------------------------------------------------------------------

static void observe(uint64_t value)
{
    alarm_round_begin(now_s * NS_PER_SECOND, wall_ns());
    now_s++;
    alarm_observe(ALARM_BUFFERS, "pool", value);
    alarm_round_end();
}

static void note_past(void *ctx, const struct alarm *a)
{
    unsigned *n = ctx;

    if (!(*n)++) {
        assert_string_equal(a->subject, "pool");
        assert_int_equal(a->peak, 99);
        assert_int_equal(a->count, 2);
        assert_true(a->cleared_wall_ns > a->raised_wall_ns);
    }
}

served_test(between_the_limits_an_alarm_stays_as_it_is)
{
    static const struct {
        uint64_t value;
        bool raised;
    } row[] = {{94, false}, {95, true}, {91, true}, {99, true}, {90, false},
               {94, false}, {96, true}, {99, true}, {0, false}};
    unsigned n_past = 0;

    alarm_init();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        observe(row[i].value);
        assert_int_equal(is_raised(ALARM_BUFFERS), row[i].raised);
    }
    assert_int_equal(alarm_raised_total(ALARM_BUFFERS), 2);
    alarm_each_past(note_past, &n_past);
    assert_int_equal(n_past, 2);
}

served_test(one_that_is_silenced_is_kept_and_counts_when_the_time_is_over)
{
    alarm_init();
    observe(99);
    assert_true(is_raised(ALARM_BUFFERS));
    assert_int_equal(alarm_silence(ALARM_BUFFERS, "another", 100, "alice"), 0);
    assert_true(is_raised(ALARM_BUFFERS));
    assert_int_equal(alarm_silence(ALARM_BUFFERS, "pool", 3, "alice"), 0);
    assert_false(is_raised(ALARM_BUFFERS));
    observe(0);
    observe(99); // raised again, within the time
    assert_false(is_raised(ALARM_BUFFERS));
    assert_int_equal(alarm_raised_total(ALARM_BUFFERS), 2);
    for (unsigned i = 0; i < 3; i++)
        observe(99);
    assert_true(is_raised(ALARM_BUFFERS));
    assert_int_equal(alarm_silence(ALARM_BUFFERS, "", 100, "alice"), 0); // for any subject
    assert_false(is_raised(ALARM_BUFFERS));
    assert_int_equal(alarm_silence(ALARM_BUFFERS, "", 0, "alice"), 0);
    assert_true(is_raised(ALARM_BUFFERS));
    for (unsigned i = 0; i < ALARM_SILENCES - 1; i++) { // plus the silence of "another"
        char subject[8];
        snprintf(subject, sizeof subject, "p%u", i);
        assert_int_equal(alarm_silence(ALARM_BUFFERS, subject, 100, "alice"), 0);
    }
    assert_int_equal(alarm_silence(ALARM_BUFFERS, "one more", 100, "alice"), -ENOSPC);
}

// Set back by a day, and forward by an hour: a silence lasts for its requested time.
served_test(a_silence_lasts_its_time_though_the_clock_is_set)
{
    for (int i = 0; i < 2; i++) {
        alarm_init();
        observe(99);
        assert_int_equal(alarm_silence(ALARM_BUFFERS, "", 60, "alice"), 0);
        clock_set_s = i ? 3600 : -86400;
        observe(99);
        assert_false(is_raised(ALARM_BUFFERS));
        for (unsigned s = 0; s < 60; s++)
            observe(99);
        assert_true(is_raised(ALARM_BUFFERS));
        clock_set_s = 0;
    }
}

served_test(what_is_gone_or_switched_off_has_no_alarm)
{
    struct alarm_limit limit[ALARM_N] = {0};

    alarm_init();
    observe(100);
    assert_true(is_raised(ALARM_BUFFERS));
    alarm_round_begin(now_s * NS_PER_SECOND, wall_ns());
    alarm_round_end(); // no sample of the pool
    assert_false(is_raised(ALARM_BUFFERS));
    observe(100);
    alarm_set_limits(limit);
    observe(100);
    assert_false(is_raised(ALARM_BUFFERS));
    observe(100);
    assert_false(is_raised(ALARM_BUFFERS));
}

static void count_one(void *ctx, const struct alarm *a)
{
    ++*(unsigned *)ctx;
}

served_test(the_history_keeps_the_newest)
{
    unsigned n = 0;

    alarm_init();
    for (unsigned i = 0; i < 3 * ALARM_HISTORY; i++)
        observe(i % 2 ? 0 : 100);
    alarm_each_past(count_one, &n);
    assert_int_equal(n, ALARM_HISTORY);
    assert_int_equal(alarm_raised_total(ALARM_BUFFERS), 3 * ALARM_HISTORY / 2);
}

unit_test(a_window_counts_what_grew_lately)
{
    struct window w = {.span_s = 60};

    assert_int_equal(window_grown(&w, 1000, 500 * NS_PER_SECOND),
                     0); // earlier values do not count
    assert_int_equal(window_grown(&w, 1005, 501 * NS_PER_SECOND), 5);
    assert_int_equal(window_grown(&w, 1007, 530 * NS_PER_SECOND), 7);
    assert_int_equal(window_grown(&w, 1007, 559 * NS_PER_SECOND), 7);
    assert_int_equal(window_grown(&w, 1007, 562 * NS_PER_SECOND), 2);
    assert_int_equal(window_grown(&w, 1007, 592 * NS_PER_SECOND), 0);
    assert_int_equal(window_grown(&w, 1107, 10000 * NS_PER_SECOND),
                     100); // sampled late: it grew since the last sample
    assert_int_equal(window_grown(&(struct window){.span_s = 3600}, 7, 5 * NS_PER_SECOND),
                     0); // soon after the machine's start
    assert_int_equal(window_grown(&w, 3, 10001 * NS_PER_SECOND), 0);      // counting restarted
}

// --- subjects -----------------------------------------------------------------------------------

served_test(packets_that_nobody_counted_raise_ledger)
{
    assert_false(after(12, ALARM_LEDGER));
    counter_mine()->tx += 3;
    assert_false(after(5, ALARM_LEDGER)); // may be in flight
    assert_true(after(6, ALARM_LEDGER));
    assert_gets("state/alarm=ledger,", "\"severity\":\"critical\"");
    assert_said("3 packets: packets appeared");
    assert_int_equal(ask("GET", "/metrics", NULL), 200);
    assert_said("kamuee_alarms{name=\"ledger\",severity=\"critical\"} 1\n");
    counter_mine()->tx -= 3;
    assert_false(after(1, ALARM_LEDGER));
    assert_gets("state/alarm-history", "\"until\":");
}

served_test(differences_found_by_audits_raise_fib_divergence_for_an_hour)
{
    assert_false(after(2, ALARM_FIB_DIVERGENCE)); // 7 old ones
    rib_audit_totals.fib_divergence++;
    assert_true(after(1, ALARM_FIB_DIVERGENCE));
    now_s += 3000;
    assert_true(after(1, ALARM_FIB_DIVERGENCE));
    now_s += 700;
    assert_false(after(1, ALARM_FIB_DIVERGENCE));
    rib_audit_totals.fib_divergence--;
}

served_test(dropped_control_packets_raise_punt_drops)
{
    struct counter_punt *c = &counter_mine()->punt_class[PUNT_ROUTING];

    seconds_pass(2);
    c->policed += 600;
    assert_false(after(1, ALARM_PUNT_DROPS));
    c->full += 400;
    assert_true(after(1, ALARM_PUNT_DROPS));
    assert_false(after(70, ALARM_PUNT_DROPS));
}

served_test(a_link_that_comes_and_goes_raises_link_flapping)
{
    fake_link_changes = 0;
    seconds_pass(1);
    for (unsigned i = 0; i < 4; i++) {
        fake_link_changes++;
        seconds_pass(1);
    }
    assert_false(is_raised(ALARM_LINK_FLAPPING));
    fake_link_changes++;
    assert_int_equal(after(1, ALARM_LINK_FLAPPING), 2); // p0 and p1
    assert_false(after(70, ALARM_LINK_FLAPPING));
}

served_test(a_port_without_carrier_raises_port_down)
{
    fake_down = true;
    assert_false(after(5, ALARM_PORT_DOWN));        // from the first time it is seen
    assert_int_equal(after(1, ALARM_PORT_DOWN), 2); // p0 and p1
    assert_gets("state/alarm=port-down,p0", "has no carrier");
    fake_down = false;
    assert_false(after(1, ALARM_PORT_DOWN));
}

served_test(a_lag_with_a_member_out_of_use_is_degraded)
{
    fake_lag = true;
    assert_false(after(1, ALARM_LAG_DEGRADED));
    fake_missing = 1;
    assert_int_equal(after(1, ALARM_LAG_DEGRADED), 1);
    fake_missing = 0;
    assert_false(after(1, ALARM_LAG_DEGRADED));
    fake_missing = 1;
    seconds_pass(1);
    fake_lag = false; // it is gone
    assert_false(after(1, ALARM_LAG_DEGRADED));
    fake_missing = 0;
}

served_test(a_device_that_takes_less_than_the_queues_rate_raises_queue_rate)
{
    fake_queue_shape("p0", "v40");
    assert_false(after(1, ALARM_QUEUE_RATE));
    fake_queue_takes_bps = 999999999; // one percent begins with the first missing bit
    assert_int_equal(after(1, ALARM_QUEUE_RATE), 1);
    fake_queue_takes_bps = 750000000;
    seconds_pass(1);
    assert_gets("state/alarm=queue-rate,p0", "\"value\":\"25\"");
    assert_said("p0: 25 percent: the port's device is slower than the queue's rate");
    fake_queue_takes_bps = 0;
    assert_false(after(1, ALARM_QUEUE_RATE));
    fake_queue_reset();
}

served_test(a_client_without_its_guarantee_raises_queue_guarantee)
{
    fake_queue_shape("p0", "v40");
    fake_queue_lacks = 9;
    assert_false(after(1, ALARM_QUEUE_GUARANTEE));
    fake_queue_lacks = 40;
    assert_int_equal(after(1, ALARM_QUEUE_GUARANTEE), 2);
    assert_gets("state/alarm=queue-guarantee,p0%20v40", "p0 v40: 40 percent");
    fake_queue_lacks = 0;
    assert_false(after(1, ALARM_QUEUE_GUARANTEE));
    fake_queue_reset();
}

served_test(a_segment_that_the_port_cut_raises_offload_cut)
{
    fake_offload_cut = 0;
    seconds_pass(1);
    fake_offload_cut++;
    assert_int_equal(after(1, ALARM_OFFLOAD_CUT), 2); // p0 and p1
    assert_false(after(70, ALARM_OFFLOAD_CUT));
}

served_test(a_hot_device_raises_temperature)
{
    seconds_pass(1);
    fake_celsius = 93;
    assert_int_equal(after(60, ALARM_TEMPERATURE), 2);
    fake_celsius = 85;
    assert_true(after(60, ALARM_TEMPERATURE));
    fake_celsius = 80;
    assert_false(after(60, ALARM_TEMPERATURE));
    fake_celsius = 93;
    seconds_pass(60);
    fake_celsius = 0; // the module was pulled
    assert_false(after(60, ALARM_TEMPERATURE));
}

served_test(a_forwarder_that_does_not_poll_raises_stall)
{
    uint64_t *polls = &((struct counter_block *)counter_of_slot(THREAD_SLOT_FORWARDER))->polls;

    for (unsigned i = 0; i < 10; i++) {
        ++*polls;
        seconds_pass(1);
    }
    assert_false(is_raised(ALARM_STALL));
    assert_int_equal(after(6, ALARM_STALL), 1);
    ++*polls;
    assert_false(after(1, ALARM_STALL));
}

served_test(a_rib_manager_that_does_not_answer_raises_stall)
{
    uint64_t *polls = &((struct counter_block *)counter_of_slot(THREAD_SLOT_FORWARDER))->polls;

    seconds_pass(2);
    fake_rib_silent = true;
    for (unsigned i = 0; i < 20; i++) {
        ++*polls;
        seconds_pass(1);
    }
    assert_int_equal(alarm_active(ALARM_STALL), 1);
    fake_rib_silent = false;
    fake_rib_answer();
    ++*polls;
    event_base_loop(loop, EVLOOP_NONBLOCK);
    assert_false(after(2, ALARM_STALL));
}

served_test(a_full_table_raises_table)
{
    assert_false(after(1, ALARM_TABLE));
    assert_int_equal(configure("set alarm table raise 1 clear 0"), 200);
    assert_false(after(1, ALARM_TABLE));
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_CONTROL);
    uint32_t id[NEXTHOP_MAX / 100 + 1];
    for (size_t i = 0; i < sizeof id / sizeof *id; i++)
        assert_true((id[i] = nexthop_new(NEXTHOP_BLACKHOLE, 0)));
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    assert_int_equal(after(1, ALARM_TABLE), 1);
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_CONTROL);
    for (size_t i = 0; i < sizeof id / sizeof *id; i++)
        nexthop_free(id[i]);
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    assert_false(after(1, ALARM_TABLE));
}

served_test(lost_announcements_raise_netlink_overrun_for_ten_minutes)
{
    assert_false(after(30, ALARM_NETLINK_OVERRUN));
    fake_rib_overruns = 1;
    assert_int_equal(after(15, ALARM_NETLINK_OVERRUN), 1);
    assert_gets("state/alarm=netlink-overrun,default", "1 overruns in ten minutes");
    now_s += 500;
    assert_true(after(15, ALARM_NETLINK_OVERRUN));
    now_s += 100;
    assert_false(after(15, ALARM_NETLINK_OVERRUN));
}

served_test(full_buffers_raise_buffers_and_end)
{
    seconds_pass(1);
    alarm_round_begin(now_s * NS_PER_SECOND, wall_ns());
    alarm_observe(ALARM_BUFFERS, "mbuf pool 0", 95);
    alarm_round_end();
    assert_true(is_raised(ALARM_BUFFERS));
    assert_false(after(1, ALARM_BUFFERS)); // no such pool exists
}

static void expect_bgp(const char *minimum)
{
    assert_int_equal(configure("set routing-daemon default bgp minimum-routes %s", minimum), 200);
}

static void expect_nothing(void)
{
    assert_int_equal(configure("delete routing-daemon default bgp"), 200);
}

served_test(too_few_routes_raise_routing_daemon)
{
    fake_readers = 1;
    fake_waiting = 0;
    assert_false(after(100, ALARM_ROUTING_DAEMON)); // no daemon is expected
    expect_bgp("900000");
    assert_false(after(100, ALARM_ROUTING_DAEMON));
    fake_rib_bgp = 899999;
    assert_false(after(29, ALARM_ROUTING_DAEMON)); // it may be restarting
    assert_int_equal(after(12, ALARM_ROUTING_DAEMON), 1);
    assert_get("state/alarm=routing-daemon,default%20bgp", 200);
    fake_rib_bgp = 900000;
    assert_false(after(11, ALARM_ROUTING_DAEMON));
    fake_rib_bgp = 0;
    expect_nothing();
    seconds_pass(100);
    expect_bgp("900000");
    assert_false(after(29, ALARM_ROUTING_DAEMON)); // counted from when it is expected again
    assert_true(after(15, ALARM_ROUTING_DAEMON));
}

served_test(a_daemon_that_ended_or_hangs_raises_routing_daemon)
{
    fake_readers = 1;
    fake_waiting = 0;
    expect_bgp("1");
    assert_false(after(60, ALARM_ROUTING_DAEMON));
    fake_readers = 0; // its socket went with it, its routes stay
    assert_int_equal(after(32, ALARM_ROUTING_DAEMON), 1);
    assert_get("state/alarm=routing-daemon,default%20netlink", 200);
    fake_readers = 1;
    assert_false(after(1, ALARM_ROUTING_DAEMON));
    for (fake_waiting = 5000; fake_waiting > 1000; fake_waiting -= 100) // it is slow
        seconds_pass(1);
    assert_false(is_raised(ALARM_ROUTING_DAEMON));
    assert_int_equal(after(32, ALARM_ROUTING_DAEMON), 1); // it stopped reading
    fake_waiting = 0;
    assert_false(after(1, ALARM_ROUTING_DAEMON));
}

static unsigned clear_session(const char *subject)
{
    char request[160];

    snprintf(request, sizeof request,
             "{\"kamuee:input\":{\"name\":\"session-down\",\"subject\":\"%s\"}}", subject);
    return (unsigned)ask("POST", "/restconf/operations/kamuee:clear-alarm", request);
}

served_test(a_bgp_session_that_was_up_and_ends_raises_session_down)
{
    fake_bgp_peer = "2001:db8:1111:2222:3333:4444:5555:6666";
    seconds_pass(5); // too short to count
    fake_bgp_peer = NULL;
    assert_false(after(30, ALARM_SESSION_DOWN));
    for (int i = 0; i < 2; i++) {
        fake_bgp_peer = "2001:db8:1111:2222:3333:4444:5555:6666";
        assert_false(after(15, ALARM_SESSION_DOWN));
        fake_bgp_peer = NULL;
        assert_false(after(10, ALARM_SESSION_DOWN));
        assert_int_equal(after(1, ALARM_SESSION_DOWN), 1);
    }
    assert_get("state/alarm=session-down,"
               "default%20bgp%202001:db8:1111:2222:3333:4444:5555:6666",
               200);
    assert_int_equal(clear_session("default bgp 192.0.2.1"), 404);
    assert_int_equal(clear_session("default bgp 2001:db8:1111:2222:3333:4444:5555:6666"), 204);
    assert_false(after(1, ALARM_SESSION_DOWN));
    assert_int_equal(clear_session(""), 404);
}

served_test(a_protocol_that_loses_its_last_route_raises_session_down)
{
    fake_rib_bgp = 7;
    seconds_pass(40);
    fake_rib_bgp = 1;
    assert_false(after(40, ALARM_SESSION_DOWN));
    fake_rib_bgp = 0;
    assert_int_equal(after(40, ALARM_SESSION_DOWN), 1);
    assert_get("state/alarm=session-down,default%20bgp", 200);
    fake_rib_bgp = 1;
    assert_false(after(20, ALARM_SESSION_DOWN));
    fake_rib_bgp = 0;
}

#define CHANGE(peers) "{\"kamuee:input\":{\"name\":\"edge\",\"lease\":60" peers "}}"
#define PEER(percent)                                                                              \
    ",\"peer\":[{\"address\":\"192.0.2.9\",\"limit-used\":" #percent                               \
    "},{\"address\":\"192.0.2.8\",\"limit-used\":10}]"

static int change_rules(const char *input)
{
    return ask("POST", "/restconf/operations/kamuee:acl-change", input);
}

served_test(a_client_tells_of_its_peers_limits_until_its_next_change)
{
    assert_int_equal(configure("set acl edge rule 10 deny ip"), 200);
    assert_int_equal(change_rules(CHANGE(PEER(79))), 200);
    assert_false(after(1, ALARM_FLOWSPEC_LIMIT));
    assert_int_equal(change_rules(CHANGE(PEER(80))), 200);
    assert_int_equal(after(1, ALARM_FLOWSPEC_LIMIT), 1);
    assert_get("state/alarm=flowspec-limit,edge%20192.0.2.9", 200);
    assert_int_equal(change_rules(CHANGE(PEER(71))), 200);
    assert_int_equal(after(1, ALARM_FLOWSPEC_LIMIT), 1);
    assert_int_equal(change_rules(CHANGE("")), 200);
    assert_false(after(1, ALARM_FLOWSPEC_LIMIT));
    assert_int_equal(change_rules(CHANGE(PEER(100))), 200);
    assert_int_equal(after(1, ALARM_FLOWSPEC_LIMIT), 1);
    assert_int_equal(configure("delete acl edge"), 200);
    assert_false(after(1, ALARM_FLOWSPEC_LIMIT));
    assert_int_equal(change_rules(CHANGE(PEER(300))), 400);
}

served_test(what_linux_has_and_we_do_not_follow_raises_kernel_state)
{
    kernel_state_set("p0", "master", true, "its TAP is part of br0");
    kernel_state_set("p0", "master", true, "its TAP is part of br1"); // the same alarm
    kernel_state_set("red", "namespace", true, "it was deleted");
    assert_int_equal(after(1, ALARM_KERNEL_STATE), 2);
    assert_get("state/alarm=kernel-state,p0%20master", 200);
    kernel_state_set("p0", "master", false, "%s", "");
    assert_int_equal(after(1, ALARM_KERNEL_STATE), 1);
    kernel_state_forget("red");
    assert_false(after(1, ALARM_KERNEL_STATE));
}
