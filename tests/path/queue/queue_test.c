// SPDX-License-Identifier: BSD-3-Clause
// queue_test.c - a port with a queue: feeders, owner, and packets in it
//
// The clock is the TSC. Rates are either so high that nothing waits, or so low that after the first
// packets nothing leaves during a test.
#include "harness.h"

#include <rte_cycles.h>
#define ALLOW_EXPERIMENTAL_API // rte_ring_elem
#include <rte_ring_elem.h>
#include <stdlib.h>

#include "core/rcu.h"
#include "table/packet_trace.h"
#include "table/port_queue.h"

#define FAST 100000000000ull
#define SLOW 100000ull // 64 bytes take five milliseconds
#define LIMIT (1u << 20)
#define CLASS_OF_EF 1
#define CLASS_OF_DEFAULT 6
#define DSCP_EF 46

static uint16_t in, out, port;
static struct port_queue queue;

static uint64_t held(void)
{
    struct ledger l;

    ledger_read(&l, 2);
    assert_int_equal(l.imbalance, 0);
    return l.held;
}

// --- fixture, instead of port_queue_manager ------------------------------------------------------

static struct queue_client_config weights(void)
{
    struct queue_client_config c = {.weight = 1, .limit_bytes = LIMIT};

    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        c.class[k] = (struct queue_class_config){.weight = k > CLASS_OF_EF, .limit_bytes = LIMIT};
    return c;
}

static uint32_t serial; // of the last settings

static struct port_queue_settings *settings_new(uint64_t rate_bps)
{
    struct port_queue_settings *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->rate_bps = rate_bps;
    s->packets_max = 4000;
    s->n = VR_MAX;
    for (unsigned i = 0; i < s->n; i++)
        s->client[i] = weights();
    memset(s->map.of_dscp, CLASS_OF_DEFAULT, sizeof s->map.of_dscp);
    s->map.of_dscp[DSCP_EF] = CLASS_OF_EF;
    s->map.other = CLASS_OF_DEFAULT;
    return s;
}

static void settings_set(struct port_queue_settings *s)
{
    struct port_queue_settings *old = queue.settings;

    s->serial = ++serial;
    rcu_publish(&queue.settings, s);
    rcu_synchronize();
    free(old);
}

static void rings_make(void)
{
    for (unsigned f = 0; f < RIG_FORWARDERS; f++) {
        queue.ring[f] = rte_ring_create_elem(f ? "queue-1" : "queue-0",
                                             sizeof(struct port_queue_element),
                                             PORT_QUEUE_RING_SIZE, SOCKET_ID_ANY,
                                             RING_F_SP_ENQ | RING_F_SC_DEQ);
        assert_non_null(queue.ring[f]);
    }
}

static void plans_set(unsigned owner)
{
    for (unsigned f = 0; f < RIG_FORWARDERS; f++) {
        struct plan_rx rx = {iface_get(in)->port, (uint16_t)f};
        struct plan *p = rig_plan_new(f, &rx, 1);

        p->tx_owner[port] = PLAN_TX_QUEUE;
        p->queue[port] = &queue;
        p->queue_owner[port] = (uint8_t)owner;
        if (owner == f)
            p->owned[p->n_owned++] = (uint8_t)port;
        rig_plan_set(f, p);
    }
}

static void router(uint64_t rate_bps)
{
    rig_in_and_out(&in, &out);
    port = iface_get(out)->port;
    rig_routes(VR_DEFAULT, "198.51.100.0/24", "2001:db8:1::/48", rig_adjacency(out, 1));
    memset(&queue, 0, sizeof queue);
    queue.port = port;
    queue.core = -1;
    queue.manager = queue_make(&(struct queue_config){.ticks_hz = rte_get_tsc_hz(),
                                                      .rate_bps = rate_bps,
                                                      .clients = PORT_QUEUE_CLIENTS,
                                                      .packets_max = 4000,
                                                      .frame_max = 1518});
    queue.current = calloc(PORT_QUEUE_CLIENTS, sizeof *queue.current);
    queue.full = calloc(PORT_QUEUE_CLIENTS, 1);
    assert_true(queue.manager && queue.current && queue.full);
    rings_make();
    settings_set(settings_new(rate_bps));
    plans_set(0);
}

