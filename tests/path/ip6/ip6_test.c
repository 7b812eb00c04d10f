// SPDX-License-Identifier: BSD-3-Clause
// ip6_test.c - IPv6 packets that may be forwarded, and packets that stay on their link
#include "harness.h"

static uint16_t in, out;

void rig_begin(void)
{
    rig_in_and_out(&in, &out);
    rig_route(VR_DEFAULT, "::/0", rig_adjacency(out, 1));
    rig_route(VR_DEFAULT, "2001:db8::fe/128", rig_nexthop(NEXTHOP_LOCAL, in));
}

static struct frame between(const char *src, const char *dst)
{
    return ip_frame(.src = src, .dst = dst, .payload = 4);
}

static void send_all_between(const char *const (*pair)[2], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct frame f = between(pair[i][0], pair[i][1]);
        rig_send(0, &f);
    }
    rig_poll();
}

// rfc: 8200 3 MUST
path_test(a_wrong_version_is_dropped)
{
    struct frame f = between("2001:db8::1", "2001:db8:1::1");
    f.b[14] = 0x45;
    rig_send(0, &f);
    f.b[14] = 0x70;
    rig_forward(0, &f);
    assert_only_drop(DROP_IP6_VERSION, 2);
}

// rfc: 8200 3 MUST
path_test(a_payload_length_beyond_the_frame_is_dropped)
{
    struct frame f = between("2001:db8::1", "2001:db8:1::1");
    f.b[19]++;
    rig_send(0, &f);
    f.b[18] = f.b[19] = 0xff;
    rig_forward(0, &f);
    assert_only_drop(DROP_IP6_TRUNCATED, 2);
}

// rfc: 8200 3 MUST
path_test(a_frame_that_ends_inside_the_header_is_dropped)
{
    struct frame f = between("2001:db8::1", "2001:db8:1::1");
    f.b[18] = f.b[19] = 0;
    for (f.n = 14; f.n < 54; f.n++)
        rig_send(0, &f);
    rig_poll();
    assert_only_drop(DROP_IP6_TRUNCATED, 40);
}

path_test(a_header_without_payload_is_forwarded)
{
    struct frame g, f = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1", .proto = 59,
                                 .l4 = "", .l4_len = 0, .pad_to = 60);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.n, 54);
}

// rfc: 4291 2.7 MUST
// rfc: 4291 2.5.3 MUST
// rfc: 4291 2.5.2 MUST
path_test(sources_that_can_not_be_are_dropped)
{
    static const char *const pair[][2] = {
        {"ff02::1", "2001:db8:1::1"},
        {"ff0e::1", "2001:db8:1::1"},
        {"::1", "2001:db8:1::1"},
        {"::", "2001:db8:1::1"},
        {"::ffff:192.0.2.1", "2001:db8:1::1"},
        {"ff02::1", "ff02::1"},
    };
    send_all_between(pair, 6);
    assert_only_drop(DROP_IP6_MARTIAN_SRC, 6);
}

// rfc: 4291 2.5.3 MUST
// rfc: 4291 2.5.2 MUST
path_test(destinations_that_must_not_be_forwarded_are_dropped)
{
    static const char *const pair[][2] = {
        {"2001:db8::1", "::"}, {"2001:db8::1", "::1"}, {"2001:db8::1", "::ffff:192.0.2.1"},
        {"2001:db8::1", "ff00::1"}, {"2001:db8::1", "ff01::1"}};
    send_all_between(pair, 5);
    assert_only_drop(DROP_IP6_MARTIAN_DST, 5);
}

path_test(unusual_but_global_addresses_are_forwarded)
{
    static const char *const pair[][2] = {{"64:ff9b::1", "2001:db8:1::1"},
                                          {"2001:db8::1", "64:ff9b::c000:201"},
                                          {"fd00::1", "fc00::1"},
                                          {"2001:db8::1", "fec0::1"},
                                          {"::2", "2001:db8:1::1"}};
    send_all_between(pair, 5);
    assert_int_equal(rig_discard(1), 5);
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 4291 2.5.6 MUST
path_test(our_link_local_addresses_and_link_scope_groups_go_up)
{
    static const char *const dst[] = {"fe80::1", "febf::1", "fe80::", "ff02::5", "ff12::1"};
    rig_link_local(in, "fe80::1");
    rig_link_local(in, "febf::1");
    for (unsigned i = 0; i < 5; i++) {
        struct frame g, f = between("fe80::2", dst[i]);
        uint16_t iface = 0;
        rig_forward(0, &f);
        assert_true(rig_punted(PUNT_OTHER, &g, &iface));
        assert_int_equal(iface, in);
        assert_memory_equal(g.b, f.b, f.n);
    }
    struct frame f = between("::", "ff02::1:ff00:1"); // duplicate address detection
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &f, NULL));
    assert_int_equal(rig_drops_all(), 0);
}

