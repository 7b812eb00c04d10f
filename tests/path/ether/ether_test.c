// SPDX-License-Identifier: BSD-3-Clause
// ether_test.c - accepted frames: MAC filter, VLANs, EtherTypes, lengths
#include "harness.h"

#include <rte_mbuf.h>

static uint16_t in, out;

// Port 0 and port 1 have one interface each; everything is routed to neighbor 1 behind port 1.
void rig_begin(void)
{
    rig_in_and_out(&in, &out);
    uint32_t nh = rig_adjacency(out, 1);
    rig_routes(VR_DEFAULT, "0.0.0.0/0", "::/0", nh);
}

static struct frame packet(void)
{
    return ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1");
}

// rfc: 1812 5.3.1 MUST
// rfc: 1624 3 MUST
path_test(a_packet_leaves_with_new_macs_lower_ttl_and_right_checksum)
{
    struct frame f = packet(), g;
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.n, f.n);
    assert_memory_equal(g.b, neighbor_mac(1), 6);
    assert_memory_equal(g.b + 6, iface_get(out)->mac, 6);
    assert_int_equal(g.b[12], 0x08);
    assert_int_equal(g.b[13], 0x00);
    assert_int_equal(g.b[14 + 8], 63);
    assert_true(frame_is_ip4_sound(&g));
    assert_memory_equal(g.b + 14 + 12, f.b + 14 + 12, g.n - 26);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(an_ipv6_packet_leaves_with_new_macs_and_lower_hop_limit)
{
    struct frame f = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1"), g;
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.n, f.n);
    assert_memory_equal(g.b, neighbor_mac(1), 6);
    assert_int_equal(g.b[12] << 8 | g.b[13], 0x86dd);
    assert_int_equal(g.b[14 + 7], 63);
    assert_memory_equal(g.b + 14 + 8, f.b + 14 + 8, g.n - 22);
}

path_test(ethernet_padding_is_cut_off)
{
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .pad_to = 60), g;
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.n, 14 + 28);
}

path_test(a_frame_for_another_mac_is_dropped)
{
    struct frame f = packet();
    f.b[5] ^= 1;
    rig_forward(0, &f);
    assert_only_drop(DROP_ETHER_NOT_OURS, 1);
}

// rfc: 5798 6.4.3 MUST
path_test(packets_to_the_mac_of_a_macvlan_are_taken_as_the_interfaces_own)
{
    static const uint8_t virtual_mac[6] = {0, 0, 0x5e, 0, 1, 5}, other[6] = {0, 0, 0x5e, 0, 1, 6};
    uint64_t word = iface_mac_word(virtual_mac);
    rig_route(VR_DEFAULT, "192.0.2.254/32", rig_nexthop(NEXTHOP_LOCAL, in));
    router_role(ROLE_CONTROL);
    assert_true(iface_set_macs(iface_get(in), &word, 1));
    assert_false(iface_set_macs(iface_get(in), &word, 1)); // unchanged
    struct frame transit = packet(), six = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1"),
                 g;
    struct frame ours = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.254"), arp = packet();
    memcpy(transit.b, virtual_mac, 6);
    memcpy(six.b, virtual_mac, 6);
    memcpy(ours.b, virtual_mac, 6);
    memcpy(arp.b, virtual_mac, 6);
    memcpy(arp.b + 12, "\x08\x06", 2);
    rig_send(0, &transit);
    rig_send(0, &six);
    rig_send(0, &ours);
    assert_true(rig_passes(0, &arp, 1, &g) && rig_receive(1, &g));
    assert_memory_equal(g.b + 6, iface_get(out)->mac, 6);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_memory_equal(g.b, virtual_mac, 6); // the kernel's macvlan needs its own MAC
    assert_true(rig_punted(PUNT_NEIGH, &g, NULL));
    assert_int_equal(rig_drops_all(), 0);
    memcpy(transit.b, other, 6);
    rig_forward(0, &transit);
    assert_only_drop(DROP_ETHER_NOT_OURS, 1);
    router_role(ROLE_CONTROL);
    iface_set_macs(iface_get(in), NULL, 0);
    memcpy(transit.b, virtual_mac, 6);
    rig_forward(0, &transit);
    assert_only_drop(DROP_ETHER_NOT_OURS, 2);
}

path_test(frames_shorter_than_their_header_are_dropped)
{
    rig_iface(0, 7, VR_DEFAULT);
    struct frame f = packet();
    for (f.n = 1; f.n < 14; f.n++)
        rig_send(0, &f);
    struct frame tagged = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .vlan = 7);
    for (tagged.n = 14; tagged.n < 18; tagged.n++)
        rig_send(0, &tagged);
    rig_poll();
    assert_only_drop(DROP_ETHER_TRUNCATED, 13 + 4);
}