// Sends all packets and removes the queue.
static void router_end(void)
{
    settings_set(settings_new(FAST));
    plans_set(0);
    for (unsigned i = 0; i < 1000 && held(); i++)
        rig_step(0);
    assert_int_equal(held(), 0);
    assert_int_equal(queue.n_full, 0);
    for (unsigned f = 0; f < RIG_FORWARDERS; f++)
        rig_plan_set(f, rig_plan_new(f, NULL, 0));
    queue_free(queue.manager, NULL, NULL);
    for (unsigned f = 0; f < RIG_FORWARDERS; f++)
        rte_ring_free(queue.ring[f]);
    free(queue.settings);
    free(queue.current);
    free(queue.full);
    memset(&queue, 0, sizeof queue);
}

static int end_test(void **state)
{
    if (queue.manager)
        router_end();
    return rig_teardown(state);
}

#define queue_test(name) unit_test_of(name, rig_setup, end_test)

static uint64_t sent_by(unsigned client, unsigned class)
{
    struct queue_class_stats s;

    queue_class_stats(queue.manager, client, class, &s);
    return s.sent_packets;
}

static struct frame packet(unsigned number, uint8_t dscp)
{
    return ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .sport = (uint16_t)number,
                    .tos = (uint8_t)(dscp << 2));
}

static void send_numbered(unsigned rx_queue, unsigned from, unsigned n)
{
    for (unsigned i = from; i < from + n; i++) {
        struct frame f = packet(i, 0);
        rig_send_queue(0, rx_queue, &f);
    }
}

static unsigned number_of(struct frame *f)
{
    const uint8_t *l4 = frame_l3(f) + 20;

    return (unsigned)l4[0] << 8 | l4[1];
}

// --- one forwarder -------------------------------------------------------------------------------

queue_test(packets_leave_in_their_order_when_nothing_waits)
{
    struct frame f;

    router(FAST);
    send_numbered(0, 1, 200);
    rig_steps(0, 10);
    for (unsigned i = 1; i <= 200; i++) {
        assert_true(rig_receive_queue(1, 0, &f));
        assert_int_equal(number_of(&f), i);
        assert_true(frame_is_ip4_sound(&f));
    }
    assert_int_equal(held(), 0);
    assert_int_equal(rig_drops_all(), 0);
}

queue_test(what_waits_is_held_and_leaves_when_the_rate_allows_it)
{
    router(SLOW / 10); // 20 packets take a second, in which a busy machine may suspend the test
    send_numbered(0, 1, 100);
    rig_steps(0, 5);
    unsigned sent = rig_discard(1);
    assert_in_range(sent, 1, 20);
    assert_int_equal(held(), 100 - sent);
    uint64_t due = queue_due(queue.manager), now = rte_rdtsc();
    assert_in_range(due, now - rte_get_tsc_hz(), now + rte_get_tsc_hz() / 5);
    settings_set(settings_new(FAST)); // with waiting packets
    rig_steps(0, 5);
    assert_int_equal(sent + rig_discard(1), 100);
    assert_int_equal(held(), 0);
    assert_int_equal(rig_drops_all(), 0);
}

queue_test(settings_at_the_address_of_former_ones_are_applied)
{
    router(FAST);
    queue.settings->client[VR_DEFAULT].limit_bytes = 0;
    rig_step(0);
    send_numbered(0, 1, 1);
    rig_step(0);
    assert_int_equal(rig_drops(DROP_QUEUE_FULL), 1);
    queue.settings->client[VR_DEFAULT].limit_bytes = LIMIT; // freed and allocated again, asleep
    queue.settings->serial = ++serial;
    send_numbered(0, 1, 1);
    rig_step(0);
    assert_int_equal(rig_drops_all(), 1);
    assert_int_equal(rig_discard(1), 1);
}

