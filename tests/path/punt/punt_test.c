// SPDX-License-Identifier: BSD-3-Clause
// punt_test.c - what goes up to the control plane, in which class, and as it came
#include "harness.h"

#include <rte_mbuf.h>

static uint16_t in, sub;

static void we_are_192_0_2_254(void)
{
    in = rig_iface(0, 0, VR_DEFAULT);
    sub = rig_iface(0, 5, VR_DEFAULT);
    uint32_t local = rig_nexthop(NEXTHOP_LOCAL, in);
    rig_route(VR_DEFAULT, "192.0.2.254/32", local);
    rig_route(VR_DEFAULT, "2001:db8::fe/128", local);
}

static void a_tagged_frame_goes_up_without_its_tag_by_its_sub_interface(void **state)
{
    we_are_192_0_2_254();
    struct ip_spec s = {.src = "192.0.2.1", .dst = "192.0.2.254", .vlan = 5, .to_iface = sub, .payload = 9, .pad_to = 64};
    struct frame g, f = frame_ip(&s);
    uint16_t iface = 0;
    rig_send(0, &f);
    rig_poll();
    assert_true(rig_punted(PUNT_LOCAL, &g, &iface));
    assert_int_equal(iface, sub);
    assert_int_equal(g.n, f.n - 4); // padding kept: the frame as it was received, but for the tag
    assert_memory_equal(g.b, f.b, 12);
    assert_memory_equal(g.b + 12, f.b + 16, g.n - 12);
}

static void a_jumbo_frame_for_us_goes_up_whole(void **state)
{
    we_are_192_0_2_254();
    struct frame g, f = frame_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = "192.0.2.254", .payload = 8900});
    rig_send(0, &f);
    rig_poll();
    assert_true(rig_punted(PUNT_LOCAL, &g, NULL));
    assert_int_equal(g.n, f.n);
    assert_memory_equal(g.b, f.b, f.n);
}

static void classes_keep_routing_before_neighbours_before_the_rest(void **state)
{
    static const uint8_t icmp6[256][8] = {[128] = {128}, [133] = {133}, [134] = {134}, [135] = {135},
                                          [136] = {136}, [143] = {143}, [1] = {1}};
    static const uint8_t mld[16] = {58, 0, 5, 2, 0, 0, 1, 0, 143};
#define TO4(...) {.src = "192.0.2.1", .dst = "192.0.2.254", __VA_ARGS__}
#define TO6(...) {.src = "2001:db8::1", .dst = "2001:db8::fe", __VA_ARGS__}
    const struct {
        struct ip_spec spec;
        enum punt_class class;
        const char *what;
    } row[] = {
        {TO4(.proto = 6, .dport = 179), PUNT_ROUTING, "BGP, they call"},
        {TO4(.proto = 6, .sport = 179, .dport = 40000), PUNT_ROUTING, "BGP, we called"},
        {TO4(.proto = 17, .dport = 179), PUNT_LOCAL, "UDP to 179"},
        {TO4(.proto = 6, .dport = 22), PUNT_LOCAL, "SSH"},
        {TO4(.proto = 89), PUNT_ROUTING, "OSPF"},
        {TO4(.proto = 112), PUNT_ROUTING, "VRRP"},
        {TO4(.proto = 103), PUNT_ROUTING, "PIM"},
        {TO4(.proto = 2), PUNT_ROUTING, "IGMP"},
        {TO4(.proto = 17, .dport = 520), PUNT_ROUTING, "RIP"},
        {TO4(.proto = 17, .dport = 3784), PUNT_ROUTING, "BFD"},
        {TO4(.proto = 17, .dport = 4784), PUNT_ROUTING, "BFD multihop"},
        {TO4(.proto = 17, .dport = 646), PUNT_ROUTING, "LDP hello"},
        {TO4(.proto = 6, .dport = 646), PUNT_ROUTING, "LDP"},
        {TO4(.proto = 17, .sport = 3784, .dport = 33000), PUNT_LOCAL, "UDP from 3784"},
        {TO4(.proto = 1, .tos = 0xc0), PUNT_ROUTING, "CS6"},
        {TO4(.proto = 1), PUNT_LOCAL, "ping"},
        {TO4(.proto = 6, .dport = 179, .fragment = 1), PUNT_LOCAL, "later fragment that looks like BGP"},
        {TO4(.proto = 6, .l4 = "\0", .l4_len = 2), PUNT_LOCAL, "TCP cut off before its ports"},
        {TO6(.proto = 6, .dport = 179), PUNT_ROUTING, "BGP over IPv6"},
        {TO6(.proto = 89), PUNT_ROUTING, "OSPFv3"},
        {TO6(.proto = 17, .dport = 521), PUNT_ROUTING, "RIPng"},
        {TO6(.proto = 58, .l4 = icmp6[133], .l4_len = 8), PUNT_NEIGH, "router solicitation"},
        {TO6(.proto = 58, .l4 = icmp6[135], .l4_len = 8), PUNT_NEIGH, "neighbour solicitation"},
        {TO6(.proto = 58, .l4 = icmp6[136], .l4_len = 8), PUNT_NEIGH, "neighbour advertisement"},
        {TO6(.proto = 58, .l4 = icmp6[128], .l4_len = 8), PUNT_LOCAL, "ping6"},
        {TO6(.proto = 58, .l4 = icmp6[1], .l4_len = 8), PUNT_LOCAL, "ICMPv6 error"},
        {TO6(.proto = 58, .l4 = icmp6[143], .l4_len = 8), PUNT_ROUTING, "MLDv2"},
        {TO6(.proto = 59, .l4 = "", .l4_len = 0), PUNT_LOCAL, "nothing inside"},
        {TO6(.tos = 0xc0), PUNT_ROUTING, "CS6 over IPv6"},
    };
    we_are_192_0_2_254();
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        struct frame g, f = frame_ip(&row[i].spec);
        rig_send(0, &f);
        rig_poll();
        for (unsigned c = 0; c < PUNT_CLASS_N; c++)
            if (rig_punted(c, &g, NULL) != (c == row[i].class))
                fail_msg("%s: wrong in class %s", row[i].what, punt_class_name[c]);
        assert_memory_equal(g.b, f.b, f.n);
    }
    struct frame g, f = frame_ip(&(struct ip_spec){.src = "fe80::1", .dst = "ff02::16", .l4 = mld, .l4_len = 16});
    f.b[14 + 6] = 0; // hop-by-hop
    rig_send(0, &f);
    rig_poll();
    assert_true(rig_punted(PUNT_ROUTING, &g, NULL));
}

static void a_full_ring_of_one_class_does_not_stop_another(void **state)
{
    we_are_192_0_2_254();
    struct frame g, ping = frame_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = "192.0.2.254"});
    struct frame bgp = frame_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = "192.0.2.254", .proto = 6, .dport = 179});
    for (unsigned i = 0; i < EXCHANGE_PUNT_SIZE + 9; i++) {
        rig_send(0, &ping);
        if (i % 64 == 63)
            rig_step(0);
    }
    rig_send(0, &bgp);
    rig_poll();
    assert_only_drop(DROP_PUNT_RING_FULL, 10); // a ring of n holds n - 1
    assert_true(rig_punted(PUNT_ROUTING, &g, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        path_test(a_tagged_frame_goes_up_without_its_tag_by_its_sub_interface),
        path_test(a_jumbo_frame_for_us_goes_up_whole),
        path_test(classes_keep_routing_before_neighbours_before_the_rest),
        path_test(a_full_ring_of_one_class_does_not_stop_another),
    };
    return path_run(tests);
}