// rfc: 1812 5.3.4 MUST
path_test(a_broadcast_frame_with_a_packet_for_elsewhere_is_not_forwarded)
{
    uint8_t group[6] = {0x01, 0, 0x5e, 1, 2, 3};
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .dst_mac = broadcast_mac);
    struct frame g = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1", .dst_mac = group);
    rig_send(0, &f);
    rig_forward(0, &g);
    assert_only_drop(DROP_ETHER_BROADCAST, 2);
}

// It may be one host's mistake, or an attempt to make all routers of a link answer.
// rfc: 1122 3.3.6 SHOULD
path_test(a_broadcast_frame_with_a_packet_for_one_of_our_addresses_is_dropped)
{
    uint8_t group[6] = {0x33, 0x33, 0, 0, 0, 1};
    rig_routes(VR_DEFAULT, "192.0.2.254/32", "2001:db8::fe/128", rig_nexthop(NEXTHOP_LOCAL, in));
    rig_link_local(in, "fe80::fe");
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.254", .dst_mac = broadcast_mac);
    struct frame g = ip_frame(.src = "2001:db8::1", .dst = "2001:db8::fe", .dst_mac = group);
    struct frame h = ip_frame(.src = "fe80::1", .dst = "fe80::fe", .dst_mac = group);
    rig_send(0, &f);
    rig_send(0, &g);
    rig_forward(0, &h);
    assert_only_drop(DROP_ETHER_BROADCAST, 3);
}

// rfc: 1122 3.3.6 MUST
path_test(a_broadcast_frame_with_a_packet_to_the_broadcast_address_is_delivered)
{
    uint32_t broadcast = rig_nexthop(NEXTHOP_BROADCAST, in);
    nexthop_set_broadcast(broadcast, in);
    rig_route(VR_DEFAULT, "192.0.2.255/32", broadcast);
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.255", .dst_mac = broadcast_mac),
                 g;
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_int_equal(g.n, f.n);
    assert_memory_equal(g.b, f.b, f.n);
}

path_test(ethertypes_nobody_speaks_are_dropped)
{
    uint16_t unknown[] = {0x8848, 0x9000, 0x8137,
                          0x0600, 0xffff, 0x0027 /* 802.3 with foreign LLC */};
    for (unsigned i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct frame f = packet();
        f.b[12] = (uint8_t)(unknown[i] >> 8);
        f.b[13] = (uint8_t)unknown[i];
        rig_send(0, &f);
    }
    rig_poll();
    assert_only_drop(DROP_ETHER_TYPE_UNKNOWN, sizeof unknown / sizeof *unknown);
}

path_test(frames_of_link_protocols_go_up_unchanged)
{
    static const struct {
        uint8_t b[20];
        enum punt_class class;
    } known[] = {
        {{[12] = 0x08, 0x06}, PUNT_NEIGH},
        {{[12] = 0x88, 0xcc}, PUNT_ROUTING},
        {{[12] = 0x88, 0x09, 1}, PUNT_ROUTING},
        {{[12] = 0x88, 0x8e}, PUNT_OTHER},
        {{[12] = 0x00, 0x06, 0xfe, 0xfe, 0x03, 0x83}, PUNT_ROUTING}, // IS-IS
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        struct frame f = frame_raw(known[i].b, 20), g;
        uint16_t iface = 0;
        memcpy(f.b, (uint8_t[6]){0x01, 0x80, 0xc2, 0, 0, 0x0e}, 6);
        rig_forward(0, &f);
        assert_true(rig_punted(known[i].class, &g, &iface));
        assert_int_equal(iface, in);
        assert_int_equal(g.n, f.n);
        assert_memory_equal(g.b, f.b, f.n);
    }
}

path_test(a_tagged_packet_enters_by_its_sub_interface_and_leaves_untagged)
{
    uint16_t sub = rig_iface(0, 100, VR_DEFAULT);
    struct frame g,
        f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .vlan = 100, .to_iface = sub);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.n, f.n - 4);
    assert_int_equal(g.b[12] << 8 | g.b[13], 0x0800);
    assert_true(frame_is_ip4_sound(&g));
    assert_int_equal(rig_counted(sub).rx_packets, 1);
    assert_int_equal(rig_counted(sub).rx_bytes, f.n);
    assert_int_equal(rig_counted(out).tx_packets, 1);
    assert_int_equal(rig_counted(out).tx_bytes, g.n);
}

