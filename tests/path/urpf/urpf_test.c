// SPDX-License-Identifier: BSD-3-Clause
// urpf_test.c - accepted sources, by interface and family
#include "harness.h"

static uint16_t in, out;

void rig_begin(void)
{
    rig_two_sides(&in, &out);
}

static void urpf_set(uint16_t iface, uint8_t urpf4, uint8_t urpf6)
{
    struct iface *i = iface_get(iface);

    i->policy.urpf[0] = urpf4;
    i->policy.urpf[1] = urpf6;
    iface_put_flags(i, ~0u,
                    (unsigned)(IFACE_UP | (urpf4 ? IFACE_URPF4 : 0) | (urpf6 ? IFACE_URPF6 : 0)));
}

static void send(const char *src, const char *dst)
{
    struct frame f = ip_frame(.src = src, .dst = dst);

    rig_send(0, &f);
}

// rfc: 3704 2.4 MAY
path_test(loose_believes_any_source_that_has_a_route)
{
    urpf_set(in, URPF_LOOSE, URPF_LOOSE);
    send("10.0.0.1", "20.0.0.1");
    send("20.0.0.9", "20.0.0.1");
    send("30.0.0.1", "20.0.0.1");
    send("2001:db8:a::1", "2001:db8:b::1");
    send("2001:db8:b::9", "2001:db8:b::1");
    send("2001:db8:c::1", "2001:db8:b::1");
    assert_int_equal(rig_poll_out(1), 4);
    assert_only_drop(DROP_URPF_SOURCE, 2);
}

// rfc: 3704 2.2 MAY
// rfc: 1812 5.3.8 SHOULD
path_test(strict_believes_only_sources_of_its_own_side)
{
    urpf_set(in, URPF_STRICT, URPF_STRICT);
    send("10.0.0.1", "20.0.0.1");
    send("20.0.0.9", "20.0.0.1");
    send("2001:db8:a::1", "2001:db8:b::1");
    send("2001:db8:b::9", "2001:db8:b::1");
    assert_int_equal(rig_poll_out(1), 2);
    assert_only_drop(DROP_URPF_INTERFACE, 2);
    assert_int_equal(rig_counted(in).urpf_packets, 2);
}

path_test(a_family_and_an_interface_without_it_are_left_alone)
{
    urpf_set(in, URPF_STRICT, URPF_OFF);
    send("2001:db8:b::9", "2001:db8:b::1");
    send("20.0.0.9", "20.0.0.1");
    struct frame f = ip_frame(.src = "30.0.0.9", .dst = "10.0.0.1", .to_iface = out);
    rig_forward(1, &f);
    assert_int_equal(rig_discard(1), 1);
    assert_int_equal(rig_discard(0), 1);
    assert_only_drop(DROP_URPF_INTERFACE, 1);
}

static uint32_t alias(uint32_t target, bool is_default, const uint16_t *other, unsigned n)
{
    struct nexthop_alias a = {.target = target, .is_default = is_default, .n = (uint8_t)n};

    for (unsigned i = 0; i < n; i++)
        a.other[i] = other[i];
    router_role(ROLE_RIB_MANAGER);
    uint32_t id = nexthop_alias_new(&a);
    assert_int_not_equal(id, 0);
    return id;
}

// rfc: 3704 2.2 MAY
path_test(each_member_of_a_group_is_a_way_to_the_source)
{
    uint16_t third = rig_iface(2, 0, VR_DEFAULT);
    uint32_t member[2] = {rig_adjacency(in, 3), rig_adjacency(third, 4)};
    rig_route(VR_DEFAULT, "30.0.0.0/8", rig_group(member, 2));
    for (unsigned port = 0; port < 3; port++) {
        uint16_t iface[] = {in, out, third};
        urpf_set(iface[port], URPF_STRICT, URPF_OFF);
        struct frame f = ip_frame(.src = "30.0.0.1", .dst = "10.0.0.1", .to_iface = iface[port]);
        rig_send(port, &f);
    }
    assert_int_equal(rig_poll_out(0), 2);
    assert_only_drop(DROP_URPF_INTERFACE, 1);
}

