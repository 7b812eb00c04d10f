// SPDX-License-Identifier: BSD-3-Clause
// counters_test.c - packets and bytes of next hops and prefixes are counted where configured, and
// only there
#include "harness.h"

#include "core/rcu.h"
#include "table/counter.h"
#include "table/ledger_vr.h"
#include "table/nexthop_count.h"

static uint32_t member[2], alone;

static void routes(void)
{
    rig_iface(0, 0, VR_DEFAULT);
    for (unsigned i = 0; i < 2; i++)
        member[i] = rig_adjacency(rig_iface(i + 1, 0, VR_DEFAULT), i + 1);
    alone = rig_adjacency(rig_iface(3, 40, VR_DEFAULT), 3); // tagged: four bytes more
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_group(member, 2));
    rig_route(VR_DEFAULT, "2001:db8:2::/48", alone);
}

static void count(bool on)
{
    router_role(ROLE_CONTROL);
    assert_int_equal(nexthop_count_set(on), 0);
    assert_int_equal(nexthop_count_is_on(), on);
}

static void traffic(void)
{
    for (unsigned i = 0; i < 100; i++) {
        struct frame a = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1",
                                  .sport = (uint16_t)(1 + i), .payload = 100),
                     b = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:2::1", .payload = 200);
        rig_send(0, &a);
        rig_forward(0, &b);
    }
    assert_int_equal(rig_discard(1) + rig_discard(2), 100);
    assert_int_equal(rig_discard(3), 100);
}

path_test(every_next_hop_is_counted_while_it_is_on)
{
    routes();
    traffic();
    assert_int_equal(nexthop_count_sum(alone).packets, 0);
    count(true);
    traffic();
    assert_int_equal(nexthop_count_sum(alone).packets, 100);
    assert_int_equal(nexthop_count_sum(alone).bytes, 100 * (14 + 4 + 40 + 8 + 200));
    assert_int_equal(nexthop_count_sum(member[0]).packets + nexthop_count_sum(member[1]).packets,
                     100);
    assert_int_equal(nexthop_count_sum(member[0]).bytes,
                     nexthop_count_sum(member[0]).packets * (14 + 20 + 8 + 100));
    assert_true(nexthop_count_sum(member[0]).packets > 20 &&
                nexthop_count_sum(member[1]).packets > 20);
    count(false);
    traffic();
    assert_int_equal(nexthop_count_sum(alone).packets, 100);
    nexthop_count_clear(alone);
    assert_int_equal(nexthop_count_sum(alone).packets, 0);
    router_role(ROLE_CONTROL);
    nexthop_count_fini();
}

// Routes the prefix to next hop `id`, counted in `slot`.
static void counted(const char *prefix, uint32_t id, uint16_t slot)
{
    router_role(ROLE_RIB_MANAGER);
    rig_route(VR_DEFAULT, prefix,
              nexthop_alias_new(&(struct nexthop_alias){.target = id, .counter = slot}));
}

static uint16_t slot_new(void)
{
    router_role(ROLE_RIB_MANAGER);
    return prefix_count_new();
}

static void send_to(const char *dst, unsigned n, unsigned payload)
{
    for (unsigned i = 0; i < n; i++) {
        struct frame f = ip_frame(.src = strchr(dst, ':') ? "2001:db8::1" : "192.0.2.1", .dst = dst,
                                  .sport = (uint16_t)(1 + i), .payload = payload, .pad_to = 400);
        rig_forward(0, &f);
    }
}

#define assert_counted(slot, n, n_bytes) \
    do { \
        assert_int_equal(prefix_count_sum(slot).packets, n); \
        assert_int_equal(prefix_count_sum(slot).bytes, n_bytes); \
    } while (0)

path_test(packets_of_a_counted_prefix_are_counted_exactly)
{
    uint16_t four = slot_new(), six = slot_new();

    routes();
    counted("203.0.113.0/25", alone, four);
    rig_route(VR_DEFAULT, "203.0.113.128/25", alone); // same next hop, not counted
    counted("2001:db8:3::/48", alone, six);
    send_to("203.0.113.1", 70, 100);
    send_to("203.0.113.129", 30, 100);
    send_to("2001:db8:3::1", 20, 200);
    send_to("2001:db8:2::1", 5, 200);
    assert_int_equal(rig_discard(3), 125);
    assert_counted(four, 70, 70 * (20 + 8 + 100));
    assert_counted(six, 20, 20 * (40 + 8 + 200));
    counted("203.0.113.0/25", rig_group(member, 2),
            four); // the route changes, its counts stay
    send_to("203.0.113.1", 40, 10);
    assert_int_equal(rig_discard(1) + rig_discard(2), 40);
    assert_counted(four, 110, 70 * 128 + 40 * 38);
    rig_unroute(VR_DEFAULT, "203.0.113.0/25");
    send_to("203.0.113.1", 3, 10);
    assert_int_equal(rig_drops(DROP_IP4_NO_ROUTE), 3);
    counted("203.0.113.0/25", member[0], four); // and returns
    send_to("203.0.113.1", 1, 10);
    assert_int_equal(rig_discard(1), 1);
    assert_counted(four, 111, 70 * 128 + 41 * 38);
}

