// SPDX-License-Identifier: BSD-3-Clause
// thread_test.c - forwarders as threads: forwarding next to a writer, sleeping, stopping
//
// These tests use real time: they send, write tables and wait with a deadline while forwarder_main
// runs on its own thread.
#include "harness.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/rcu.h"

#define MS 1000000ull // ns
#define DEADLINE_NS (20000 * MS)
#define CHUNK 500u // fits a receive ring

static uint16_t in, out;
static uint32_t adjacency;
static struct thread *running;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void start(void)
{
    rig_in_and_out(&in, &out);
    adjacency = rig_adjacency(out, 1);
    rig_route(VR_DEFAULT, "198.51.100.0/24", adjacency);
    router_role(ROLE_CONTROL);
    forwarder_slot[0].stop = 0;
    assert_int_equal(thread_start(&running, ROLE_FORWARDER, THREAD_SLOT_FORWARDER, "forwarder/0",
                                  -1, forwarder_main, NULL),
                     0);
}

static void stop(void)
{
    rcu_offline(); // otherwise the thread's grace periods would wait for us
    __atomic_store_n(&forwarder_slot[0].stop, 1, __ATOMIC_RELEASE);
    waker_wake(&forwarder_slot[0].waker);
    thread_join(running);
    rcu_online();
}

static struct frame packet(void)
{
    return ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1");
}

static void send_chunk(void)
{
    struct frame f = packet();

    rig_send_n(0, &f, CHUNK);
}

// Takes n frames within the deadline and passes each to `check`.
static void receive_all(unsigned n, void (*check)(const struct frame *f))
{
    static struct frame g;
    uint64_t end = now_ns() + DEADLINE_NS;

    while (n) {
        if (rig_receive(1, &g)) {
            if (check)
                check(&g);
            n--;
        } else if (now_ns() > end) {
            fail_msg("%u frames have not come", n);
        }
        rcu_quiescent();
    }
}

path_test(a_forwarder_thread_loses_nothing_in_any_idle_mode)
{
    start();
    for (unsigned mode = IDLE_PERFORMANCE; mode <= IDLE_POWERSAVE; mode++) {
        plan_idle_mode = (uint8_t)mode;
        for (unsigned k = 0; k < 10; k++) {
            uint64_t pause = now_ns() + k * 3 * MS / 10; // longer pauses let it sleep longer
            while (now_ns() < pause)
                ;
            send_chunk();
            receive_all(CHUNK, NULL);
        }
    }
    stop();
    plan_idle_mode = IDLE_BALANCED;
    assert_int_equal(rig_drops_all(), 0);
}

path_test(an_idle_forwarder_sleeps_and_does_not_hold_up_writers)
{
    start();
    plan_idle_mode = IDLE_BALANCED;
    struct timespec t = {.tv_nsec = 20 * 1000 * 1000};
    rcu_offline();
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL); // past its spinning
    uint64_t wall = now_ns(), used = thread_cpu_time_ns(running);
    t.tv_nsec = 300 * 1000 * 1000;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    wall = now_ns() - wall;
    used = thread_cpu_time_ns(running) - used;
    rcu_online();
    assert_in_range(used, 1, wall / 2);
    uint64_t begin = now_ns();
    for (unsigned i = 0; i < 10; i++)
        rcu_synchronize();
    assert_true(now_ns() - begin < 10000 * MS);
    stop();
}

// --- a forwarder that need not poll ---

static int queue_fd; // readable when the queue has packets, as the test decides

static void start_waiting_by(enum plan_wake wake)
{
    start();
    queue_fd = eventfd(0, EFD_NONBLOCK);
    struct plan_rx rx[] = {{iface_get(in)->port, 0}};
    struct plan *p = rig_plan_new(0, rx, 1);
    p->n_wait = 1;
    p->wait[0] = (struct plan_wait){.port = rx[0].port, .wake = (uint8_t)wake, .fd = queue_fd};
    p->serial = 1;
    rig_plan_set(0, p);
}

// Forwarder 0 sleeps until woken, or for 100 ms.
static void start_waiting(void)
{
    start_waiting_by(WAKE_READABLE);
}

