// SPDX-License-Identifier: BSD-3-Clause
// vlan_test.c - two tags, priority tags, and unknown VLANs (one tag: tests/path/ether)
#include "harness.h"

#include <errno.h>
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

static const struct {
    const char *src, *dst;
} any[2] = {{"192.0.2.1", "198.51.100.1"}, {"2001:db8::1", "2001:db8:1::1"}};

// A packet with VLAN `vlan` inside a tag of type `tpid`; the second family is IPv6.
static struct frame pair_packet(unsigned family, uint16_t tpid, uint16_t outer, uint16_t vlan,
                                uint16_t to)
{
    return ip_frame(.src = any[family].src, .dst = any[family].dst, .outer_tpid = tpid,
                    .outer_tci = outer, .vlan = vlan, .to_iface = to);
}

path_test(a_packet_with_two_tags_enters_by_the_sub_interface_of_both)
{
    uint16_t sub[3] = {rig_iface_pair(0, 100, 0x88a8, 10, VR_DEFAULT),
                       rig_iface_pair(0, 101, 0x8100, 10, VR_DEFAULT),
                       rig_iface_pair(0, 102, 0x9100, 4094, VR_DEFAULT)};
    for (unsigned i = 0; i < 3; i++) {
        const struct iface *s = iface_get(sub[i]);
        for (unsigned family = 0; family < 2; family++) {
            struct frame g, f = pair_packet(family, rte_be_to_cpu_16(s->tpid_be), s->outer_vlan,
                                            s->vlan, sub[i]);
            assert_true(rig_passes(0, &f, 1, &g));
            assert_int_equal(g.n, f.n - 8);
            assert_int_equal(g.b[12] << 8 | g.b[13], family ? 0x86dd : 0x0800);
        }
        assert_int_equal(rig_counted(sub[i]).rx_packets, 2);
    }
    assert_int_equal(rig_drops_all(), 0);
}

path_test(two_tags_go_out_by_a_sub_interface_with_two)
{
    uint16_t from = rig_iface_pair(0, 100, 0x88a8, 10, VR_DEFAULT),
             sub = rig_iface_pair(1, 0xabc, 0x88a8, 0x123, VR_DEFAULT);
    rig_routes(VR_DEFAULT, "0.0.0.0/0", "::/0", rig_adjacency(sub, 9));
    for (unsigned family = 0; family < 2; family++) {
        struct frame came[3] = {
            packet(), pair_packet(family, 0x88a8, 100, 10, from), // new length, the same length
            ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .pad_to = 90)};
        for (unsigned i = 0; i < 3; i++) {
            struct frame g;
            assert_true(rig_passes(0, &came[i], 1, &g));
            assert_memory_equal(g.b, neighbor_mac(9), 6);
            assert_memory_equal(g.b + 6, iface_get(sub)->mac, 6);
            assert_memory_equal(g.b + 12,
                                ((uint8_t[8]){0x88, 0xa8, 0x0a, 0xbc, 0x81, 0x00, 0x01, 0x23}), 8);
            assert_int_equal(g.b[20] << 8 | g.b[21], family && i == 1 ? 0x86dd : 0x0800);
            if (!(family && i == 1))
                assert_true(frame_is_ip4_sound(&g));
            unsigned l3 = came[i].n - (unsigned)(frame_l3(&came[i]) - came[i].b);
            assert_int_equal(g.n, 22 + (i == 2 ? 28 : l3)); // without padding
        }
    }
    assert_int_equal(rig_counted(sub).tx_packets, 6);
}

path_test(a_burst_of_frames_with_all_numbers_of_tags_is_forwarded_in_order)
{
    uint16_t one = rig_iface(0, 10, VR_DEFAULT),
             two = rig_iface_pair(0, 100, 0x88a8, 10, VR_DEFAULT);
    uint16_t ways[3] = {in, one, two};
    for (unsigned i = 0; i < 60; i++) {
        struct ip_spec s = {.src = "192.0.2.1",
                            .dst = "198.51.100.1",
                            .sport = (uint16_t)(i / 3 + 1),
                            .to_iface = ways[i % 3],
                            .vlan = i % 3 ? 10 : 0,
                            .outer_tpid = i % 3 == 2 ? 0x88a8 : 0,
                            .outer_tci = 100};
        struct frame f = frame_ip(&s);
        rig_send(0, &f);
    }
    rig_poll();
    unsigned next = 0;
    struct frame g;
    for (unsigned n = 0; rig_receive(1, &g); n++) {
        unsigned sport = (unsigned)g.b[34] << 8 | g.b[35];
        next = n % 20 + 1; // each kind alone
        assert_int_equal(sport, next);
        assert_true(frame_is_ip4_sound(&g));
    }
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(rig_counted(ways[i]).rx_packets, 20);
    assert_int_equal(rig_drops_all(), 0);
}

