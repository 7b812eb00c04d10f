// SPDX-License-Identifier: BSD-3-Clause
// punt_test.c - packets punted to the control plane: selection, class, and unchanged content
#include "harness.h"


#include "table/vr_budget.h"

static uint16_t in, sub;

void rig_begin(void)
{
    in = rig_iface(0, 0, VR_DEFAULT);
    sub = rig_iface(0, 5, VR_DEFAULT);
    uint32_t local = rig_nexthop(NEXTHOP_LOCAL, in);
    rig_routes(VR_DEFAULT, "192.0.2.254/32", "2001:db8::fe/128", local);
}

path_test(a_tagged_frame_goes_up_without_its_tag_by_its_sub_interface)
{
    struct ip_spec s = {.src = "192.0.2.1",
                        .dst = "192.0.2.254",
                        .vlan = 5,
                        .to_iface = sub,
                        .payload = 9,
                        .pad_to = 64};
    struct frame g, f = frame_ip(&s);
    uint16_t iface = 0;
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, &iface));
    assert_int_equal(iface, sub);
    assert_int_equal(g.n, f.n - 4); // padding kept: as received, except for the tag
    assert_memory_equal(g.b, f.b, 12);
    assert_memory_equal(g.b + 12, f.b + 16, g.n - 12);
}

path_test(all_tags_of_a_frame_go_before_it_goes_up)
{
    uint16_t pair = rig_iface_pair(0, 100, 0x88a8, 10, VR_DEFAULT), iface = 0;
    struct ip_spec s = {.src = "192.0.2.1",
                        .dst = "192.0.2.254",
                        .vlan = 10,
                        .outer_tpid = 0x88a8,
                        .outer_tci = 100,
                        .to_iface = pair};
    struct frame g, f = frame_ip(&s), arp = f;
    memcpy(arp.b + 20, (uint8_t[4]){0x08, 0x06, 0, 1}, 4);
    memcpy(arp.b, broadcast_mac, 6);
    rig_send(0, &f);
    rig_forward(0, &arp);
    for (unsigned i = 0; i < 2; i++) {
        const struct frame *came = i ? &arp : &f;
        assert_true(rig_punted(i ? PUNT_NEIGH : PUNT_OTHER, &g, &iface));
        assert_int_equal(iface, pair);
        assert_int_equal(g.n, came->n - 8);
        assert_memory_equal(g.b, came->b, 12);
        assert_memory_equal(g.b + 12, came->b + 20, g.n - 12);
    }
}

path_test(a_jumbo_frame_for_us_goes_up_whole)
{
    struct frame g, f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.254", .payload = 8900);
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_int_equal(g.n, f.n);
    assert_memory_equal(g.b, f.b, f.n);
}