static void stop_waiting(void)
{
    stop();
    close(queue_fd);
}

static void until_asleep(void)
{
    uint64_t end = now_ns() + DEADLINE_NS;

    rcu_offline();
    while (!__atomic_load_n(&forwarder_slot[0].waker.sleeps, __ATOMIC_RELAXED))
        if (now_ns() > end)
            fail_msg("the forwarder does not fall asleep");
    rcu_online();
}

#define ROUNDS 400u // if it slept for 100 ms in each, it would miss the deadline

path_test(a_sleeping_forwarder_wakes_for_each_injected_packet)
{
    struct frame g, f = packet();

    start_waiting();
    uint64_t end = now_ns() + DEADLINE_NS;
    for (unsigned i = 0; i < ROUNDS; i++) {
        until_asleep();
        rig_inject_frame(0, out, &f);
        waker_wake(&forwarder_slot[0].waker);
        while (!rig_receive(1, &g)) {
            rcu_quiescent();
            if (now_ns() > end)
                fail_msg("injected packet %u is late: nobody woke the forwarder", i);
        }
    }
    stop_waiting();
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_sleeping_forwarder_wakes_for_its_queues_and_takes_all_of_a_burst)
{
    struct frame g;

    start_waiting();
    uint64_t end = now_ns() + DEADLINE_NS, one = 1, n;
    for (unsigned i = 0; i < ROUNDS; i++) {
        until_asleep();
        send_chunk();
        assert_int_equal(write(queue_fd, &one, sizeof one), sizeof one);
        for (unsigned k = 0; k < CHUNK;) {
            rcu_quiescent();
            k += rig_receive(1, &g);
            if (now_ns() > end)
                fail_msg("burst %u is late", i);
        }
        assert_int_equal(read(queue_fd, &n, sizeof n), sizeof n);
    }
    stop_waiting();
    assert_int_equal(rig_drops_all(), 0);
}

static uint64_t polls(void)
{
    return __atomic_load_n(&counter_of_slot(THREAD_SLOT_FORWARDER)->polls, __ATOMIC_RELAXED);
}

static void until_polls(uint64_t n)
{
    uint64_t end = now_ns() + DEADLINE_NS;

    while (polls() < n) {
        rcu_quiescent();
        if (now_ns() > end)
            fail_msg("the forwarder does not poll");
    }
}

