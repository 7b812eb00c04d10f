// SPDX-License-Identifier: BSD-3-Clause
// nexthop_test.c - the effect of each kind of next hop on a packet; groups; virtual routers
#include "harness.h"

#include <rte_mbuf.h>
#include <stdio.h>

static uint16_t in, out;

static void two_interfaces(void)
{
    rig_in_and_out(&in, &out);
}

static struct frame packet4(void)
{
    return ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1");
}

static struct frame packet6(void)
{
    return ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1");
}

static void both_default_routes(uint32_t nh)
{
    rig_routes(VR_DEFAULT, "0.0.0.0/0", "::/0", nh);
}

static void send_both(void)
{
    struct frame f4 = packet4(), f6 = packet6();
    rig_send(0, &f4);
    rig_forward(0, &f6);
}

path_test(blackhole_unreachable_prohibit_and_failed_drop_with_their_own_reason)
{
    static const struct {
        enum nexthop_kind kind;
        enum drop_reason reason;
    } want[] = {
        {NEXTHOP_BLACKHOLE, DROP_BLACKHOLE},
        {NEXTHOP_UNREACHABLE, DROP_UNREACHABLE},
        {NEXTHOP_PROHIBIT, DROP_PROHIBIT},
        {NEXTHOP_FAILED, DROP_NEIGH_FAILED},
    };
    two_interfaces();
    for (unsigned i = 0; i < 4; i++) {
        both_default_routes(rig_nexthop(want[i].kind, 0));
        send_both();
        assert_int_equal(rig_drops(want[i].reason), 2);
        assert_int_equal(rig_drops_all(), 2 * (i + 1));
    }
}

// rfc: 1122 2.3.2.2 SHOULD
path_test(an_unresolved_neighbor_gets_the_packet_held_with_all_its_manager_needs)
{
    uint16_t vr = rig_vr("blue");
    in = rig_iface(0, 0, vr);
    out = rig_iface(1, 0, vr);
    uint32_t hold = rig_nexthop(NEXTHOP_HOLD, out), glean = rig_nexthop(NEXTHOP_GLEAN, out);
    rig_route(vr, "0.0.0.0/0", hold);
    rig_route(vr, "::/0", glean);
    struct frame f4 = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .pad_to = 60),
                 f6 = packet6();
    rig_send(0, &f4);
    rig_forward(0, &f6);
    struct rte_mbuf *m = rig_held();
    assert_non_null(m);
    struct packet_meta *meta = packet_meta(m);
    assert_int_equal(meta->iface, in);
    assert_int_equal(meta->vr, vr);
    assert_int_equal(meta->nexthop, hold);
    assert_int_equal(meta->family, IP4);
    assert_int_equal(meta->kind, INJECT_NEXTHOP);
    const uint8_t *ip = rte_pktmbuf_mtod(m, const uint8_t *);
    assert_int_equal(m->pkt_len, 28); // no Ethernet header, no padding
    assert_int_equal(ip[0], 0x45);
    assert_int_equal(ip[8], 63);
    assert_memory_equal(ip + 12, f4.b + 14 + 12, 16);
    rig_release(m);
    m = rig_held();
    assert_non_null(m);
    assert_int_equal(packet_meta(m)->nexthop, glean);
    assert_int_equal(packet_meta(m)->family, IP6);
    assert_int_equal(rte_pktmbuf_mtod(m, const uint8_t *)[7], 63);
    rig_release(m);
}

path_test(a_full_hold_ring_is_a_named_drop)
{
    two_interfaces();
    both_default_routes(rig_nexthop(NEXTHOP_HOLD, out));
    struct frame f = packet4();
    for (unsigned i = 0; i < EXCHANGE_HOLD_SIZE + 99; i++) {
        rig_send(0, &f);
        if (i % 64 == 63)
            rig_step(0);
    }
    rig_poll();
    assert_only_drop(DROP_HOLD_RING_FULL, 100); // a ring of n holds n - 1
}

