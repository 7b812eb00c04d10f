// SPDX-License-Identifier: BSD-3-Clause
// broadcast_test.c - packets to the broadcast address of a subnet: 10.1.0.0/24 on `out`
#include "harness.h"

static uint16_t in, out;

static void subnet(uint16_t iface, const char *address)
{
    uint32_t id = rig_nexthop(NEXTHOP_BROADCAST, iface);

    nexthop_set_broadcast(id, iface);
    rig_route(VR_DEFAULT, address, id);
}

static void two_interfaces(uint16_t vlan)
{
    in = rig_iface(0, 0, VR_DEFAULT);
    out = rig_iface(1, vlan, VR_DEFAULT);
    rig_route(VR_DEFAULT, "10.1.0.0/24", rig_adjacency(out, 1));
    rig_route(VR_DEFAULT, "192.0.2.0/24", rig_adjacency(in, 2));
    subnet(out, "10.1.0.255/32");
    rig_icmp_rate(1000, 1000);
}

static struct frame to_subnet(uint8_t ttl, unsigned payload)
{
    return ip_frame(.src = "192.0.2.1", .dst = "10.1.0.255", .ttl = ttl, .payload = payload);
}

// rfc: 2644 3 MUST
path_test(from_elsewhere_it_ends_here_and_nobody_is_told)
{
    two_interfaces(0);
    struct frame f = to_subnet(64, 20);
    rig_send(0, &f);
    f = to_subnet(1, 20);
    rig_forward(0, &f);
    assert_only_drop(DROP_DIRECTED_BROADCAST, 2);
    assert_int_equal(rig_discard(0) + rig_discard(1), 0);
}

static void leaves_as_broadcast(uint16_t vlan)
{
    unsigned broadcasts = 0, others = 0;

    two_interfaces(vlan);
    struct frame g, f = to_subnet(64, 20), other = ip_frame(.src = "192.0.2.1", .dst = "10.1.0.9");
    iface_get(out)->policy.directed_broadcast = true;
    rig_send(0, &other); // other packets of the burst are forwarded
    rig_send(0, &f);
    rig_forward(0, &other);
    while (rig_receive(1, &g)) {
        bool is_broadcast = !memcmp(g.b, broadcast_mac, 6);
        broadcasts += is_broadcast;
        others += !is_broadcast;
        assert_int_equal(is_broadcast, g.b[(vlan ? 18 : 14) + 19] == 255);
        assert_memory_equal(g.b + 6, iface_get(out)->mac, 6);
        assert_int_equal(frame_l3(&g)[8], 63);
        assert_true(frame_is_ip4_sound(&g));
        if (vlan)
            assert_memory_equal(g.b + 12, "\x81\0\0\7", 4);
    }
    assert_int_equal(broadcasts, 1);
    assert_int_equal(others, 2);
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 1812 5.3.5.2 MAY
path_test(when_allowed_it_leaves_as_broadcast)
{
    leaves_as_broadcast(0);
}

path_test(when_allowed_it_leaves_a_sub_interface_with_its_tag)
{
    leaves_as_broadcast(7);
}

// rfc: 1812 4.3.2.7 MUST NOT
path_test(no_error_is_sent_about_one)
{
    two_interfaces(0);
    iface_get(out)->policy.directed_broadcast = true;
    struct frame f = to_subnet(1, 20);
    rig_forward(0, &f);
    assert_only_drop(DROP_IP4_TTL, 1);
    iface_get(out)->mtu = 1000;
    router_role(ROLE_RIB_MANAGER);
    nexthop_refresh_iface(out);
    f = to_subnet(64, 1200);
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_IP4_TOO_BIG), 1);
    assert_int_equal(rig_discard(0) + rig_discard(1), 0);
}

// rfc: 1812 5.3.5.2 MAY
path_test(from_the_subnet_itself_it_is_for_us)
{
    two_interfaces(0);
    subnet(in, "192.0.2.255/32");
    struct frame g,
        f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.255", .dst_mac = broadcast_mac);
    rig_send(0, &f);
    f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.255");
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_int_equal(rig_drops_all(), 0);
    // A broadcast frame to another subnet's broadcast address is neither for us nor forwarded.
    iface_get(out)->policy.directed_broadcast = true;
    f = ip_frame(.src = "192.0.2.1", .dst = "10.1.0.255", .dst_mac = broadcast_mac);
    rig_forward(0, &f);
    assert_only_drop(DROP_ETHER_BROADCAST, 1);
}

// rfc: 1812 4.3.2.7 MUST NOT
path_test(no_error_goes_to_one)
{
    two_interfaces(0);
    iface_get(out)->policy.directed_broadcast = true;
    struct frame f = ip_frame(.src = "10.1.0.255", .dst = "203.0.113.1"); // no route
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_IP4_NO_ROUTE), 1);
    assert_int_equal(rig_drops(DROP_IP4_MARTIAN_SRC), 1);
    assert_int_equal(rig_discard(0) + rig_discard(1), 0);
}