// rfc: 6192 3 MAY
path_test(classes_are_given_for_what_a_packet_is)
{
    static const uint8_t icmp6[256][8] = {
        [128] = {128}, [133] = {133}, [134] = {134}, [135] = {135},
        [136] = {136}, [143] = {143}, [1] = {1}};
    static const uint8_t mld[16] = {58, 0, 5, 2, 0, 0, 1, 0, 143};
    static const uint8_t bfd6[16] = {17, 0, 1, 4, 0, 0, 0, 0, 0xc0, 0, 0x0e, 0xc8};
#define TO4(...) {.src = "192.0.2.1", .dst = "192.0.2.254", __VA_ARGS__}
#define TO6(...) {.src = "2001:db8::1", .dst = "2001:db8::fe", __VA_ARGS__}
    const struct {
        struct ip_spec spec;
        enum punt_class class;
        const char *what;
    } row[] = {
        {TO4(.proto = 17, .dport = 3784, .ttl = 255), PUNT_BFD, "BFD"},
        {TO4(.proto = 17, .dport = 3784, .ttl = 254), PUNT_OTHER, "BFD of one hop, from afar"},
        {TO4(.proto = 17, .dport = 3785, .ttl = 254), PUNT_BFD,
         "BFD echo, as the neighbor forwards it back"},
        {TO4(.proto = 17, .dport = 3785, .ttl = 253), PUNT_OTHER, "BFD echo from afar"},
        {TO4(.proto = 17, .dport = 6784, .ttl = 255), PUNT_BFD, "BFD on a link of a bundle"},
        {TO4(.proto = 17, .dport = 4784), PUNT_BFD, "BFD multihop"},
        {TO4(.proto = 17, .sport = 3784, .dport = 33000, .ttl = 255), PUNT_OTHER, "UDP from 3784"},
        {TO4(.proto = 6, .dport = 3784, .ttl = 255), PUNT_OTHER, "TCP to 3784"},
        {TO4(.proto = 6, .dport = 179), PUNT_ROUTING, "BGP, they call"},
        {TO4(.proto = 6, .sport = 179, .dport = 40000), PUNT_ROUTING, "BGP, we called"},
        {TO4(.proto = 17, .dport = 179), PUNT_OTHER, "UDP to 179"},
        {TO4(.proto = 6, .dport = 22), PUNT_OTHER, "SSH"},
        {TO4(.proto = 89), PUNT_ROUTING, "OSPF"},
        {TO4(.proto = 112), PUNT_ROUTING, "VRRP"},
        {TO4(.proto = 103), PUNT_ROUTING, "PIM"},
        {TO4(.proto = 2), PUNT_NEIGH, "IGMP"},
        {TO4(.proto = 17, .dport = 520), PUNT_ROUTING, "RIP"},
        {TO4(.proto = 17, .dport = 646), PUNT_ROUTING, "LDP hello"},
        {TO4(.proto = 6, .dport = 646), PUNT_ROUTING, "LDP"},
        {TO4(.proto = 17, .tos = 0xc0), PUNT_OTHER, "UDP that calls itself network control"},
        {TO4(.proto = 1, .tos = 0xc0), PUNT_ICMP, "a ping that calls itself network control"},
        {TO4(.proto = 1), PUNT_ICMP, "ping"},
        {TO4(.proto = 6, .dport = 179, .fragment = 1), PUNT_OTHER,
         "later fragment that looks like BGP"},
        {TO4(.proto = 17, .dport = 4784, .fragment = 0x2001), PUNT_OTHER,
         "middle fragment that looks like BFD"},
        {TO4(.proto = 6, .l4 = "\0", .l4_len = 2), PUNT_OTHER, "TCP cut off before its ports"},
        {TO6(.proto = 17, .dport = 3784, .ttl = 255), PUNT_BFD, "BFD over IPv6"},
        {TO6(.proto = 17, .dport = 3784, .ttl = 64), PUNT_OTHER, "BFD over IPv6 from afar"},
        {TO6(.proto = 0, .l4 = bfd6, .l4_len = 16, .ttl = 255), PUNT_BFD,
         "BFD behind hop-by-hop options"},
        {TO6(.proto = 6, .dport = 179), PUNT_ROUTING, "BGP over IPv6"},
        {TO6(.proto = 89), PUNT_ROUTING, "OSPFv3"},
        {TO6(.proto = 17, .dport = 521), PUNT_ROUTING, "RIPng"},
        {TO6(.proto = 58, .l4 = icmp6[133], .l4_len = 8, .ttl = 255), PUNT_NEIGH,
         "router solicitation"},
        {TO6(.proto = 58, .l4 = icmp6[135], .l4_len = 8, .ttl = 255), PUNT_NEIGH,
         "neighbor solicitation"},
        {TO6(.proto = 58, .l4 = icmp6[136], .l4_len = 8, .ttl = 255), PUNT_NEIGH,
         "neighbor advertisement"},
        {TO6(.proto = 58, .l4 = icmp6[136], .l4_len = 8, .ttl = 254), PUNT_ICMP,
         "neighbor advertisement from afar"},
        {TO6(.proto = 58, .l4 = icmp6[128], .l4_len = 8), PUNT_ICMP, "ping6"},
        {TO6(.proto = 58, .l4 = icmp6[1], .l4_len = 8), PUNT_ICMP, "ICMPv6 error"},
        {TO6(.proto = 58, .l4 = "", .l4_len = 0), PUNT_ICMP, "ICMPv6 cut off before its type"},
        {TO6(.proto = 58, .l4 = icmp6[143], .l4_len = 8), PUNT_NEIGH, "MLDv2"},
        {TO6(.proto = 59, .l4 = "", .l4_len = 0), PUNT_OTHER, "nothing inside"},
        {TO6(.tos = 0xc0), PUNT_OTHER, "IPv6 that calls itself network control"},
    };
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        struct frame g, f = frame_ip(&row[i].spec);
        if (row[i].spec.l4 == bfd6)
            f.b[14 + 6] = 0; // hop-by-hop
        rig_forward(0, &f);
        for (unsigned c = 0; c < PUNT_CLASS_N; c++)
            if (rig_punted(c, &g, NULL) != (c == row[i].class))
                fail_msg("%s: wrong in class %s", row[i].what, punt_class_name[c]);
        assert_memory_equal(g.b, f.b, f.n);
    }
    struct frame g, f = ip_frame(.src = "fe80::1", .dst = "ff02::16", .l4 = mld, .l4_len = 16);
    f.b[14 + 6] = 0; // hop-by-hop
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_NEIGH, &g, NULL));
}