// The kernel behind the TAP is a router: it would forward a punted packet that is not for us.
// rfc: 4291 2.5.6 MUST NOT
path_test(a_link_local_destination_that_is_not_ours_neither_goes_up_nor_on)
{
    static const char *const pair[][2] = {{"fe80::2", "fe80::3"},
                                          {"2001:db8::1", "fe80::3"},
                                          {"fe80::2", "fe80::4"},
                                          {"fe80::2", "fe80:1::"}};
    rig_link_local(out, "fe80::4"); // our address on another link
    memcpy(iface_get(in)->addr6_ll, (uint8_t[16]){0xfe, 0x80, [15] = 0xfe}, 16);
    memcpy(iface_get(in)->addr6, (uint8_t[16]){0x20, 0x01, 0x0d, 0xb8, [15] = 0xfe}, 16);
    send_all_between(pair, 4);
    assert_only_drop(DROP_IP6_LINK_LOCAL, 4);
    assert_int_equal(counter_sum_icmp().sent, 0);
}

path_test(wider_multicast_without_a_route_is_dropped)
{
    static const char *const pair[][2] = {{"2001:db8::1", "ff05::2"}, {"2001:db8::1", "ff0e::1"}};
    send_all_between(pair, 2);
    assert_only_drop(DROP_IP6_MULTICAST, 2);
}

// rfc: 4291 2.5.6 MUST
path_test(a_link_local_source_reaches_us_but_no_other_link)
{
    struct frame g, f = between("fe80::2", "2001:db8::fe");
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_memory_equal(g.b, f.b, f.n);
    assert_int_equal(rig_drops_all(), 0);
    f = between("fe80::2", "2001:db8:1::1");
    assert_false(rig_passes(0, &f, 1, &g));
    assert_only_drop(DROP_IP6_LINK_LOCAL, 1);
}

// rfc: 8200 3 MUST
path_test(hop_limit_1_is_delivered_to_us_and_not_forwarded)
{
    struct frame g, f = ip_frame(.src = "2001:db8::1", .dst = "2001:db8::fe", .ttl = 1);
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL));
    assert_memory_equal(g.b, f.b, f.n);
    f = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1", .ttl = 1);
    rig_forward(0, &f);
    assert_only_drop(DROP_IP6_HOP_LIMIT, 1);
}

// rfc: 8200 4.3 SHOULD
path_test(hop_by_hop_options_for_elsewhere_are_forwarded_unread)
{
    static const uint8_t hbh[16] = {17, 0, 5, 2, 0, 0, 1, 0}; // router alert
    struct frame g, f = ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1", .proto = 0,
                                 .l4 = hbh, .l4_len = 16);
    f.b[14 + 6] = 0;
    assert_true(rig_passes(0, &f, 1, &g));
    assert_memory_equal(g.b + 54, f.b + 54, 16);
}

// rfc: 2675 3 MAY
path_test(a_jumbo_payload_is_refused)
{
    static const uint8_t jumbo[16] = {17, 0, 0xc2, 4, 0, 1, 0, 0};
    struct frame f =
        ip_frame(.src = "2001:db8::1", .dst = "2001:db8:1::1", .l4 = jumbo, .l4_len = 16);
    f.b[14 + 4] = f.b[14 + 5] = f.b[14 + 6] = 0; // no payload length, hop-by-hop
    rig_forward(0, &f);
    assert_only_drop(DROP_IP6_JUMBO, 1);
}

path_test(without_a_route_a_packet_is_dropped)
{
    rig_unroute(VR_DEFAULT, "::/0");
    struct frame f = between("2001:db8::1", "2001:db8:1::1");
    rig_forward(0, &f);
    assert_only_drop(DROP_IP6_NO_ROUTE, 1);
}

path_test(both_families_in_one_burst_find_their_ways)
{
    uint16_t third = rig_iface(2, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "0.0.0.0/0", rig_adjacency(third, 2));
    for (unsigned i = 0; i < 60; i++) {
        struct frame f = i % 3 ? ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1")
                               : between("2001:db8::1", "2001:db8:1::1");
        rig_send(0, &f);
    }
    assert_int_equal(rig_poll_out(1), 20);
    assert_int_equal(rig_discard(2), 40);
    assert_int_equal(rig_drops_all(), 0);
}