queue_test(a_strict_class_overtakes_and_the_dscp_says_who_is_in_it)
{
    struct frame f;

    router(SLOW);
    send_numbered(0, 1, 50);
    rig_step(0);
    rig_discard(1);
    f = packet(1000, DSCP_EF);
    rig_send(0, &f);
    rig_step(0);
    settings_set(settings_new(FAST));
    rig_steps(0, 5);
    assert_true(rig_receive_queue(1, 0, &f));
    assert_int_equal(number_of(&f), 1000);
    assert_int_equal(sent_by(VR_DEFAULT, CLASS_OF_EF), 1);
}

queue_test(a_sub_interface_may_have_a_queue_of_its_own)
{
    struct frame f;

    router(FAST);
    uint16_t red = rig_vr("red"), vport = rig_iface(1, 9, VR_DEFAULT), other = rig_iface(1, 8, red),
             from_red = rig_iface(0, 8, red);
    rig_route(VR_DEFAULT, "203.0.113.0/24", rig_adjacency(vport, 2));
    rig_route(red, "203.0.113.0/24", rig_adjacency(other, 2));
    struct port_queue_settings *with = settings_new(FAST);
    with->n = VR_MAX + 1;
    with->client[VR_MAX] = weights();
    with->client_of_iface[vport] = VR_MAX;
    with->map.remarks_pcp = true;
    with->map.pcp_of_class[CLASS_OF_DEFAULT] = 5;
    settings_set(with);
    f = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1");
    rig_send(0, &f);
    f = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1", .vlan = 8, .to_iface = from_red);
    rig_send(0, &f);
    rig_send(0, &f);
    rig_steps(0, 2);
    assert_int_equal(sent_by(VR_MAX, CLASS_OF_DEFAULT), 1);
    assert_int_equal(sent_by(red, CLASS_OF_DEFAULT), 2);
    assert_true(rig_receive_queue(1, 0, &f));
    assert_int_equal(f.b[12] << 8 | f.b[13], 0x8100);
    assert_int_equal(f.b[14] >> 5, 5);
    assert_int_equal((f.b[14] & 15) << 8 | f.b[15], 9);
}

// Linux sends a frame with the tag of VLAN 9 by the interface itself.
static struct frame tagged_by_linux(void)
{
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1");

    memmove(f.b + 16, f.b + 12, f.n - 12);
    memcpy(f.b + 12, (uint8_t[4]){0x81, 0, 0, 9}, 4);
    f.n += 4;
    return f;
}

queue_test(a_tag_of_linux_makes_no_frame_a_sub_interfaces)
{
    struct frame f = tagged_by_linux();

    router(FAST);
    uint16_t vport = rig_iface(1, 9, VR_DEFAULT);
    struct port_queue_settings *with = settings_new(FAST);
    with->n = VR_MAX + 1;
    with->client[VR_MAX] = weights();
    with->client_of_iface[vport] = VR_MAX;
    with->map.remarks_pcp = true;
    with->map.pcp_of_class[0] = 6;
    settings_set(with);
    rig_inject_frame(0, out, &f);
    rig_steps(0, 2);
    assert_int_equal(sent_by(VR_MAX, 0), 0);
    assert_int_equal(sent_by(VR_DEFAULT, 0), 1);
    assert_true(rig_receive_queue(1, 0, &f));
    assert_int_equal(f.b[14] >> 5, 6);
}

