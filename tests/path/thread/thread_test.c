// SPDX-License-Identifier: BSD-3-Clause
// thread_test.c - forwarders as threads: forwarding beside a writer, sleeping, stopping
//
// Here time is real: the test sends, writes tables and waits with a deadline
// while forwarder_main runs on a thread of its own.
#include "harness.h"

#include <rte_mbuf.h>
#include <stdio.h>
#include <time.h>

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
    in = rig_iface(0, 0, VR_DEFAULT);
    out = rig_iface(1, 0, VR_DEFAULT);
    adjacency = rig_adjacency(out, 1);
    rig_route(VR_DEFAULT, "198.51.100.0/24", adjacency);
    rig_role(ROLE_CONTROL);
    forwarder_slot[0].stop = 0;
    assert_int_equal(thread_start(&running, ROLE_FORWARDER, THREAD_SLOT_FORWARDER, "forwarder/0", -1, forwarder_main, NULL), 0);
}

static void stop(void)
{
    rcu_offline(); // or the thread's grace periods would wait for us
    __atomic_store_n(&forwarder_slot[0].stop, 1, __ATOMIC_RELEASE);
    thread_join(running);
    rcu_online();
}

static struct frame packet(void)
{
    return frame_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = "198.51.100.1"});
}

static void send_chunk(void)
{
    struct frame f = packet();

    for (unsigned i = 0; i < CHUNK; i++)
        rig_send(0, &f);
}

// Takes n frames within the deadline; `check` looks at each.
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

static void a_forwarder_thread_loses_nothing_in_any_idle_mode(void **state)
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

static void an_idle_forwarder_sleeps_and_does_not_hold_up_writers(void **state)
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

static void one_of_two_macs(const struct frame *f)
{
    if (memcmp(f->b, neighbor_mac(1), 6) && memcmp(f->b, neighbor_mac(0x5aa5), 6))
        fail_msg("a MAC that nobody has: %02x:%02x:%02x:%02x:%02x:%02x", f->b[0], f->b[1], f->b[2], f->b[3], f->b[4], f->b[5]);
    assert_true(frame_is_ip4_sound(f));
}

static void a_neighbour_that_keeps_changing_its_mac_never_gets_a_mixed_one(void **state)
{
    start();
    for (unsigned k = 0; k < 40; k++) {
        send_chunk();
        rig_role(ROLE_RIB_MANAGER);
        for (unsigned i = 0; i < 5; i++)
            nexthop_set_adjacency(adjacency, out, neighbor_mac(i % 2 ? 1 : 0x5aa5));
        receive_all(CHUNK, one_of_two_macs);
    }
    stop();
    assert_int_equal(rig_drops_all(), 0);
}

static void routes_come_and_go_under_traffic_and_the_stable_ones_lose_nothing(void **state)
{
    start();
    for (unsigned k = 0; k < 20; k++) {
        send_chunk();
        for (unsigned i = 0; i < 100; i++) {
            char text[PREFIX_TEXT_MAX];
            snprintf(text, sizeof text, "198.51.100.%u/32", 2 + i); // next to the one in use, below its prefix
            rig_route(VR_DEFAULT, text, adjacency);
            rig_unroute(VR_DEFAULT, text);
        }
        receive_all(CHUNK, NULL);
    }
    stop();
    assert_int_equal(rig_drops_all(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        path_test(a_forwarder_thread_loses_nothing_in_any_idle_mode),
        path_test(an_idle_forwarder_sleeps_and_does_not_hold_up_writers),
        path_test(a_neighbour_that_keeps_changing_its_mac_never_gets_a_mixed_one),
        path_test(routes_come_and_go_under_traffic_and_the_stable_ones_lose_nothing),
    };
    return path_run(tests);
}
