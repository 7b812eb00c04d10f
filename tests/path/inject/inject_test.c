// SPDX-License-Identifier: BSD-3-Clause
// inject_test.c - packets from the kernel, from neigh_manager and from other forwarders
#include "harness.h"

#include <rte_mbuf.h>

#include "base/checksum.h"

static uint16_t in, out;

void rig_begin(void)
{
    rig_in_and_out(&in, &out);
}

path_test(a_frame_of_the_kernel_leaves_unchanged)
{
    struct frame g, f = ip_frame(.src = "0.0.0.0", .dst = "255.255.255.255", .ttl = 1,
                                 .dst_mac = broadcast_mac);
    rig_inject_frame(0, out, &f);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(g.n, f.n);
    assert_memory_equal(g.b, f.b, f.n);
    assert_int_equal(rig_counted(out).tx_packets, 1);
    assert_int_equal(rig_counted(out).tx_bytes, f.n);
}

path_test(a_frame_for_a_sub_interface_gets_its_tag)
{
    uint16_t sub = rig_iface(1, 300, VR_DEFAULT);
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.2");
    rig_inject_frame(0, sub, &f);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(g.n, f.n + 4);
    assert_memory_equal(g.b, f.b, 12);
    assert_memory_equal(g.b + 12, ((uint8_t[4]){0x81, 0, 0x01, 0x2c}), 4);
    assert_memory_equal(g.b + 16, f.b + 12, f.n - 12);
}

path_test(a_frame_for_a_sub_interface_with_two_tags_gets_both)
{
    uint16_t sub = rig_iface_pair(1, 0x345, 0x88a8, 300, VR_DEFAULT);
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.2");
    rig_inject_frame(0, sub, &f);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(g.n, f.n + 8);
    assert_memory_equal(g.b, f.b, 12);
    assert_memory_equal(g.b + 12, ((uint8_t[8]){0x88, 0xa8, 0x03, 0x45, 0x81, 0, 0x01, 0x2c}), 8);
    assert_memory_equal(g.b + 20, f.b + 12, f.n - 12);
}

path_test(a_frame_with_two_tags_the_port_does_not_take_is_counted_where_it_belongs)
{
    uint16_t sub = rig_iface_pair(1, 0x345, 0x88a8, 300, VR_DEFAULT);
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.2");
    rig_tx_block(1, true);
    rig_inject_frame(0, sub, &f);
    rig_poll();
    assert_only_drop(DROP_TX_FULL, 1);
    assert_int_equal(rig_counted(sub).tx_packets, 0);
    assert_int_equal(rig_counted(sub).tx_bytes, 0);
    assert_int_equal(rig_counted(sub).drop_packets, 1);
}

// Such a frame is the port's own, even if its tag names a sub-interface.
path_test(a_tagged_frame_of_the_kernel_that_is_refused_is_counted_where_it_was_sent)
{
    uint16_t sub = rig_iface(1, 300, VR_DEFAULT);
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.2");
    memmove(f.b + 16, f.b + 12, f.n - 12);
    memcpy(f.b + 12, (uint8_t[4]){0x81, 0, 0x01, 0x2c}, 4);
    f.n += 4;
    rig_tx_block(1, true);
    rig_inject_frame(0, out, &f);
    rig_poll();
    assert_only_drop(DROP_TX_FULL, 1);
    assert_int_equal(rig_counted(sub).tx_packets, 0);
    assert_int_equal(rig_counted(sub).drop_packets, 0);
    assert_int_equal(rig_counted(out).tx_packets, 0);
    assert_int_equal(rig_counted(out).drop_packets, 1);
}

path_test(a_frame_for_an_interface_that_is_down_or_gone_is_dropped)
{
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.2");
    iface_get(out)->flags = 0;
    rig_inject_frame(0, out, &f);
    rig_inject_frame(0, 4000, &f);
    rig_poll();
    assert_only_drop(DROP_IFACE_DOWN, 2);
}

path_test(a_frame_without_a_whole_header_is_dropped)
{
    struct frame f = frame_raw("short", 5);
    rig_inject_frame(0, out, &f);
    rig_poll();
    assert_only_drop(DROP_ETHER_TRUNCATED, 1);
}