path_test(the_mac_of_a_neighbor_changes_without_touching_a_route)
{
    two_interfaces();
    uint32_t nh = rig_adjacency(out, 1);
    both_default_routes(nh);
    router_role(ROLE_RIB_MANAGER);
    for (unsigned k = 2; k < 6; k++) {
        struct frame g;
        nexthop_set_adjacency(nh, out, neighbor_mac(k));
        send_both();
        assert_true(rig_receive(1, &g));
        assert_memory_equal(g.b, neighbor_mac(k), 6);
        assert_true(rig_receive(1, &g));
        router_role(ROLE_RIB_MANAGER);
    }
}

path_test(a_used_adjacency_is_marked_and_an_unused_one_is_not)
{
    two_interfaces();
    uint32_t used = rig_adjacency(out, 1), idle = rig_adjacency(out, 2);
    router_role(ROLE_RIB_MANAGER);
    nexthop_used_epoch = 7;
    rig_route(VR_DEFAULT, "0.0.0.0/0", used);
    rig_route(VR_DEFAULT, "203.0.113.0/24", idle);
    struct frame f = packet4();
    rig_forward(0, &f);
    assert_true(nexthop_used_since(used, 1));
    assert_false(nexthop_used_since(idle, 1));
}

// Sends one packet of each of n flows, with ports counted up from `spec`, and notes which of the
// ports 1..3 it left by (0 = none).
static void spread(const struct ip_spec *spec, unsigned n, uint8_t *left_by)
{
    for (unsigned i = 0; i < n; i++) {
        struct ip_spec s = *spec;
        struct frame g;
        s.sport = (uint16_t)(10000 + i);
        struct frame f = frame_ip(&s);
        rig_forward(0, &f);
        left_by[i] = 0;
        for (unsigned p = 1; p < RIG_PORTS; p++)
            if (rig_receive(p, &g))
                left_by[i] = (uint8_t)p;
    }
}

static void three_ways(uint32_t member[3])
{
    in = rig_iface(0, 0, VR_DEFAULT);
    for (unsigned p = 1; p <= 3; p++)
        member[p - 1] = rig_adjacency(rig_iface(p, 0, VR_DEFAULT), p);
}

path_test(flows_of_both_families_spread_over_all_members_of_a_group)
{
    uint32_t member[3];
    three_ways(member);
    both_default_routes(rig_group(member, 3));
    const struct ip_spec spec[2] = {{.src = "192.0.2.1", .dst = "198.51.100.1"},
                                    {.src = "2001:db8::1", .dst = "2001:db8:1::1", .proto = 6}};
    for (unsigned k = 0; k < 2; k++) {
        uint8_t left_by[600];
        unsigned n[RIG_PORTS] = {0};
        spread(&spec[k], 600, left_by);
        for (unsigned i = 0; i < 600; i++)
            n[left_by[i]]++;
        assert_int_equal(n[0], 0);
        for (unsigned p = 1; p <= 3; p++)
            assert_in_range(n[p], 140, 260);
    }
}

path_test(a_member_that_fails_moves_only_its_own_flows)
{
    uint32_t member[3];
    uint8_t before[400], after[400], again[400];
    three_ways(member);
    uint32_t group = rig_group(member, 3);
    rig_route(VR_DEFAULT, "0.0.0.0/0", group);
    const struct ip_spec spec = {.src = "192.0.2.1", .dst = "198.51.100.1"};
    spread(&spec, 400, before);
    uint32_t rest[2] = {member[0], member[2]}, weight[3] = {1, 1, 1};
    router_role(ROLE_RIB_MANAGER);
    assert_int_equal(nexthop_group_set(group, rest, weight, 2), 0);
    spread(&spec, 400, after);
    for (unsigned i = 0; i < 400; i++) {
        assert_int_not_equal(after[i], 2);
        if (before[i] != 2)
            assert_int_equal(after[i], before[i]);
    }
    router_role(ROLE_RIB_MANAGER);
    assert_int_equal(nexthop_group_set(group, member, weight, 3), 0);
    spread(&spec, 400, again);
    unsigned moved = 0;
    for (unsigned i = 0; i < 400; i++)
        moved += again[i] != after[i];
    assert_in_range(moved, 80,
                    190); // about a third returns to the new member, nothing else moves
}