queue_test(a_frame_that_waited_is_dropped_where_it_was_sent)
{
    struct frame f = tagged_by_linux();

    router(SLOW);
    uint16_t vport = rig_iface(1, 9, VR_DEFAULT);
    struct port_queue_settings *small = settings_new(SLOW);
    small->client[VR_DEFAULT].class[0].limit_bytes = 200;
    settings_set(small);
    rig_step(0);
    for (unsigned i = 0; i < 30; i++)
        rig_inject_frame(1, out, &f); // the owner takes it from a ring
    rig_step(1);
    rig_step(0);
    uint64_t lost = rig_drops(DROP_QUEUE_FULL);
    assert_in_range(lost, 10, 29);
    assert_int_equal(rig_counted(vport).tx_packets, 0);
    assert_int_equal(rig_counted(vport).drop_packets, 0);
    assert_int_equal(rig_counted(out).tx_packets, 30 - lost);
    assert_int_equal(rig_counted(out).drop_packets, lost);
}

// The interface may change before its next hops.
queue_test(a_frame_without_a_tag_gets_no_priority)
{
    struct frame f;

    router(FAST);
    struct port_queue_settings *with = settings_new(FAST);
    with->map.remarks_pcp = true;
    with->map.pcp_of_class[CLASS_OF_DEFAULT] = with->map.pcp_of_class[CLASS_OF_EF] = 5;
    settings_set(with);
    iface_get(out)->vlan = 9;
    f = packet(1, DSCP_EF);
    rig_send(0, &f);
    rig_steps(0, 2);
    assert_true(rig_receive_queue(1, 0, &f));
    assert_int_equal(f.b[14], 0x45);
    assert_true(frame_is_ip4_sound(&f));
    assert_int_equal(sent_by(VR_DEFAULT, CLASS_OF_EF), 1);
}

// tests/path/police and tests/path/acl test the class of an access list.
queue_test(the_priority_of_a_tag_comes_before_the_dscp)
{

    router(FAST);
    uint16_t from = rig_iface(0, 7, VR_DEFAULT);
    router_role(ROLE_CONTROL);
    struct iface *i = iface_get(from);
    i->policy.pcp_class = (IFACE_PCP_GIVEN | 3u) << 4 * 5;
    iface_bind_police(i, IFACE_PCP_CLASS);
    for (unsigned pcp = 4; pcp < 6; pcp++) {
        struct frame f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .tos = DSCP_EF << 2,
                                  .vlan = (uint16_t)(pcp << 13 | 7), .to_iface = from);
        rig_send(0, &f);
    }
    rig_steps(0, 2);
    assert_int_equal(sent_by(VR_DEFAULT, 3), 1);
    assert_int_equal(sent_by(VR_DEFAULT, CLASS_OF_EF), 1);
    assert_int_equal(rig_discard(1), 2);
}

queue_test(what_finds_its_queue_full_is_dropped_by_name_and_was_not_sent)
{
    router(SLOW);
    struct port_queue_settings *small = settings_new(SLOW);
    small->client[VR_DEFAULT].class[CLASS_OF_DEFAULT].limit_bytes = 1000;
    settings_set(small);
    rig_step(0);
    send_numbered(0, 1, 200);
    rig_steps(0, 6);
    uint64_t lost = rig_drops(DROP_QUEUE_FULL);
    assert_in_range(lost, 100, 199);
    assert_int_equal(rig_drops_all(), lost);
    assert_int_equal(rig_counted(out).tx_packets, 200 - lost);
    assert_int_equal(rig_counted(out).drop_packets, lost);
    router_end();
    assert_int_equal(rig_discard(1), 200 - lost);
}

queue_test(what_the_device_does_not_take_stays_first_in_line)
{
    struct frame f;

    router(FAST);
    rig_tx_block(1, true);
    send_numbered(0, 1, 300);
    rig_steps(0, 20);
    assert_int_equal(rig_drops_all(), 0);
    assert_int_equal(held(), 300);
    assert_true(queue.device_refused > 0);
    rig_tx_block(1, false);
    rig_steps(0, 20);
    for (unsigned i = 1; i <= 300; i++) {
        assert_true(rig_receive_queue(1, 0, &f));
        assert_int_equal(number_of(&f), i);
    }
}