// What ports do with tags: nothing; strip the outer one without its type; strip both; strip the
// outer one of two.
path_test(tags_the_port_has_taken_off_count_like_those_in_the_frame)
{
    uint16_t sub = rig_iface_pair(0, 100, 0x88a8, 10, VR_DEFAULT);
    static const struct {
        uint64_t flags;
        uint16_t tci, outer, in_frame;
    } way[] = {
        {RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED, 0xe000 | 100, 0, 10},
        {RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_VLAN_STRIPPED |
             RTE_MBUF_F_RX_QINQ_STRIPPED,
         10, 100, 0},
        {RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED, 10, 100, 10},
    };
    for (unsigned i = 0; i < sizeof way / sizeof *way; i++) {
        struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .to_iface = sub,
                                     .vlan = way[i].in_frame);
        struct rte_mbuf *m = rig_mbuf(&f, 2048);
        m->ol_flags |= way[i].flags;
        m->vlan_tci = way[i].tci;
        m->vlan_tci_outer = way[i].outer;
        rig_send_mbuf(0, 0, m);
        rig_poll();
        assert_true(rig_receive(1, &g));
        assert_int_equal(rig_counted(sub).rx_packets, i + 1);
    }
    assert_int_equal(rig_drops_all(), 0);
}

// A tag with VLAN 0 is only a priority, anywhere: Linux strips it too.
path_test(priority_tags_are_taken_off_in_front_of_and_behind_others)
{
    uint16_t one = rig_iface(0, 10, VR_DEFAULT),
             two = rig_iface_pair(0, 100, 0x88a8, 10, VR_DEFAULT);
    struct frame f[4] = {
        pair_packet(0, 0x8100, 0xa000, 10, one),      // priority 5 before VLAN 10
        pair_packet(0, 0x88a8, 0x2000, 10, one),      // and in an S-tag
        pair_packet(0, 0x8100, 10, 0x6000, one),      // after VLAN 10
        pair_packet(0, 0x88a8, 0xe000 | 100, 10, two) // a pair with priorities
    };
    struct frame three = pair_packet(0, 0x88a8, 100, 10, two), g;
    memmove(three.b + 16, three.b + 12, three.n - 12);
    memcpy(three.b + 12, (uint8_t[4]){0x81, 0x00, 0xe0, 0x00}, 4); // before a pair
    three.n += 4;
    for (unsigned i = 0; i < 4; i++)
        rig_send(0, &f[i]);
    rig_forward(0, &three);
    assert_int_equal(rig_discard(1), 5);
    assert_int_equal(rig_counted(one).rx_packets, 3);
    assert_int_equal(rig_counted(two).rx_packets, 2);
    assert_int_equal(rig_drops_all(), 0);
    g = pair_packet(0, 0x8100, 0x2000, 0xe000, in); // two priority tags: untagged
    assert_true(rig_passes(0, &g, 1, &g));
    assert_int_equal(rig_counted(in).rx_packets, 1);
}