path_test(what_a_counted_prefix_drops_or_holds_is_counted_once)
{
    uint16_t dead = slot_new(), held = slot_new(), none = slot_new();

    routes();
    counted("203.0.113.0/24", rig_nexthop(NEXTHOP_BLACKHOLE, 0), dead);
    uint32_t hop = rig_nexthop(NEXTHOP_HOLD, nexthop_get(alone)->iface);
    counted("198.18.0.0/15", hop, held);
    counted("198.18.5.0/24", alone, none); // no packets
    send_to("203.0.113.1", 9, 10);
    assert_only_drop(DROP_BLACKHOLE, 9);
    assert_counted(dead, 9, 9 * 38);
    send_to("198.18.0.1", 2, 10);
    assert_counted(held, 2, 2 * 38);
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_adjacency(hop, nexthop_get(alone)->iface, neighbor_mac(3));
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(rig_inject(0, rig_held()), 0);
    assert_int_equal(rig_poll_out(3), 2);
    assert_counted(held, 2, 2 * 38); // not counted again when released
    send_to("198.18.0.1", 1, 10);
    assert_int_equal(rig_discard(3), 1); // the alias does not hide its MAC
    assert_counted(held, 3, 3 * 38);
    assert_counted(none, 0, 0);
}

path_test(drops_are_those_of_a_virtual_router)
{
    uint16_t red = rig_vr("red"), in[] = {rig_iface(0, 0, VR_DEFAULT), rig_iface(0, 7, red)};

    for (unsigned i = 0; i < 5; i++) {
        struct frame f = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1", .vlan = i > 1 ? 7 : 0,
                                  .to_iface = in[i > 1]);
        rig_send(0, &f);
    }
    struct frame expired = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:9::1", .ttl = 1,
                                    .vlan = 7, .to_iface = in[1]);
    rig_forward(0, &expired);
    assert_int_equal(counter_sum_vr_drop(VR_DEFAULT, DROP_IP4_NO_ROUTE), 2);
    assert_int_equal(counter_sum_vr_drop(red, DROP_IP4_NO_ROUTE), 3);
    for (enum drop_reason r = DROP_NONE + 1; r < DROP_N; r++)
        assert_int_equal(counter_sum_vr_drop(VR_DEFAULT, r) + counter_sum_vr_drop(red, r),
                         counter_sum_drop(r));
    router_role(ROLE_CONTROL);
    counter_begin_vr(red);
    assert_int_equal(counter_sum_vr_drop(red, DROP_IP4_NO_ROUTE), 0);
    assert_int_equal(counter_sum_vr_drop(VR_DEFAULT, DROP_IP4_NO_ROUTE), 2);
}

// --- ledgers of virtual routers; the harness checks their balance after each test ----------------

#define assert_ledger_vr(vr, in, more, from, out, up, to, ended, waits)                            \
    do {                                                                                           \
        struct ledger_vr l_;                                                                       \
        const uint64_t want_[LEDGER_VR_N] = {in, more, from, out, up, to, ended};                  \
        ledger_vr_read(vr, &l_, 2);                                                                \
        for (unsigned s_ = 0; s_ < LEDGER_VR_N; s_++)                                              \
            if (l_.side[s_] != want_[s_])                                                          \
                fail_msg("%s of %s: %lu, not %lu", ledger_vr_name[s_], vr_get(vr)->name,           \
                         l_.side[s_], want_[s_]);                                                  \
        assert_int_equal(l_.held, waits);                                                          \
        assert_int_equal(l_.imbalance, 0);                                                         \
    } while (0)

// Sends n packets on sub-interface 7 of port 0, in red.
static void send_red(uint16_t iface, const char *dst, unsigned n, unsigned payload)
{
    for (unsigned i = 0; i < n; i++) {
        struct frame f = ip_frame(.src = "192.0.2.1", .dst = dst, .payload = payload, .vlan = 7,
                                  .to_iface = iface);
        rig_send(0, &f);
    }
    rig_poll();
}