queue_test(a_mark_keeps_the_checksum_right)
{
    struct frame f;
    unsigned marked = 0;

    router(SLOW);
    struct port_queue_settings *codel = settings_new(SLOW);
    codel->client[VR_DEFAULT].class[CLASS_OF_DEFAULT] = (struct queue_class_config){
        .weight = 1, .discipline = QUEUE_CODEL, .ecn = true, .limit_bytes = LIMIT, .target_us = 1,
        .interval_us = 1};
    settings_set(codel);
    for (unsigned i = 0; i < 40; i++) {
        struct ip_spec s = {.src = "192.0.2.1", .dst = "198.51.100.1", .tos = 2, .payload = 900};

        if (i % 2)
            s.src = "2001:db8::1", s.dst = "2001:db8:1::1";
        f = frame_ip(&s);
        rig_send(0, &f);
    }
    uint64_t end = rte_rdtsc() + 60 * rte_get_tsc_hz(); // three seconds, unless suspended
    do
        rig_step(0);
    while (held() && rte_rdtsc() < end);
    for (unsigned i = 0; i < 40; i++) {
        assert_true(rig_receive_queue(1, 0, &f));
        const uint8_t *ip = frame_l3(&f);
        bool is4 = ip[0] >> 4 == 4;
        marked += (is4 ? ip[1] & 3 : ip[1] >> 4 & 3) == 3;
        assert_true(!is4 || frame_is_ip4_sound(&f));
    }
    assert_in_range(marked, 5, 40);
    assert_int_equal(rig_drops_all(), 0);
}

queue_test(frames_that_are_not_ip_have_a_class_and_short_ones_do_no_harm)
{
    struct queue_class_stats s;
    struct frame f = {.n = 14, .b = {2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x08, 0x00}};

    router(FAST);
    rig_inject_frame(0, out, &f);
    f.b[12] = 0x88;
    f.b[13] = 0xcc;
    rig_inject_frame(0, out, &f);
    rig_steps(0, 2);
    assert_int_equal(rig_discard(1), 2);
    queue_class_stats(queue.manager, VR_DEFAULT, CLASS_OF_DEFAULT, &s);
    assert_int_equal(sent_by(VR_DEFAULT, 0), 2); // from the router itself: class 0
}

// --- several forwarders --------------------------------------------------------------------------

queue_test(another_forwarder_feeds_by_its_ring)
{
    struct frame f;

    router(FAST);
    send_numbered(1, 1, 150);
    rig_steps(1, 4);
    assert_int_equal(held(), 150);
    assert_false(rig_receive(1, &f));
    rig_steps(0, 6);
    for (unsigned i = 1; i <= 150; i++) {
        assert_true(rig_receive_queue(1, 0, &f));
        assert_int_equal(number_of(&f), i);
    }
    assert_int_equal(held(), 0);
}

queue_test(a_full_ring_is_a_named_drop)
{
    router(FAST);
    for (unsigned i = 0; i < 20; i++) {
        send_numbered(1, 1, 100);
        rig_steps(1, 2);
    }
    assert_int_equal(rig_drops(DROP_QUEUE_RING_FULL), 2000 - (PORT_QUEUE_RING_SIZE - 1));
    assert_int_equal(queue.refused_ring[1], 2000 - (PORT_QUEUE_RING_SIZE - 1));
    rig_steps(0, 40);
    assert_int_equal(rig_discard(1), PORT_QUEUE_RING_SIZE - 1);
}

