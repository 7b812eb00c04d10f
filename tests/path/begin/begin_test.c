// SPDX-License-Identifier: BSD-3-Clause
// begin_test.c - while routes are being read, control packets are punted and all others wait
#include "harness.h"

#include "forwarder/stages.h"
#include "forwarder/checks.h"
#include "table/nexthop.h"

#define OWN4 "10.255.0.0"
#define OWN6 "2001:db8:ff::0:0"

static uint16_t in, out, out2;

// Two interfaces and no route.
void rig_begin(void)
{
    rig_in_and_out(&in, &out);
    out2 = rig_iface(2, 0, VR_DEFAULT);
    rig_link_local(in, "fe80::fe");
    plan_begin = PLAN_BEGIN_CONTROL;
}

static void the_routes_are_known(void)
{
    uint32_t local = rig_nexthop(NEXTHOP_LOCAL, in);

    rig_route(VR_DEFAULT, OWN4 "/32", local);
    rig_route(VR_DEFAULT, OWN6 "/128", local);
    rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out, 1));
    rig_route(VR_DEFAULT, "11.0.0.0/8", rig_adjacency(out2, 2));
    plan_begin = PLAN_BEGIN_KEPT;
    rig_poll();
    assert_int_equal(plan_kept, 0);
    plan_begin = PLAN_BEGIN_OVER;
}

static uint64_t held(void)
{
    struct ledger l;

    ledger_read(&l, 1);
    assert_int_equal(l.imbalance, 0);
    return l.held;
}

static void send_ip(const struct ip_spec *s)
{
    struct frame f = frame_ip(s);

    rig_forward(0, &f);
}

path_test(control_packets_go_up_before_a_route_is_known)
{
    static const uint8_t solicitation[24] = {135};
    static const uint8_t ospf_mac[] = {1, 0, 0x5e, 0, 0, 5}, ospf6_mac[] = {0x33, 0x33, 0, 0, 0, 5};
    const struct {
        struct ip_spec spec;
        enum punt_class class;
    } row[] = {
        {{.src = "10.255.0.9", .dst = OWN4, .proto = 6, .dport = 179}, PUNT_ROUTING},
        {{.src = "10.255.0.9", .dst = OWN4, .dport = 3784, .ttl = 255}, PUNT_BFD},
        {{.src = "10.255.0.9", .dst = "224.0.0.5", .proto = 89, .ttl = 1, .dst_mac = ospf_mac},
         PUNT_ROUTING},
        {{.src = "fe80::9", .dst = "ff02::5", .proto = 89, .ttl = 1, .dst_mac = ospf6_mac},
         PUNT_ROUTING},
        {{.src = "fe80::9", .dst = "fe80::fe", .proto = 6, .dport = 179}, PUNT_ROUTING},
        {{.src = "2001:db8::9", .dst = OWN6, .proto = 6, .dport = 179}, PUNT_ROUTING},
        {{.src = "fe80::9", .dst = OWN6, .proto = 58, .ttl = 255, .l4 = solicitation, .l4_len = 24},
         PUNT_NEIGH},
    };
    struct frame g, arp;

    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        uint16_t by = 0;
        send_ip(&row[i].spec);
        if (!rig_punted(row[i].class, &g, &by))
            fail_msg("row %u did not go up", i);
        assert_int_equal(by, in);
    }
    arp = frame_ip(&row[0].spec);
    memcpy(arp.b + 12, (uint8_t[2]){0x08, 0x06}, 2);
    rig_forward(0, &arp);
    assert_true(rig_punted(PUNT_NEIGH, &g, NULL));
    assert_int_equal(rig_drops_all(), 0);
    assert_int_equal(held(), 0);
    the_routes_are_known();
}