path_test(a_route_into_another_virtual_router_leaves_one_ledger_and_enters_the_other)
{
    uint16_t red = rig_vr("red"), in = rig_iface(0, 7, red), out = rig_iface(1, 0, VR_DEFAULT);
    iface_get(out)->mtu = 500;
    uint32_t hop = rig_adjacency(out, 1), hold = rig_nexthop(NEXTHOP_HOLD, out);

    rig_route(red, "198.51.100.0/24", hop);
    rig_route(red, "198.18.0.0/15", hold);
    send_red(in, "198.51.100.1", 5, 10);
    send_red(in, "203.0.113.1", 2, 10); // no route: counted in red
    assert_int_equal(rig_discard(1), 5);
    assert_ledger_vr(red, 7, 0, 0, 0, 0, 5, 2, 0);
    assert_ledger_vr(VR_DEFAULT, 0, 0, 5, 5, 0, 0, 0, 0);
    send_red(in, "198.51.100.1", 1, 900); // two fragments, the second copied in red
    assert_int_equal(rig_discard(1), 2);
    assert_ledger_vr(red, 8, 1, 0, 0, 0, 7, 2, 0);
    send_red(in, "198.18.0.1", 3, 10); // waits in red, and leaves it when sent
    assert_ledger_vr(red, 11, 1, 0, 0, 0, 7, 2, 3);
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_adjacency(hold, out, neighbor_mac(1));
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(rig_inject(0, rig_held()), 0);
    assert_int_equal(rig_poll_out(1), 2);
    rig_release(rig_held());
    assert_ledger_vr(red, 11, 1, 0, 0, 0, 9, 3, 0);
    assert_ledger_vr(VR_DEFAULT, 0, 0, 9, 9, 0, 0, 0, 0);
}

path_test(an_interface_that_moves_leaves_what_it_has_counted)
{
    uint16_t red = rig_vr("red"), in = rig_iface(0, 7, red), out = rig_iface(1, 0, red);

    rig_route(red, "198.51.100.0/24", rig_adjacency(out, 1));
    rig_route(red, "198.18.0.0/15", rig_nexthop(NEXTHOP_HOLD, out));
    send_red(in, "198.51.100.1", 4, 10);
    send_red(in, "203.0.113.1", 2, 10);
    send_red(in, "198.18.0.1", 1, 10);
    assert_int_equal(rig_discard(1), 4);
    router_role(ROLE_CONTROL);
    iface_set_vr(iface_get(in), VR_DEFAULT);
    assert_ledger_vr(red, 7, 0, 0, 4, 0, 0, 2, 1);
    assert_ledger_vr(VR_DEFAULT, 0, 0, 0, 0, 0, 0, 0, 0);
    rig_release(rig_held()); // received in red
    send_red(in, "203.0.113.1", 3, 10);
    assert_ledger_vr(red, 7, 0, 0, 4, 0, 0, 3, 0);
    assert_ledger_vr(VR_DEFAULT, 3, 0, 0, 0, 0, 0, 3, 0);
}

path_test(an_interface_that_ends_leaves_what_it_has_counted)
{
    uint16_t red = rig_vr("red"), in = rig_iface(0, 7, red), again;

    send_red(in, "203.0.113.1", 2, 10);
    router_role(ROLE_CONTROL);
    iface_free(iface_get(in));
    assert_ledger_vr(red, 2, 0, 0, 0, 0, 0, 2, 0);
    rcu_barrier();
    for (again = 0; again != in;) { // until its id is reused
        struct iface *i = iface_new("again");
        assert_non_null(i);
        again = i->id;
    }
    assert_ledger_vr(red, 2, 0, 0, 0, 0, 0, 2, 0);
    counter_begin_vr(red); // a new one with the same id
    assert_ledger_vr(red, 0, 0, 0, 0, 0, 0, 0, 0);
}

path_test(what_was_restored_is_there_once)
{
    uint16_t red = rig_vr("red"), in = rig_iface(0, 7, red);
    const struct counter_cleared never = {0};

    send_red(in, "203.0.113.1", 2, 10);
    router_role(ROLE_CONTROL);
    counter_restore_iface(in, &(struct counter_iface){.rx_packets = 60}, 1, &never);
    counter_restore_vr_drop(red, DROP_IP4_TTL, 100);
    assert_ledger_vr(red, 2, 0, 0, 0, 0, 0, 2, 0); // of an earlier process without ledgers
    ledger_vr_restore(
        red, (const uint64_t[LEDGER_VR_N]){[LEDGER_VR_RX] = 100, [LEDGER_VR_DROPS] = 100});
    assert_ledger_vr(red, 102, 0, 0, 0, 0, 0, 102, 0);
    assert_int_equal(counter_sum_vr_drop(red, DROP_IP4_TTL), 100);
    counter_mine()->iface[in].rx_packets -= 60; // not part of the global ledger
    counter_mine()->vr_drop[red][DROP_IP4_TTL] -= 100;
    counter_begin_vr(red);
}