path_test(a_group_with_more_ways_out_than_it_can_list_knows_them_all)
{
    enum { WAYS = NEXTHOP_GROUP_IFACES + 5 };
    uint32_t member[WAYS];
    uint16_t iface[WAYS], stranger = out;

    for (unsigned i = 0; i < WAYS; i++) {
        iface[i] = rig_iface(0, (uint16_t)(100 + i), VR_DEFAULT);
        member[i] = rig_adjacency(iface[i], i);
    }
    uint32_t group = rig_group(member, WAYS), one[] = {[0 ... WAYS - 1] = 1};
    for (unsigned left = WAYS; left > 0; left--) { // members disappear, and return all at once
        for (unsigned i = 0; i < WAYS; i++)
            assert_int_equal(nexthop_leads_out(group, iface[i]), i < left);
        assert_false(nexthop_leads_out(group, stranger));
        assert_int_equal(nexthop_group_set(group, member, one, left - 1), 0);
    }
    assert_int_equal(nexthop_group_set(group, member + 2, one, NEXTHOP_GROUP_IFACES), 0);
    for (unsigned i = 0; i < WAYS; i++)
        assert_int_equal(nexthop_leads_out(group, iface[i]),
                         i >= 2 && i < 2 + NEXTHOP_GROUP_IFACES);
}

// rfc: 3704 2.4 MAY
path_test(the_default_route_counts_only_when_it_is_allowed)
{
    static const uint8_t how[] = {URPF_LOOSE, URPF_STRICT, URPF_FEASIBLE};

    uint32_t upstream = alias(rig_adjacency(in, 3), true, NULL, 0);
    rig_routes(VR_DEFAULT, "0.0.0.0/0", "::/0", upstream);
    for (unsigned i = 0; i < 3; i++) {
        urpf_set(in, how[i], how[i]);
        send("198.51.100.1", "20.0.0.1");
        send("2001:db8:ffff::1", "2001:db8:b::1");
        rig_poll();
        assert_int_equal(rig_drops(DROP_URPF_SOURCE), 2 * (i + 1));
        urpf_set(in, how[i] | URPF_ALLOW_DEFAULT, how[i] | URPF_ALLOW_DEFAULT);
        send("198.51.100.1", "20.0.0.1");
        send("2001:db8:ffff::1", "2001:db8:b::1");
        assert_int_equal(rig_poll_out(1), 2);
    }
    urpf_set(out, URPF_STRICT | URPF_ALLOW_DEFAULT, URPF_OFF);
    struct frame f = ip_frame(.src = "198.51.100.1", .dst = "10.0.0.1", .to_iface = out);
    rig_forward(1, &f);
    assert_int_equal(rig_drops(DROP_URPF_INTERFACE), 1);
    assert_int_equal(rig_drops_all(), 7);
}

// rfc: 3704 2.3 MAY
path_test(feasible_believes_a_source_by_any_route_to_it)
{
    uint16_t third = rig_iface(2, 0, VR_DEFAULT);
    uint32_t member[] = {rig_adjacency(third, 5)}, group = rig_group(member, 1);
    uint16_t other[] = {(uint16_t)rig_adjacency(out, 4), (uint16_t)group};
    rig_route(VR_DEFAULT, "30.0.0.0/8", alias(rig_adjacency(in, 3), false, other, 2));
    for (unsigned port = 0; port < 3; port++) {
        uint16_t iface[] = {in, out, third};
        struct frame f = ip_frame(.src = "30.0.0.1", .dst = "10.0.0.1", .to_iface = iface[port]);
        urpf_set(iface[port], URPF_FEASIBLE, URPF_OFF);
        rig_forward(port, &f);
        assert_int_equal(rig_drops_all(), port ? port - 1 : 0);
        urpf_set(iface[port], URPF_STRICT, URPF_OFF); // only the best path
        rig_forward(port, &f);
        assert_int_equal(rig_drops(DROP_URPF_INTERFACE), port);
    }
    assert_int_equal(rig_discard(0), 4);
}

path_test(sources_that_lead_nowhere_or_to_us_are_never_believed)
{
    static const enum nexthop_kind kind[] = {NEXTHOP_LOCAL, NEXTHOP_BLACKHOLE, NEXTHOP_UNREACHABLE,
                                             NEXTHOP_PROHIBIT};

    urpf_set(in, URPF_LOOSE, URPF_OFF);
    for (unsigned i = 0; i < 4; i++) {
        rig_route(VR_DEFAULT, "10.9.9.9/32", rig_nexthop(kind[i], 0));
        send("10.9.9.9", "20.0.0.1");
        rig_poll();
    }
    assert_only_drop(DROP_URPF_SOURCE, 4);
}