queue_test(who_is_full_takes_no_places_in_a_busy_ring)
{
    router(SLOW);
    uint16_t red = rig_vr("red"), in_red = rig_iface(0, 8, red), out_red = rig_iface(1, 8, red);
    rig_route(red, "198.51.100.0/24", rig_adjacency(out_red, 2));
    struct port_queue_settings *small = settings_new(SLOW);
    small->client[VR_DEFAULT].limit_bytes = 1000;
    settings_set(small);
    rig_step(0);
    for (unsigned round = 0; round < 20; round++) { // floods
        send_numbered(1, 1, 60);
        rig_step(1);
        if (round < 4)
            rig_step(0); // the owner notices it
    }
    assert_int_equal(queue.full[VR_DEFAULT], 1);
    unsigned busy = rte_ring_count(queue.ring[1]);
    assert_in_range(busy, PORT_QUEUE_RING_SIZE / 2, PORT_QUEUE_RING_SIZE / 2 + 64);
    struct frame f =
        ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .vlan = 8, .to_iface = in_red);
    for (unsigned i = 0; i < 60; i++)
        rig_send_queue(0, 1, &f);
    rig_step(1);
    assert_int_equal(rte_ring_count(queue.ring[1]), busy + 60);
    assert_int_equal(rig_drops(DROP_QUEUE_RING_FULL), 0);
}

queue_test(the_owner_changes_without_loss_and_order_stays)
{
    unsigned owner = 0, sent = 1, next = 1;
    struct frame f;

    router(FAST);
    for (unsigned round = 0; round < 40; round++) {
        send_numbered(0, sent, 20);
        sent += 20;
        rig_step(0);
        if (round % 5 == 4) {
            plans_set(PLAN_TX_NONE); // no sender: packets wait in the rings
            send_numbered(0, sent, 20);
            sent += 20;
            rig_step(0);
            plans_set(owner ^= 1);
        }
        rig_step(1);
    }
    for (unsigned i = 0; i < 20; i++)
        rig_step(i % 2);
    while (rig_receive_queue(1, 0, &f))
        assert_int_equal(number_of(&f), next++);
    assert_int_equal(next, sent);
    assert_int_equal(rig_drops_all(), 0);
}

static struct thread *running[RIG_FORWARDERS];

static void threads_start(void)
{
    static const char *const name[] = {"forwarder/0", "forwarder/1"};

    for (unsigned f = 0; f < RIG_FORWARDERS; f++) {
        router_role(ROLE_CONTROL);
        forwarder_slot[f].stop = 0;
        assert_int_equal(thread_start(&running[f], ROLE_FORWARDER, THREAD_SLOT_FORWARDER + f,
                                      name[f], -1, forwarder_main, (void *)(uintptr_t)f),
                         0);
    }
}

static void threads_stop(void)
{
    rcu_offline(); // otherwise the threads' grace periods would wait for us
    for (unsigned f = 0; f < RIG_FORWARDERS; f++) {
        __atomic_store_n(&forwarder_slot[f].stop, 1, __ATOMIC_RELEASE);
        waker_wake(&forwarder_slot[f].waker);
        thread_join(running[f]);
    }
    rcu_online();
}

// Real threads, for ThreadSanitizer: both feed while settings and owner keep changing.
queue_test(owner_and_feeders_are_threads)
{
    unsigned sent = 0, received = 0, owner = 0;
    uint64_t end = rte_rdtsc() + 30 * rte_get_tsc_hz();

    router(FAST);
    threads_start();
    for (unsigned round = 0; round < 60; round++) {
        send_numbered(0, 1, 50);
        send_numbered(1, 1, 50);
        sent += 100;
        if (round % 3 == 0)
            settings_set(settings_new(FAST - round));
        if (round % 7 == 6) {
            plans_set(PLAN_TX_NONE);
            plans_set(owner ^= 1);
        }
        for (unsigned f = 0; f < RIG_FORWARDERS; f++)
            waker_wake(&forwarder_slot[f].waker);
        while (received + 400 < sent && rte_rdtsc() < end) {
            received += rig_discard(1);
            rcu_quiescent();
        }
    }
    while (received < sent && rte_rdtsc() < end) {
        received += rig_discard(1);
        rcu_quiescent();
    }
    threads_stop();
    assert_int_equal(received, sent);
    assert_int_equal(rig_drops_all(), 0);
    assert_null(queue_check(queue.manager));
}