path_test(fragments_of_a_packet_stay_together)
{
    uint32_t member[3];
    three_ways(member);
    rig_route(VR_DEFAULT, "0.0.0.0/0", rig_group(member, 3));
    for (unsigned k = 1; k < 60; k++) {
        char src[16];
        uint8_t way[3];
        snprintf(src, sizeof src, "192.0.2.%u", k);
        struct ip_spec first = {
            .src = src, .dst = "198.51.100.1", .fragment = 0x2000, .dport = (uint16_t)(k * 77)};
        struct ip_spec later = {.src = src, .dst = "198.51.100.1", .fragment = 0x2000 | 185};
        struct ip_spec last = {.src = src, .dst = "198.51.100.1", .fragment = 370};
        spread(&first, 1, &way[0]);
        spread(&later, 1, &way[1]);
        spread(&last, 1, &way[2]);
        assert_int_equal(way[0], way[1]);
        assert_int_equal(way[0], way[2]);
    }
}

// rfc: 6438 3 SHOULD
path_test(the_flow_label_chooses_among_members)
{
    uint32_t member[3];
    unsigned n[RIG_PORTS] = {0};
    three_ways(member);
    rig_route(VR_DEFAULT, "::/0", rig_group(member, 3));
    for (unsigned k = 1; k < 200; k++) {
        struct ip_spec s = {
            .src = "2001:db8::1", .dst = "2001:db8:1::1", .flow_label = k, .proto = 50};
        uint8_t way;
        spread(&s, 1, &way);
        n[way]++;
    }
    assert_int_equal(n[0], 0);
    for (unsigned p = 1; p <= 3; p++)
        assert_in_range(n[p], 35, 100);
}

path_test(a_group_without_members_is_a_named_drop)
{
    two_interfaces();
    both_default_routes(rig_group(NULL, 0));
    send_both();
    assert_only_drop(DROP_ECMP_EMPTY, 2);
}

path_test(two_virtual_routers_with_the_same_prefixes_do_not_mix_in_one_burst)
{
    uint16_t red = rig_vr("red"), blue = rig_vr("blue");
    uint16_t sub[2] = {rig_iface(0, 10, red), rig_iface(0, 20, blue)};
    uint16_t way[2] = {rig_iface(1, 0, red), rig_iface(2, 0, blue)};
    rig_route(red, "198.51.100.0/24", rig_adjacency(way[0], 1));
    rig_route(blue, "198.51.100.0/24", rig_adjacency(way[1], 2));
    rig_route(red, "2001:db8:1::/48", rig_adjacency(way[0], 1));
    rig_route(blue, "2001:db8:1::/48", rig_adjacency(way[1], 2));
    rig_route(blue, "203.0.113.0/24", rig_adjacency(way[1], 2));
    for (unsigned i = 0; i < 60; i++) {
        unsigned k = i % 3 == 1;
        struct ip_spec s = {
            .src = "192.0.2.1", .dst = "198.51.100.1", .vlan = k ? 20 : 10, .to_iface = sub[k]};
        if (i % 2) {
            s.src = "2001:db8::1";
            s.dst = "2001:db8:1::1";
        }
        s.sport = (uint16_t)(i + 1);
        struct frame f = frame_ip(&s);
        rig_send(0, &f);
    }
    rig_poll();
    struct frame g;
    unsigned n = 0;
    for (unsigned p = 1; p <= 2; p++)
        while (rig_receive(p, &g)) {
            unsigned at = g.b[12] == 0x08 ? 34 : 54, i = (unsigned)(g.b[at] << 8 | g.b[at + 1]) - 1;
            assert_int_equal(p, i % 3 == 1 ? 2 : 1);
            assert_memory_equal(g.b, neighbor_mac(p), 6);
            n++;
        }
    assert_int_equal(n, 60);
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1", .vlan = 10,
                              .to_iface = sub[0]); // blue's route, red's packet
    rig_forward(0, &f);
    assert_only_drop(DROP_IP4_NO_ROUTE, 1);
}