static void check_told(const struct frame *f, uint16_t mtu)
{
    struct frame g;
    uint16_t iface;

    rig_inject_frame(0, out, f);
    rig_poll();
    assert_false(rig_receive(1, &g));
    assert_true(rig_punted(PUNT_ICMP, &g, &iface));
    assert_int_equal(iface, out);
    const uint8_t *ip = g.b + 14, *icmp = ip + 20;
    assert_true(frame_is_ip4_sound(&g));
    assert_int_equal(g.n, 14 + 576);
    assert_memory_equal(g.b, f->b + 6, 6);
    assert_memory_equal(g.b + 6, f->b, 6);
    assert_memory_equal(ip + 12, f->b + 14 + 16, 4);
    assert_memory_equal(ip + 16, f->b + 14 + 12, 4);
    assert_int_equal(ip[9], 1);
    assert_memory_equal(icmp, ((uint8_t[2]){3, 4}), 2);
    assert_int_equal(icmp[6] << 8 | icmp[7], mtu);
    assert_int_equal(checksum(icmp, g.n - 34), 0);
    assert_memory_equal(icmp + 8, f->b + 14, 548);
}

// rfc: 1191 4 MUST
path_test(the_kernel_is_told_what_an_interface_takes)
{
    iface_get(out)->mtu = 1000;
    struct ip_spec s = {.src = "192.0.2.1", .dst = "192.0.2.2", .payload = 972, .fragment = 0x4000};
    struct frame g, f = frame_ip(&s);
    rig_inject_frame(0, out, &f);
    rig_poll();
    assert_true(rig_receive(1, &g)); // 1000
    s.payload++;
    f = frame_ip(&s);
    check_told(&f, 1000);
    s.proto = 1, s.l4 = (const uint8_t[1000]){3}, s.l4_len = 1000;
    f = frame_ip(&s);
    rig_inject_frame(0, out, &f);
    s.proto = 17, s.l4 = NULL;
    s.dst = "224.0.0.5", s.dst_mac = (const uint8_t[6]){1, 0, 0x5e, 0, 0, 5};
    f = frame_ip(&s);
    rig_inject_frame(0, out, &f);
    f = ip_frame(.src = "2001:db8::1", .dst = "2001:db8::2", .payload = 953);
    rig_inject_frame(0, out, &f);
    rig_poll();
    assert_false(rig_receive(1, &g));
    assert_int_equal(rig_drops(DROP_IP4_TOO_BIG), 2);
    assert_int_equal(rig_drops(DROP_IP6_TOO_BIG), 1);
}

// rfc: 791 3.2 MUST
path_test(what_the_kernel_sends_without_df_is_cut)
{
    static const uint8_t group[6] = {1, 0, 0x5e, 0, 0, 5};
    iface_get(out)->mtu = 1000;
    struct frame g,
        f = ip_frame(.src = "192.0.2.1", .dst = "224.0.0.5", .payload = 1252, .dst_mac = group);
    rig_inject_frame(0, out, &f);
    rig_poll();
    for (unsigned k = 0; k < 2; k++) {
        const unsigned bytes = k ? 1260 - 976 : 976;
        assert_true(rig_receive(1, &g));
        assert_int_equal(g.n, 34 + bytes);
        assert_memory_equal(g.b, f.b, 14);
        assert_true(frame_is_ip4_sound(&g));
        assert_memory_equal(g.b + 34, f.b + 34 + (k ? 976 : 0), bytes);
    }
    assert_false(rig_receive(1, &g));
    iface_get(out)->mtu = 30; // too small for any fragment
    rig_inject_frame(0, out, &f);
    rig_poll();
    assert_only_drop(DROP_IP4_TOO_BIG, 1);
}

// Sends one packet to an unresolved neighbor and takes it like neigh_manager.
static struct rte_mbuf *held_packet(const struct ip_spec *s)
{
    struct frame f = frame_ip(s);
    rig_forward(0, &f);
    struct rte_mbuf *m = rig_held();
    assert_non_null(m);
    return m;
}

static const struct ip_spec held4 = {.src = "192.0.2.1", .dst = "198.51.100.1", .ttl = 2};
static const struct ip_spec held6 = {.src = "2001:db8::1", .dst = "2001:db8:1::1", .ttl = 2};

static uint32_t both_on_hold(void)
{
    uint32_t nh = rig_nexthop(NEXTHOP_HOLD, out);
    rig_routes(VR_DEFAULT, "198.51.100.0/24", "2001:db8:1::/48", nh);
    return nh;
}

path_test(held_packets_of_both_families_leave_when_the_neighbor_answers)
{
    uint32_t nh = both_on_hold();
    struct rte_mbuf *m[6];
    struct frame g;
    for (unsigned i = 0; i < 6; i++)
        m[i] = held_packet(i % 2 ? &held6 : &held4);
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_adjacency(nh, out, neighbor_mac(8));
    for (unsigned i = 0; i < 6; i++)
        rig_inject(0, m[i]);
    rig_poll();
    for (unsigned i = 0; i < 6; i++) {
        assert_true(rig_receive(1, &g));
        assert_memory_equal(g.b, neighbor_mac(8), 6);
        assert_int_equal(g.b[12] << 8 | g.b[13], i % 2 ? 0x86dd : 0x0800);
        assert_int_equal(g.b[i % 2 ? 14 + 7 : 14 + 8], 1); // decremented once, not twice
        if (i % 2 == 0)
            assert_true(frame_is_ip4_sound(&g));
    }
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_held_packet_that_finds_its_next_hop_unresolved_again_is_held_again)
{
    both_on_hold();
    rig_inject(0, held_packet(&held4));
    rig_poll();
    struct rte_mbuf *m = rig_held();
    assert_non_null(m);
    assert_int_equal(rte_pktmbuf_mtod(m, uint8_t *)[8], 1);
    assert_int_equal(packet_meta(m)->iface, in);
    rig_release(m);
}