path_test(a_source_that_is_not_resolved_or_did_not_answer_is_one_all_the_same)
{
    static const enum nexthop_kind kind[] = {NEXTHOP_HOLD, NEXTHOP_GLEAN, NEXTHOP_FAILED};

    urpf_set(in, URPF_STRICT, URPF_OFF);
    for (unsigned i = 0; i < 3; i++) {
        rig_route(VR_DEFAULT, "10.9.9.9/32", rig_nexthop(kind[i], in));
        send("10.9.9.9", "20.0.0.1");
        rig_poll();
    }
    assert_int_equal(rig_discard(1), 3);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(what_a_link_needs_goes_up_whatever_the_source)
{
    static const uint8_t all_nodes[6] = {0x33, 0x33, 0, 0, 0, 1},
                         ospf[6] = {0x01, 0, 0x5e, 0, 0, 5};
    uint8_t ns[24] = {135};

    urpf_set(in, URPF_STRICT, URPF_STRICT);
    rig_route(VR_DEFAULT, "2001:db8:a::fe/128", rig_nexthop(NEXTHOP_LOCAL, in));
    rig_link_local(in, "fe80::2");
    struct frame dhcp = ip_frame(.src = "0.0.0.0", .dst = "255.255.255.255", .sport = 68,
                                 .dport = 67, .dst_mac = broadcast_mac);
    struct frame hello = ip_frame(.src = "30.0.0.1", .dst = "224.0.0.5", .proto = 89,
                                  .dst_mac = ospf, .l4 = ns, .l4_len = 24);
    struct frame dad = ip_frame(.src = "::", .dst = "ff02::1", .ttl = 255, .proto = 58,
                                .dst_mac = all_nodes, .l4 = ns, .l4_len = 24);
    struct frame nud = ip_frame(.src = "fe80::1", .dst = "2001:db8:a::fe", .ttl = 255, .proto = 58,
                                .l4 = ns, .l4_len = 24);
    struct frame ll = ip_frame(.src = "fe80::1", .dst = "fe80::2", .ttl = 255, .proto = 58,
                               .l4 = ns, .l4_len = 24);
    struct frame g;
    rig_send(0, &dhcp);
    rig_send(0, &hello);
    rig_send(0, &dad);
    rig_send(0, &nud);
    rig_forward(0, &ll);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_true(rig_punted(PUNT_ROUTING, &g, NULL));
    for (unsigned i = 0; i < 3; i++)
        assert_true(rig_punted(PUNT_NEIGH, &g, NULL));
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_spoofed_source_does_not_reach_us_either)
{
    urpf_set(in, URPF_STRICT, URPF_STRICT);
    rig_icmp_rate(1000, 1000);
    rig_route(VR_DEFAULT, "10.0.0.254/32", rig_nexthop(NEXTHOP_LOCAL, in));
    send("20.0.0.1", "10.0.0.254");
    struct frame f =
        ip_frame(.src = "20.0.0.1", .dst = "20.0.0.2", .ttl = 1); // and no error is sent
    rig_forward(0, &f);
    assert_only_drop(DROP_URPF_INTERFACE, 2);
    assert_int_equal(rig_discard(0) + rig_discard(1), 0);
}

// The alias for uRPF does not prevent forwarding: to one next hop and to a group.
path_test(packets_to_a_prefix_with_an_alias_are_forwarded)
{
    uint32_t member[] = {rig_adjacency(out, 3), rig_adjacency(out, 4)};
    rig_route(VR_DEFAULT, "0.0.0.0/0", alias(rig_adjacency(out, 2), true, NULL, 0));
    rig_route(VR_DEFAULT, "::/0", alias(rig_group(member, 2), true, NULL, 0));
    rig_route(VR_DEFAULT, "40.0.0.0/8", alias(rig_group(NULL, 0), false, NULL, 0));
    rig_route(VR_DEFAULT, "50.0.0.0/8", alias(rig_nexthop(NEXTHOP_HOLD, out), false, NULL, 0));
    send("10.0.0.1", "198.51.100.1");
    send("2001:db8:a::1", "2001:db8:ffff::1");
    send("10.0.0.1", "40.0.0.1");
    send("10.0.0.1", "50.0.0.1");
    assert_int_equal(rig_poll_out(1), 2);
    assert_only_drop(DROP_ECMP_EMPTY, 1);
    struct rte_mbuf *held = rig_held();
    assert_non_null(held);
    rig_release(held);
}

path_test(each_interface_asks_its_own_virtual_router)
{
    uint16_t blue = rig_vr("blue"), vlan = rig_iface(0, 7, blue);
    urpf_set(in, URPF_STRICT, URPF_OFF);
    urpf_set(vlan, URPF_STRICT, URPF_OFF);
    rig_routes(blue, "20.0.0.0/8", "10.0.0.0/8", rig_adjacency(vlan, 6));
    for (unsigned k = 0; k < 4; k++) { // 20.0.0.9 is behind the other VLAN
        struct frame f = ip_frame(.src = "20.0.0.9", .dst = "10.0.0.1", .vlan = k & 1 ? 7 : 0,
                                  .to_iface = k & 1 ? vlan : in);
        rig_send(0, &f);
    }
    assert_int_equal(rig_poll_out(0), 2);
    assert_only_drop(DROP_URPF_INTERFACE, 2);
}