path_test(a_queue_that_is_always_readable_but_empty_does_not_keep_the_forwarder_busy)
{
    uint64_t one = 1;

    start_waiting();
    assert_int_equal(write(queue_fd, &one, sizeof one), sizeof one);
    until_asleep();
    until_polls(polls() + 100); // past the vain and the short sleeps
    uint64_t begin = now_ns();
    until_polls(polls() + 1000);
    assert_true(now_ns() - begin >= 1000 * 90000); // a sleep of 100 us is never shorter
    send_chunk();
    receive_all(CHUNK, NULL);
    stop_waiting();
    assert_int_equal(rig_drops_all(), 0);
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

// These ports have no interrupts: enabling one fails, as for a vhost device without a guest.
path_test(a_queue_whose_interrupt_cannot_be_switched_on_is_polled)
{
    uint64_t one = 1;

    start_waiting_by(WAKE_EVENT);
    until_asleep();
    uint64_t begin = now_ns();
    until_polls(polls() + 100);
    assert_true(now_ns() - begin < 100 * 50 * MS); // woken by the clock
    assert_int_equal(write(queue_fd, &one, sizeof one), sizeof one);
    begin = now_ns();
    while (is_readable(queue_fd)) // the woken forwarder empties it
        if (now_ns() - begin > DEADLINE_NS)
            fail_msg("the eventfd of an interrupt is not emptied");
    for (unsigned i = 0; i < 20; i++) {
        send_chunk();
        receive_all(CHUNK, NULL);
    }
    stop_waiting();
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_new_plan_wakes_a_sleeping_forwarder)
{
    start_waiting();
    uint64_t end = now_ns() + DEADLINE_NS;
    for (unsigned i = 0; i < ROUNDS; i++) {
        until_asleep();
        uint64_t before = polls();
        struct plan *p = malloc(sizeof *p);
        *p = *forwarder_slot[0].plan;
        rig_plan_set(0, p);
        waker_wake(&forwarder_slot[0].waker);
        while (polls() == before) {
            rcu_quiescent();
            if (now_ns() > end)
                fail_msg("plan %u is late: nobody woke the forwarder", i);
        }
    }
    stop_waiting();
}

// --- a forwarder wakes a sleeper ---

static bool is_woken(const struct waker *w)
{
    return is_readable(w->fd);
}

static void until_woken(const struct waker *w)
{
    uint64_t end = now_ns() + DEADLINE_NS;

    while (!is_woken(w)) {
        rcu_quiescent();
        if (now_ns() > end)
            fail_msg("nobody was woken");
    }
}

path_test(the_first_punted_packet_wakes_tap_manager_and_a_forwarded_one_does_not)
{
    start();
    rig_route(VR_DEFAULT, "203.0.113.1/32", rig_nexthop(NEXTHOP_LOCAL, in));
    struct frame ours = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1");
    waker_prepare(&exchange_punt_waker);
    send_chunk();
    receive_all(CHUNK, NULL);
    until_polls(polls() + 2); // wakes follow the poll that took the packets
    assert_false(is_woken(&exchange_punt_waker));
    rig_send(0, &ours);
    until_woken(&exchange_punt_waker);
    assert_int_equal(exchange_punted(), 1);
    waker_done(&exchange_punt_waker);
    stop();
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_packet_handed_over_wakes_the_forwarder_that_sends_it)
{
    start();
    struct plan_rx rx[] = {{iface_get(in)->port, 0}};
    struct plan *p = rig_plan_new(0, rx, 1);
    p->tx_owner[iface_get(out)->port] = 1;
    rig_plan_set(1, rig_plan_new(1, NULL, 0));
    rig_plan_set(0, p);
    struct frame f = packet();
    waker_prepare(&forwarder_slot[1].waker);
    rig_send(0, &f);
    until_woken(&forwarder_slot[1].waker);
    waker_done(&forwarder_slot[1].waker);
    stop();
    rig_step(1);
    assert_int_equal(rig_discard(1), 1);
    assert_int_equal(rig_drops_all(), 0);
}

static void one_of_two_macs(const struct frame *f)
{
    if (memcmp(f->b, neighbor_mac(1), 6) && memcmp(f->b, neighbor_mac(0x5aa5), 6))
        fail_msg("a MAC that nobody has: %02x:%02x:%02x:%02x:%02x:%02x", f->b[0], f->b[1], f->b[2],
                 f->b[3], f->b[4], f->b[5]);
    assert_true(frame_is_ip4_sound(f));
}

path_test(a_neighbor_that_keeps_changing_its_mac_never_gets_a_mixed_one)
{
    start();
    for (unsigned k = 0; k < 40; k++) {
        send_chunk();
        router_role(ROLE_RIB_MANAGER);
        for (unsigned i = 0; i < 5; i++)
            nexthop_set_adjacency(adjacency, out, neighbor_mac(i % 2 ? 1 : 0x5aa5));
        receive_all(CHUNK, one_of_two_macs);
    }
    stop();
    assert_int_equal(rig_drops_all(), 0);
}

path_test(routes_come_and_go_under_traffic_and_the_stable_ones_lose_nothing)
{
    start();
    for (unsigned k = 0; k < 20; k++) {
        send_chunk();
        for (unsigned i = 0; i < 100; i++) {
            char text[PREFIX_TEXT_MAX];
            snprintf(text, sizeof text, "198.51.100.%u/32",
                     2 + i); // next to the prefix in use, below its covering prefix
            rig_route(VR_DEFAULT, text, adjacency);
            rig_unroute(VR_DEFAULT, text);
        }
        receive_all(CHUNK, NULL);
    }
    stop();
    assert_int_equal(rig_drops_all(), 0);
}