path_test(a_held_packet_whose_neighbor_failed_is_refused_and_its_sender_told)
{
    uint32_t nh = both_on_hold();
    struct frame g;
    rig_routes(VR_DEFAULT, "192.0.2.0/24", "2001:db8::/48", rig_adjacency(in, 3));
    rig_icmp_rate(100, 50);
    struct rte_mbuf *a = held_packet(&held4), *b = held_packet(&held6);
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_kind(nh, NEXTHOP_FAILED);
    rig_inject(0, a);
    rig_inject(0, b);
    rig_poll();
    assert_only_drop(DROP_NEIGH_FAILED, 2);
    assert_true(rig_receive(0, &g));
    assert_int_equal(g.b[34], 3);
    assert_int_equal(g.b[35], 1);
    assert_true(rig_receive(0, &g));
    assert_int_equal(g.b[54], 1);
    assert_int_equal(g.b[55], 3);
}

path_test(a_held_packet_for_an_address_that_became_ours_is_delivered)
{
    uint32_t nh = both_on_hold();
    struct frame g;
    uint16_t iface;
    struct rte_mbuf *m = held_packet(&held4);
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_kind(nh, NEXTHOP_LOCAL);
    rig_inject(0, m);
    rig_poll();
    assert_true(rig_punted(PUNT_OTHER, &g, &iface));
    assert_int_equal(iface, in);
    assert_int_equal(g.n, 14 + 28);
    assert_memory_equal(g.b, iface_get(in)->mac, 6);
    assert_true(frame_is_ip4_sound(&g));
}

path_test(a_held_packet_larger_than_the_mtu_that_came_meanwhile_is_fragmented)
{
    uint32_t nh = both_on_hold();
    struct ip_spec s = held4;
    s.payload = 1200;
    struct rte_mbuf *m = held_packet(&s);
    iface_get(out)->mtu = 700;
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_adjacency(nh, out, neighbor_mac(8));
    rig_inject(0, m);
    assert_int_equal(rig_poll_out(1), 2);
}

// Two forwarders: port 1 has one transmit queue, of forwarder 0; forwarder 1 receives from port 0.
static void shared_queue_plans(void)
{
    struct plan_rx rx[] = {{port_get(0) - port_table, 0}};
    struct plan *p = rig_plan_new(1, rx, 1);
    p->tx_owner[iface_get(out)->port] = 0;
    rig_plan_set(0, rig_plan_new(0, rx, 0));
    rig_plan_set(1, p);
}

path_test(a_port_with_one_queue_is_served_through_the_queue_s_owner)
{
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_adjacency(out, 1));
    shared_queue_plans();
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1");
    rig_send_n(0, &f, 30);
    rig_step(1);
    assert_false(rig_receive(1, &g));
    struct ledger l;
    ledger_read(&l, 2);
    assert_int_equal(l.held, 30);
    assert_int_equal(l.tx, 0);
    rig_check_conservation();
    rig_step(0);
    for (unsigned i = 0; i < 30; i++)
        assert_true(rig_receive_queue(1, 0, &g));
    ledger_read(&l, 2);
    assert_int_equal(l.tx, 30);
    assert_int_equal(rig_counted(out).tx_packets, 30);
}

path_test(a_full_inject_ring_is_a_named_drop_of_the_sender)
{
    rig_route(VR_DEFAULT, "198.51.100.0/24", rig_adjacency(out, 1));
    shared_queue_plans();
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1");
    for (unsigned i = 0; i < EXCHANGE_INJECT_SIZE + 31; i++) {
        rig_send(0, &f);
        if (i % 64 == 63)
            rig_step(1);
    }
    rig_step(1);
    assert_only_drop(DROP_INJECT_RING_FULL, 32);
    assert_int_equal(rig_counted(out).tx_packets, EXCHANGE_INJECT_SIZE - 1);
    assert_int_equal(rig_counted(out).drop_packets, 32);
    for (unsigned i = 0; i < EXCHANGE_INJECT_SIZE / 64; i++) {
        rig_step(0);
        rig_discard(1);
    }
}