path_test(vlans_nobody_has_are_dropped_by_name_at_both_levels)
{
    rig_iface(0, 7, VR_DEFAULT);
    rig_iface_pair(0, 100, 0x88a8, 10, VR_DEFAULT);
    rig_iface_pair(0, 200, 0x8100, 10, VR_DEFAULT);
    static const struct {
        uint16_t tpid, outer, vlan, reason;
    } odd[] = {
        {0, 0, 100, DROP_VLAN_UNKNOWN},          // only the outer VLAN of a pair
        {0x88a8, 101, 10, DROP_VLAN_UNKNOWN},    // unknown outer VLAN
        {0x88a8, 100, 11, DROP_VLAN_INNER_UNKNOWN},
        {0x8100, 7, 10, DROP_VLAN_INNER_UNKNOWN}, // VLAN 7 has no pairs
        {0x8100, 100, 10, DROP_VLAN_TPID},
        {0x9100, 200, 10, DROP_VLAN_TPID},
        {0x88a8, 0xe000, 0xe007, DROP_NONE},     // priority before VLAN 7: known
        {0, 0, 0xfff, DROP_VLAN_RESERVED},
        {0x88a8, 0xfff, 10, DROP_VLAN_RESERVED},
        {0x88a8, 100, 0xffff, DROP_VLAN_RESERVED},
    };

    for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++) {
        uint64_t before = rig_drops(odd[i].reason), all = rig_drops_all();
        struct frame f =
            pair_packet(0, odd[i].tpid, odd[i].outer, odd[i].vlan, iface_get(2)->vlan == 7 ? 2 : 3);
        rig_forward(0, &f);
        assert_int_equal(rig_drops_all() - all, odd[i].reason != DROP_NONE);
        assert_int_equal(rig_drops(odd[i].reason) - before, odd[i].reason != DROP_NONE);
        rig_discard(1);
    }
    assert_int_equal(rig_counted(in).vlan_unknown_packets, 4);
    assert_int_equal(rig_counted(in).drop_packets, rig_drops_all());
}

path_test(an_s_tag_alone_is_no_vlan_of_a_sub_interface)
{
    uint16_t sub = rig_iface(0, 100, VR_DEFAULT);
    struct frame f =
        ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .vlan = 100, .to_iface = sub);
    memcpy(f.b + 12, (uint8_t[2]){0x88, 0xa8}, 2);
    rig_forward(0, &f);
    assert_only_drop(DROP_VLAN_TPID, 1);
}

path_test(a_fourth_tag_and_a_cut_one_are_dropped)
{
    uint16_t two = rig_iface_pair(0, 100, 0x88a8, 10, VR_DEFAULT);
    struct frame f = pair_packet(0, 0x88a8, 100, 10, two);
    memcpy(f.b + 20, (uint8_t[8]){0x81, 0, 0, 1, 0x81, 0, 0, 2}, 8);
    rig_send(0, &f);
    memcpy(f.b + 20, (uint8_t[6]){0x81, 0, 0, 1, 0x08, 0}, 6); // three
    rig_forward(0, &f);
    assert_only_drop(DROP_VLAN_INNER_UNKNOWN, 2);
    f = pair_packet(0, 0x88a8, 100, 10, two);
    for (f.n = 14; f.n < 22; f.n++)
        rig_send(0, &f);
    rig_poll();
    assert_int_equal(rig_drops(DROP_ETHER_TRUNCATED), 8);
}

path_test(the_wrong_mac_and_a_down_interface_are_named_with_two_tags_too)
{
    uint16_t two = rig_iface_pair(0, 100, 0x88a8, 10, VR_DEFAULT);
    struct frame f = pair_packet(0, 0x88a8, 100, 10, in);
    rig_forward(0, &f);
    assert_only_drop(DROP_ETHER_NOT_OURS, 1);
    iface_get(two)->flags = 0;
    f = pair_packet(0, 0x88a8, 100, 10, two);
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_IFACE_DOWN), 1);
    assert_int_equal(rig_counted(two).drop_packets, 2);
}

path_test(a_pair_of_vlans_that_goes_leads_nowhere_and_its_row_serves_another)
{
    for (unsigned k = 0; k < 3 * OUTER_VLAN_MAX; k++) { // rows come back after a grace period
        router_role(ROLE_CONTROL);
        uint16_t outer = (uint16_t)(1 + k % 4094);
        assert_int_equal(port_lead(port_get(0), outer, 9, in), 0);
        assert_int_equal(port_iface(port_get(0), outer, 9), in);
        assert_int_equal(port_iface(port_get(1), outer, 9), 0);
        assert_int_equal(port_lead(port_get(0), outer, 9, 0), 0);
        assert_int_equal(port_iface(port_get(0), outer, 9), 0);
    }
    for (unsigned k = 1; k < OUTER_VLAN_MAX; k++)
        assert_int_equal(port_lead(port_get(0), (uint16_t)k, 9, in), 0);
    assert_int_equal(port_lead(port_get(1), 1, 9, in), -ENOSPC);
    assert_int_equal(port_lead(port_get(0), 1, 10, in), 0); // another inner VLAN needs no row
    for (unsigned k = 1; k < OUTER_VLAN_MAX; k++)
        assert_int_equal(port_lead(port_get(0), (uint16_t)k, 9, 0), 0);
    assert_int_equal(port_lead(port_get(0), 1, 10, 0), 0);
}