path_test(every_packet_of_a_burst_may_belong_to_another_virtual_router)
{
    uint16_t sub[64];
    for (unsigned v = 0; v < 64; v++) {
        char name[16];
        snprintf(name, sizeof name, "vr%u", v);
        uint16_t vr = rig_vr(name);
        sub[v] = rig_iface(0, (uint16_t)(v + 1), vr);
        uint16_t way = rig_iface(1, (uint16_t)(v + 1), vr);
        rig_route(vr, "198.51.100.0/24", rig_adjacency(way, v));
    }
    for (unsigned v = 0; v < 64; v++) {
        struct frame f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1",
                                  .vlan = (uint16_t)(v + 1), .to_iface = sub[v]);
        rig_send(0, &f);
    }
    rig_step(0);
    for (unsigned v = 0; v < 64; v++) {
        struct frame g;
        assert_true(rig_receive(1, &g));
        assert_memory_equal(g.b, neighbor_mac(v), 6);
        assert_int_equal(g.b[14] << 8 | g.b[15], v + 1);
    }
}

// rfc: 791 3.2 MUST
path_test(a_packet_too_big_for_the_way_out_is_fragmented_and_the_pieces_fit)
{
    two_interfaces();
    iface_get(out)->mtu = 576;
    rig_route(VR_DEFAULT, "0.0.0.0/0", rig_adjacency(out, 1));
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .payload = 1400);
    uint8_t whole[1408];
    unsigned got = 0, pieces = 0;
    rig_forward(0, &f);
    while (rig_receive(1, &g)) {
        unsigned at = (unsigned)((g.b[20] << 8 | g.b[21]) & 0x1fff) * 8,
                 len = (unsigned)(g.b[16] << 8 | g.b[17]) - 20;
        assert_true(g.n <= 14 + 576);
        assert_true(frame_is_ip4_sound(&g));
        assert_int_equal(g.b[22], 63);
        assert_true(at + len <= sizeof whole);
        memcpy(whole + at, g.b + 34, len);
        got += len;
        pieces++;
        assert_int_equal(!!(g.b[20] & 0x20), at + len < sizeof whole);
    }
    assert_int_equal(pieces, 3);
    assert_int_equal(got, sizeof whole);
    assert_memory_equal(whole, f.b + 34, sizeof whole);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_jumbo_chain_is_fragmented_too)
{
    two_interfaces();
    rig_route(VR_DEFAULT, "0.0.0.0/0", rig_adjacency(out, 1));
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .payload = 8000);
    unsigned got = 0;
    rig_forward(0, &f);
    while (rig_receive(1, &g)) {
        unsigned at = (unsigned)((g.b[20] << 8 | g.b[21]) & 0x1fff) * 8,
                 len = (unsigned)(g.b[16] << 8 | g.b[17]) - 20;
        assert_true(g.n <= 14 + 1500);
        assert_true(frame_is_ip4_sound(&g));
        assert_memory_equal(g.b + 34, f.b + 34 + at, len);
        got += len;
    }
    assert_int_equal(got, 8008);
}

// rfc: 791 3.1 MUST
// rfc: 8200 5 MUST
path_test(a_packet_with_df_or_ipv6_that_is_too_big_is_dropped)
{
    two_interfaces();
    both_default_routes(rig_adjacency(out, 1));
    struct frame f =
        ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .payload = 1473, .fragment = 0x4000);
    rig_forward(0, &f);
    assert_only_drop(DROP_IP4_TOO_BIG, 1);
    f = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1", .payload = 1453);
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_IP6_TOO_BIG), 1);
    f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .payload = 1472, .fragment = 0x4000);
    rig_send(0, &f);
    f = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1", .payload = 1452);
    rig_forward(0, &f);
    assert_int_equal(rig_discard(1), 2); // exactly the MTU
    assert_int_equal(rig_drops_all(), 2);
}