static const struct ip_spec ping = {.src = "192.0.2.1", .dst = "192.0.2.254", .proto = 1};
static const struct ip_spec udp = {.src = "192.0.2.1", .dst = "192.0.2.254"};
static const struct ip_spec bfd = {
    .src = "192.0.2.1", .dst = "192.0.2.254", .dport = 3784, .ttl = 255};
static const struct ip_spec bgp = {
    .src = "192.0.2.1", .dst = "192.0.2.254", .proto = 6, .dport = 179};

static void send_many(const struct ip_spec *s, unsigned n)
{
    struct frame f = frame_ip(s);

    for (unsigned i = 0; i < n; i++) {
        rig_send(0, &f);
        if (i % 64 == 63)
            rig_step(0);
    }
    rig_poll();
}

// rfc: 6192 3 MAY
path_test(a_full_queue_of_one_class_does_not_stop_another)
{
    const uint32_t queue = punt_limit_default[PUNT_OTHER].queue;
    struct frame g;

    send_many(&udp, queue + 9);
    send_many(&ping, 1);
    send_many(&bgp, 1);
    send_many(&bfd, 1);
    assert_only_drop(DROP_PUNT_RING_FULL, 9);
    assert_int_equal(counter_sum_punt(PUNT_OTHER).full, 9);
    assert_int_equal(rte_ring_count(exchange_punt[PUNT_OTHER]), queue);
    for (unsigned c = 0; c < PUNT_OTHER; c++)
        assert_int_equal(counter_sum_punt(c).full, 0);
    assert_true(rig_punted(PUNT_BFD, &g, NULL));
    assert_true(rig_punted(PUNT_ROUTING, &g, NULL));
    assert_true(rig_punted(PUNT_ICMP, &g, NULL));
}

path_test(the_length_of_a_queue_can_be_changed)
{
    router_role(ROLE_CONTROL);
    punt_policy_set(PUNT_ICMP, &(struct punt_limit){1, 1, 3});
    send_many(&ping, 10);
    assert_only_drop(DROP_PUNT_RING_FULL, 7);
    router_role(ROLE_CONTROL);
    punt_policy_set(PUNT_ICMP, &(struct punt_limit){1, 1, 5});
    send_many(&ping, 10);
    assert_only_drop(DROP_PUNT_RING_FULL, 15);
    router_role(ROLE_CONTROL);
    punt_policy_set(PUNT_ICMP, &(struct punt_limit){1, 1, 2}); // shorter than the present queue
    send_many(&ping, 1);
    assert_only_drop(DROP_PUNT_RING_FULL, 16);
}

// A virtual router over its budget: the other one punts as before, and routing packets get the half
// of a burst that the other classes must leave.
path_test(a_virtual_router_over_its_punt_budget_loses_its_own_packets)
{
    struct vr_limits limits = {.of[VR_BUDGET_PUNT_RATE] = 1}; // a burst of 32
    uint16_t red = rig_vr("red"), other;
    struct frame g, f;

    other = rig_iface(1, 0, red);
    rig_route(red, "192.0.2.254/32", rig_nexthop(NEXTHOP_LOCAL, other));
    router_role(ROLE_CONTROL);
    vr_budget_set(VR_DEFAULT, &limits);
    send_many(&ping, 40);
    assert_only_drop(DROP_VR_PUNT_BUDGET, 40 - 16);
    send_many(&bgp, 20);
    assert_only_drop(DROP_VR_PUNT_BUDGET, 40 - 16 + 20 - 16);
    assert_int_equal(rte_ring_count(exchange_punt[PUNT_ICMP]), 16);
    assert_int_equal(rte_ring_count(exchange_punt[PUNT_ROUTING]), 16);
    f = ip_frame(.src = "192.0.2.1", .dst = "192.0.2.254", .proto = 1, .to_iface = other);
    rig_send_n(1, &f, 40);
    rig_poll();
    assert_only_drop(DROP_VR_PUNT_BUDGET, 40 - 16 + 20 - 16);
    assert_int_equal(rte_ring_count(exchange_punt[PUNT_ICMP]), 16 + 40);
    router_role(ROLE_CONTROL);
    vr_budget_set(VR_DEFAULT, &(struct vr_limits){0});
    send_many(&ping, 1);
    assert_only_drop(DROP_VR_PUNT_BUDGET, 40 - 16 + 20 - 16);
    while (rig_punted(PUNT_ICMP, &g, NULL) || rig_punted(PUNT_ROUTING, &g, NULL))
        ;
}