path_test(a_packet_leaves_tagged_by_a_sub_interface)
{
    uint16_t sub = rig_iface(1, 4094, VR_DEFAULT);
    rig_routes(VR_DEFAULT, "0.0.0.0/0", "::/0", rig_adjacency(sub, 9));
    struct frame g, f = packet(), f6 = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1");
    rig_send(0, &f);
    assert_true(rig_passes(0, &f6, 1, &g));
    assert_int_equal(g.n, f.n + 4);
    assert_memory_equal(g.b, neighbor_mac(9), 6);
    assert_memory_equal(g.b + 6, iface_get(sub)->mac, 6);
    assert_memory_equal(g.b + 12, ((uint8_t[6]){0x81, 0x00, 0x0f, 0xfe, 0x08, 0x00}), 6);
    assert_true(frame_is_ip4_sound(&g));
    assert_true(rig_receive(1, &g));
    assert_memory_equal(g.b + 12, ((uint8_t[6]){0x81, 0x00, 0x0f, 0xfe, 0x86, 0xdd}), 6);
}

path_test(a_tag_the_port_has_stripped_counts_like_one_in_the_frame)
{
    uint16_t sub = rig_iface(0, 100, VR_DEFAULT);
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .to_iface = sub);
    struct rte_mbuf *m = rig_mbuf(&f, 2048);
    m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    m->vlan_tci = 0xe000 | 100; // priority 7
    rig_send_mbuf(0, 0, m);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(rig_counted(sub).rx_packets, 1);
}

path_test(a_priority_tag_means_untagged)
{
    struct frame g, f = packet(), t = f;
    memmove(t.b + 16, f.b + 12, f.n - 12);
    memcpy(t.b + 12, (uint8_t[4]){0x81, 0x00, 0xa0, 0x00}, 4);
    t.n += 4;
    assert_true(rig_passes(0, &t, 1, &g));
    assert_int_equal(g.n, f.n);
    assert_int_equal(rig_counted(in).rx_packets, 1);
}

path_test(an_unknown_vlan_is_dropped_and_so_is_a_second_tag)
{
    rig_iface(0, 100, VR_DEFAULT);
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .vlan = 101);
    rig_send(0, &f);
    struct frame q = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .vlan = 100);
    q.b[16] = 0x81, q.b[17] = 0x00;
    rig_send(0, &q);
    struct frame ad = packet();
    ad.b[12] = 0x88, ad.b[13] = 0xa8;
    rig_forward(0, &ad);
    assert_int_equal(rig_drops(DROP_VLAN_UNKNOWN), 2);
    assert_int_equal(rig_drops(DROP_VLAN_INNER_UNKNOWN), 1);
    assert_int_equal(rig_drops_all(), 3);
}

path_test(an_interface_that_is_down_receives_nothing)
{
    uint16_t sub = rig_iface(0, 100, VR_DEFAULT);
    struct frame f = packet();
    struct frame t =
        ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .vlan = 100, .to_iface = sub);
    iface_get(in)->flags = 0;
    iface_get(sub)->flags = 0;
    rig_send(0, &f);
    rig_forward(0, &t);
    assert_only_drop(DROP_IFACE_DOWN, 2);
}

path_test(a_port_without_an_interface_of_its_own_drops_untagged_frames)
{
    struct frame f = packet();
    rig_forward(2, &f);
    assert_only_drop(DROP_IFACE_DOWN, 1);
}

path_test(a_jumbo_frame_in_several_segments_is_forwarded_whole)
{
    iface_get(out)->mtu = 9000;
    router_role(ROLE_RIB_MANAGER);
    nexthop_refresh_iface(out);
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .payload = 8900);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.n, f.n);
    assert_memory_equal(g.b + 14 + 20, f.b + 14 + 20, f.n - 34);
    assert_true(frame_is_ip4_sound(&g));
}

path_test(headers_cut_into_small_segments_are_put_together_first)
{
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .payload = 100);
    rig_send_mbuf(0, 0, rig_mbuf(&f, 10));
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(g.n, f.n);
    assert_memory_equal(g.b + 34, f.b + 34, f.n - 34);
}

path_test(padding_in_a_segment_of_its_own_is_cut_off)
{
    struct frame g,
        f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .payload = 200, .pad_to = 600);
    rig_send_mbuf(0, 0, rig_mbuf(&f, 150));
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(g.n, 14 + 28 + 200);
}