path_test(all_others_wait_and_take_their_way_in_order)
{
    struct frame g;

    for (uint16_t i = 0; i < 100; i++)
        send_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = "10.1.2.3", .sport = i + 1});
    send_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = OWN4, .proto = 1}); // an echo request
    send_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = OWN4, .dport = 53});
    send_ip(&(struct ip_spec){.src = "10.255.0.9", .dst = "10.255.0.8", .proto = 6, .dport = 179});
    assert_int_equal(held(), 103);
    assert_false(rig_receive(1, &g));
    the_routes_are_known();
    for (uint16_t i = 0; i < 100; i++) {
        assert_true(rig_receive(1, &g));
        assert_int_equal(frame_l3(&g)[20] << 8 | frame_l3(&g)[21], i + 1);
    }
    assert_true(rig_punted(PUNT_ICMP, &g, NULL));
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_int_equal(rig_discard(1), 1);
    assert_int_equal(rig_drops_all(), 0);
    assert_int_equal(held(), 0);
}

path_test(what_does_not_fit_has_a_name_and_control_packets_pass_nevertheless)
{
    struct frame g;

    for (unsigned i = 0; i < BEGIN_KEPT_MAX + 7; i++)
        send_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = i % 2 ? "10.1.2.3" : "11.1.2.3"});
    send_ip(&(struct ip_spec){.src = "10.255.0.9", .dst = OWN4, .proto = 6, .dport = 179});
    assert_true(rig_punted(PUNT_ROUTING, &g, NULL));
    assert_only_drop(DROP_START_FULL, 7);
    assert_int_equal(held(), BEGIN_KEPT_MAX);
    the_routes_are_known();
    assert_only_drop(DROP_START_FULL, 7);
    assert_int_equal(rig_discard(1), BEGIN_KEPT_MAX / 2);
    assert_int_equal(rig_discard(2), BEGIN_KEPT_MAX / 2);
}

path_test(where_the_source_is_checked_against_routes_they_wait_too)
{
    struct frame g;

    iface_get(in)->policy.urpf[0] = URPF_LOOSE;
    iface_put_flags(iface_get(in), IFACE_UP | IFACE_URPF4, IFACE_UP | IFACE_URPF4);
    send_ip(&(struct ip_spec){.src = "10.255.0.9", .dst = OWN4, .proto = 6, .dport = 179});
    send_ip(&(struct ip_spec){.src = "12.0.0.9", .dst = OWN4, .proto = 6, .dport = 179});
    assert_false(rig_punted(PUNT_ROUTING, &g, NULL));
    the_routes_are_known();
    assert_true(rig_punted(PUNT_ROUTING, &g, NULL));
    assert_false(rig_punted(PUNT_ROUTING, &g, NULL));
    assert_only_drop(DROP_URPF_SOURCE, 1);
}

path_test(a_frame_that_needs_no_route_to_be_dropped_is_dropped)
{
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3");

    f.n = 9;
    rig_forward(0, &f);
    assert_only_drop(DROP_ETHER_TRUNCATED, 1);
    f = ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3", .vlan = 77);
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_VLAN_UNKNOWN), 1);
    assert_int_equal(held(), 0);
    the_routes_are_known();
}

// A burst of both kinds: counters of interface and queue are right.
path_test(each_packet_is_counted_once)
{
    for (unsigned i = 0; i < 40; i++) {
        struct frame f = ip_frame(.src = "192.0.2.1", .dst = i % 2 ? "10.1.2.3" : OWN4, .proto = 6,
                                  .dport = 179);
        rig_send(0, &f);
    }
    rig_poll();
    assert_int_equal(plan_kept, 20);
    assert_int_equal(held(), 40); // the others are in the ring to tap_manager
    the_routes_are_known();
    assert_int_equal(plan_rx_sum(0, 0).packets, 40);
    assert_int_equal(rig_counted(in).rx_packets, 40);
    assert_int_equal(rig_discard(1), 20);
    for (struct frame g; rig_punted(PUNT_ROUTING, &g, NULL);)
        ;
}