// --- an overloaded core --------------------------------------------------------------------------

queue_test(who_floods_a_core_loses_and_the_others_do_not)
{
    uint16_t red = rig_vr("red"), blue = rig_vr("blue"), vr[] = {red, blue}, at[2];
    struct counter_iface flood;
    uint64_t received = 0;

    for (unsigned i = 0; i < 2; i++) {
        at[i] = rig_iface(0, (uint16_t)(10 + i), vr[i]);
        rig_route(vr[i], "198.51.100.0/24",
                  rig_adjacency(rig_iface(1, (uint16_t)(10 + i), vr[i]), 1));
    }
    uint64_t end = rte_rdtsc() + 10 * rte_get_tsc_hz();
    while (rig_drops(DROP_VR_CPU_BUDGET) < 1000 && rte_rdtsc() < end) {
        for (unsigned i = 0; i < 14 * BURST_MAX; i++) { // full bursts
            bool floods = i % 16;
            struct frame f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1",
                                      .vlan = floods ? 10 : 11, .to_iface = at[!floods]);
            rig_send(0, &f);
        }
        rig_steps(0, 14);
        received += rig_discard(1);
    }
    counter_sum_iface(at[0], &flood);
    assert_true(rig_drops(DROP_VR_CPU_BUDGET) >= 1000);
    assert_int_equal(rig_drops_all(), rig_drops(DROP_VR_CPU_BUDGET));
    assert_int_equal(flood.drop_packets + rig_counted(at[1]).drop_packets,
                     rig_drops(DROP_VR_CPU_BUDGET));
    assert_true(rig_counted(at[1]).rx_packets > 0);
    // A thread that loses its core finds the core's capacity too small for a moment.
    assert_true(rig_counted(at[1]).drop_packets < rig_drops(DROP_VR_CPU_BUDGET) / 100);
    assert_int_equal(received + rig_drops_all(), flood.rx_packets + rig_counted(at[1]).rx_packets);
}

queue_test(one_virtual_router_may_have_the_whole_core)
{
    in = rig_iface(0, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_adjacency(rig_iface(1, 0, VR_DEFAULT), 1));
    uint64_t end = rte_rdtsc() + rte_get_tsc_hz() / 50;
    while (rte_rdtsc() < end) {
        send_numbered(0, 1, BURST_MAX);
        rig_step(0);
        rig_discard(1);
    }
    assert_int_equal(rig_drops_all(), 0);
}

queue_test(explain_says_which_queue_and_what_waits_there)
{
    struct packet_trace *p = calloc(1, sizeof *p + 4096);
    struct frame f;

    router(SLOW);
    send_numbered(0, 1, 50);
    rig_step(0);
    f = packet(1, DSCP_EF);
    packet_trace_init(p, 4096, 128);
    router_role(ROLE_CONTROL);
    assert_int_equal(forwarder_explain(iface_get(in)->port, f.b, f.n, NULL, p), 0);
    assert_int_equal(p->n_frames, 1);
    assert_true(p->frame[0].queue.has);
    assert_int_equal(p->frame[0].queue.class, CLASS_OF_EF);
    assert_int_equal(p->frame[0].queue.waiting_packets, 0);
    assert_int_equal(p->frame[0].queue.client_bytes, queue_waiting(queue.manager) * f.n);
    assert_int_equal(packet_trace_last(p, TRACED_PACKET)->end, TRACED_SENT);
    free(p);
}

queue_test(a_port_without_a_queue_sends_as_ever)
{
    router(SLOW);
    uint16_t third = rig_iface(2, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "203.0.113.0/24", rig_adjacency(third, 2));
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1");
    rig_send_n(0, &f, 60);
    rig_step(0);
    assert_int_equal(rig_discard(2), 60);
}
