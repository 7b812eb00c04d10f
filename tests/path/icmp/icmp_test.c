// SPDX-License-Identifier: BSD-3-Clause
// icmp_test.c - ICMP errors of the router: cause, receiver, contents, rate
#include "harness.h"

#include <arpa/inet.h>

#include "base/checksum.h"
#include "table/icmp.h"

static uint16_t in, out;

// Sources are behind port 0 (neighbor 3), destinations behind port 1.
void rig_begin(void)
{
    rig_in_and_out(&in, &out);
    uint32_t back = rig_adjacency(in, 3), on = rig_adjacency(out, 1);
    rig_routes(VR_DEFAULT, "192.0.2.0/24", "2001:db8::/48", back);
    rig_routes(VR_DEFAULT, "198.51.100.0/24", "2001:db8:1::/48", on);
    rig_icmp_rate(100, 50);
}

static const struct ip_spec plain4 = {.src = "192.0.2.1", .dst = "198.51.100.1", .payload = 100};
static const struct ip_spec plain6 = {.src = "2001:db8::1", .dst = "2001:db8:1::1", .payload = 100};

// Sends the packet `spec` to port 0; true with the error that port 0 sends back.
static bool error_about(const struct ip_spec *spec, struct frame *f, struct frame *error)
{
    *f = frame_ip(spec);
    rig_forward(0, f);
    return rig_receive(0, error);
}

static void assert_error4(const struct frame *f, const struct frame *e, uint8_t type, uint8_t code,
                          uint16_t mtu)
{
    const uint8_t *ip = e->b + 14, *icmp = ip + 20;
    unsigned len = (unsigned)(ip[2] << 8 | ip[3]), quote = f->n - 14 < 548 ? f->n - 14 : 548;

    assert_memory_equal(e->b, neighbor_mac(3), 6);
    assert_int_equal(e->n, 14 + len);
    assert_true(frame_is_ip4_sound(e));
    assert_int_equal(ip[1] >> 5, 6); // precedence
    assert_int_equal(ip[8], 64);
    assert_int_equal(ip[9], 1);
    assert_memory_equal(ip + 12, &iface_get(in)->addr4, 4);
    assert_memory_equal(ip + 16, f->b + 14 + 12, 4);
    assert_int_equal(icmp[0], type);
    assert_int_equal(icmp[1], code);
    assert_int_equal(icmp[4] << 8 | icmp[5], 0);
    assert_int_equal(icmp[6] << 8 | icmp[7], mtu);
    assert_int_equal(checksum(icmp, len - 20), 0);
    assert_int_equal(len, 28 + quote);
    assert_memory_equal(icmp + 8, f->b + 14, quote);
}

static void assert_error6(const struct frame *f, const struct frame *e, uint8_t type, uint8_t code,
                          uint32_t mtu)
{
    const uint8_t *ip = e->b + 14, *icmp = ip + 40;
    unsigned len = (unsigned)(ip[4] << 8 | ip[5]), quote = f->n - 14 < 1232 ? f->n - 14 : 1232;

    assert_memory_equal(e->b, neighbor_mac(3), 6);
    assert_int_equal(e->n, 14 + 40 + len);
    assert_int_equal(ip[0] << 8 | ip[1], 0x6c00); // CS6
    assert_int_equal(ip[6], 58);
    assert_int_equal(ip[7], 64);
    assert_memory_equal(ip + 8, iface_get(in)->addr6, 16);
    assert_memory_equal(ip + 24, f->b + 14 + 8, 16);
    assert_int_equal(icmp[0], type);
    assert_int_equal(icmp[1], code);
    uint32_t told;
    memcpy(&told, icmp + 4, 4);
    assert_int_equal(ntohl(told), mtu);
    assert_int_equal(
        checksum_finish(checksum_add(checksum_pseudo6(ip + 8, ip + 24, len, 58), icmp, len)), 0);
    assert_int_equal(len, 8 + quote);
    assert_memory_equal(icmp + 8, f->b + 14, quote);
}

// rfc: 1812 5.3.1 MUST
// rfc: 4443 3.3 MUST
// rfc: 1812 4.3.2.5 SHOULD
path_test(a_ttl_that_runs_out_is_told_to_the_sender)
{
    struct ip_spec s4 = plain4, s6 = plain6;
    struct frame f, e;
    s4.ttl = s6.ttl = 1;
    assert_true(error_about(&s4, &f, &e));
    assert_error4(&f, &e, 11, 0, 0);
    assert_true(error_about(&s6, &f, &e));
    assert_error6(&f, &e, 3, 0, 0);
    assert_int_equal(rig_drops(DROP_IP4_TTL), 1);
    assert_int_equal(rig_drops(DROP_IP6_HOP_LIMIT), 1);
    struct ledger l;
    ledger_read(&l, 2);
    assert_int_equal(l.rx, 2);
    assert_int_equal(l.inject, 2);
    assert_int_equal(l.tx, 2);
    assert_int_equal(l.drops, 2);
}

// rfc: 1812 5.2.7.1 MUST
// rfc: 4443 3.1 SHOULD
path_test(each_kind_of_dead_end_has_its_own_code)
{
    static const struct {
        enum nexthop_kind kind;
        uint8_t code4, code6;
    } want[] = {{NEXTHOP_UNREACHABLE, 1, 0}, {NEXTHOP_PROHIBIT, 13, 1}, {NEXTHOP_FAILED, 1, 3}};
    struct frame f, e;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t nh = rig_nexthop(want[i].kind, 0);
        rig_routes(VR_DEFAULT, "198.51.100.0/24", "2001:db8:1::/48", nh);
        assert_true(error_about(&plain4, &f, &e));
        assert_error4(&f, &e, 3, want[i].code4, 0);
        assert_true(error_about(&plain6, &f, &e));
        assert_error6(&f, &e, 1, want[i].code6, 0);
    }
    rig_unroute(VR_DEFAULT, "198.51.100.0/24");
    rig_unroute(VR_DEFAULT, "2001:db8:1::/48");
    assert_true(error_about(&plain4, &f, &e));
    assert_error4(&f, &e, 3, 0, 0);
    assert_true(error_about(&plain6, &f, &e));
    assert_error6(&f, &e, 1, 0, 0);
    uint32_t empty = rig_group(NULL, 0);
    rig_route(VR_DEFAULT, "198.51.100.0/24", empty);
    assert_true(error_about(&plain4, &f, &e));
    assert_error4(&f, &e, 3, 0, 0);
}

// rfc: 5635 3 MAY
path_test(a_blackhole_says_nothing)
{
    struct frame f, e;
    rig_routes(VR_DEFAULT, "198.51.100.0/24", "2001:db8:1::/48", rig_nexthop(NEXTHOP_BLACKHOLE, 0));
    assert_false(error_about(&plain4, &f, &e));
    assert_false(error_about(&plain6, &f, &e));
    assert_only_drop(DROP_BLACKHOLE, 2);
}

// rfc: 1191 4 MUST
// rfc: 4443 3.2 MUST
path_test(a_packet_too_big_is_told_with_the_mtu_of_the_way_out)
{
    struct ip_spec s4 = plain4, s6 = plain6;
    struct frame f, e;
    s4.fragment = 0x4000;
    s4.payload = s6.payload = 1460;
    iface_get(out)->mtu = 1400;
    router_role(ROLE_RIB_MANAGER);
    nexthop_refresh_iface(out);
    assert_true(error_about(&s4, &f, &e));
    assert_error4(&f, &e, 3, 4, 1400);
    assert_true(error_about(&s6, &f, &e));
    assert_error6(&f, &e, 2, 0, 1400);
}

// To the route's next hop, or to a group of two of it.
static void with_route_mtu(uint32_t to, uint16_t mtu4, uint16_t mtu6)
{
    router_role(ROLE_RIB_MANAGER);
    rig_route(VR_DEFAULT, "198.51.100.0/24",
              nexthop_alias_new(&(struct nexthop_alias){.target = to, .mtu = mtu4}));
    rig_route(VR_DEFAULT, "2001:db8:1::/48",
              nexthop_alias_new(&(struct nexthop_alias){.target = to, .mtu = mtu6}));
}

// rfc: 1191 4 MUST
// rfc: 4443 3.2 MUST
path_test(a_packet_too_big_for_its_route_is_told_with_the_mtu_of_the_route)
{
    struct ip_spec s4 = plain4, s6 = plain6;
    struct frame f, e;
    uint32_t on = rig_adjacency(out, 1), member[2] = {on, rig_adjacency(out, 2)},
             group = rig_group(member, 2);
    for (unsigned i = 0; i < 2; i++) {
        with_route_mtu(i ? group : on, 1000, 1300);
        s4.fragment = 0x4000;
        s4.payload = 1000 - 28 + 1;
        s6.payload = 1300 - 48 + 1;
        assert_true(error_about(&s4, &f, &e));
        assert_error4(&f, &e, 3, 4, 1000);
        assert_true(error_about(&s6, &f, &e));
        assert_error6(&f, &e, 2, 0, 1300);
        s4.payload--;
        s6.payload--;
        assert_false(error_about(&s4, &f, &e)); // they fit
        assert_false(error_about(&s6, &f, &e));
        assert_int_equal(rig_discard(1), 2);
    }
    assert_int_equal(rig_drops(DROP_IP4_TOO_BIG), 2);
    assert_int_equal(rig_drops(DROP_IP6_TOO_BIG), 2);
}

path_test(of_route_and_link_the_smaller_mtu_counts)
{
    struct ip_spec s4 = plain4, s6 = plain6;
    struct frame f, e;
    s4.fragment = 0x4000;
    s4.payload = s6.payload = 1460;
    iface_get(out)->mtu = 1400;
    router_role(ROLE_RIB_MANAGER);
    with_route_mtu(rig_adjacency(out, 1), 9000, 1450);
    assert_true(error_about(&s4, &f, &e));
    assert_error4(&f, &e, 3, 4, 1400);
    assert_true(error_about(&s6, &f, &e));
    assert_error6(&f, &e, 2, 0, 1400);
}

// rfc: 791 3.2 MUST
path_test(pieces_are_no_larger_than_the_route_takes)
{
    struct ip_spec s4 = plain4;
    struct frame f, piece;
    unsigned bytes = 0;
    s4.payload = 1400;
    with_route_mtu(rig_adjacency(out, 1), 600, 0);
    f = frame_ip(&s4);
    rig_forward(0, &f);
    for (unsigned n = 0; n < 3; n++) {
        assert_true(rig_receive(1, &piece));
        assert_true(piece.n <= 14 + 600);
        assert_true(frame_is_ip4_sound(&piece));
        bytes += piece.n - 34;
    }
    assert_false(rig_receive(1, &piece));
    assert_int_equal(bytes, 1408);
}

path_test(a_packet_that_was_held_obeys_the_mtu_of_its_route_as_well)
{
    struct ip_spec s4 = plain4, s6 = plain6;
    struct frame f, f4, f6, e;
    uint32_t nh = rig_nexthop(NEXTHOP_HOLD, out);
    with_route_mtu(nh, 1000, 1300);
    s4.fragment = 0x4000;
    s4.payload = s6.payload = 1400;
    f4 = frame_ip(&s4);
    f6 = frame_ip(&s6);
    rig_send(0, &f4);
    rig_forward(0, &f6);
    struct rte_mbuf *m4 = rig_held(), *m6 = rig_held();
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_adjacency(nh, out, neighbor_mac(8));
    rig_inject(0, m4);
    rig_poll();
    assert_true(rig_receive(0, &e));
    assert_int_equal(e.b[34] << 8 | e.b[35], 3 << 8 | 4);
    assert_int_equal(e.b[40] << 8 | e.b[41], 1000);
    rig_inject(0, m6);
    rig_poll();
    assert_true(rig_receive(0, &e));
    assert_int_equal(e.b[54], 2);
    assert_int_equal(e.b[60] << 8 | e.b[61], 1300);
    assert_false(error_about(&plain4, &f, &e)); // small packets take the present path
    assert_int_equal(rig_discard(1), 1);
}

// rfc: 1812 4.3.2.3 SHOULD
path_test(the_quote_ends_where_the_packet_does_not_the_padding)
{
    struct ip_spec s = plain4;
    struct frame f, e;
    s.ttl = 1;
    s.payload = 0;
    s.pad_to = 60;
    assert_true(error_about(&s, &f, &e));
    assert_int_equal(e.n, 14 + 20 + 8 + 28);
}

// rfc: 1812 4.3.2.3 SHOULD
path_test(a_quote_is_gathered_from_all_segments)
{
    struct ip_spec s = plain4;
    struct frame e;
    s.ttl = 1;
    s.payload = 700;
    struct frame f = frame_ip(&s);
    rig_send_mbuf(0, 0, rig_mbuf(&f, 130));
    rig_poll();
    assert_true(rig_receive(0, &e));
    assert_error4(&f, &e, 11, 0, 0);
}

// Each row: a packet whose TTL expires, and whether its sender may get an error (RFC 1812 4.3.2.7,
// RFC 4443 2.4).
// rfc: 1812 4.3.2.7 MUST
// rfc: 4443 2.4e MUST
path_test(the_rules_say_about_what_an_error_may_be_sent)
{
    static const uint8_t type[256][8] = {
        [3] = {3},     [5] = {5},     [11] = {11},   [12] = {12},  [4] = {4}, [8] = {8},
        [0] = {0},     [13] = {13},   [40] = {40},   [1] = {1},    [2] = {2}, [128] = {128},
        [129] = {129}, [137] = {137}, [135] = {135}, [127] = {127}};
    static const uint8_t behind_options[16] = {58, 0, 1, 4, 0, 0, 0, 0, 1 /* unreachable */};
    static const uint8_t echo_behind_options[16] = {58, 0, 1, 4, 0, 0, 0, 0, 128};
    static const uint8_t later_icmp6[16] = {58, 0, 0, 8 /* offset 1 */, 0, 0, 0, 1};
    static const uint8_t later_udp6[16] = {17, 0, 0, 8, 0, 0, 0, 1};
    static const uint8_t first_echo6[16] = {58, 0, 0, 1 /* more */, 0, 0, 0, 1, 128};
#define ICMP4(t) {.src = "192.0.2.1", .dst = "198.51.100.1", .proto = 1, .l4 = type[t], .l4_len = 8}
#define ICMP6(t)                                                                                   \
    {                                                                                              \
        .src = "2001:db8::1", .dst = "2001:db8:1::1", .proto = 58, .l4 = type[t], .l4_len = 8      \
    }
#define EXT6(p, b) {.src = "2001:db8::1", .dst = "2001:db8:1::1", .proto = p, .l4 = b, .l4_len = 16}
    const struct {
        struct ip_spec spec;
        bool told;
        const char *what;
    } row[] = {
        {ICMP4(8), true, "echo request"},
        {ICMP4(0), true, "echo reply"},
        {ICMP4(13), true, "timestamp"},
        {ICMP4(3), false, "unreachable"},
        {ICMP4(4), false, "source quench"},
        {ICMP4(5), false, "redirect"},
        {ICMP4(11), false, "time exceeded"},
        {ICMP4(12), false, "parameter problem"},
        {ICMP4(40), false, "a type nobody knows"},
        {{.src = "192.0.2.1", .dst = "198.51.100.1", .proto = 1, .l4 = "", .l4_len = 0},
         false,
         "ICMP without a type"},
        {{.src = "192.0.2.1", .dst = "198.51.100.1", .fragment = 0x2000}, true, "first fragment"},
        {{.src = "192.0.2.1", .dst = "198.51.100.1", .fragment = 0x2001}, false, "later fragment"},
        {{.src = "192.0.2.1", .dst = "198.51.100.1", .fragment = 5}, false, "last fragment"},
        {{.src = "192.0.2.1", .dst = "198.51.100.1", .options = 8}, true, "packet with options"},
        {ICMP6(128), true, "ICMPv6 echo request"},
        {ICMP6(129), true, "ICMPv6 echo reply"},
        {ICMP6(1), false, "ICMPv6 unreachable"},
        {ICMP6(2), false, "ICMPv6 too big"},
        {ICMP6(127), false, "ICMPv6 error nobody knows"},
        {ICMP6(137), false, "ICMPv6 redirect"},
        {EXT6(60, behind_options), false, "ICMPv6 error behind options"},
        {EXT6(0, echo_behind_options), true, "echo behind options"},
        {EXT6(44, later_icmp6), false, "later fragment of ICMPv6"},
        {EXT6(44, later_udp6), true, "later fragment of UDP"},
        {EXT6(44, first_echo6), true, "first fragment of an echo"},
        {{.src = "2001:db8::1", .dst = "2001:db8:1::1", .proto = 60, .l4 = "\x3a", .l4_len = 1},
         false,
         "cut-off options"},
    };
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        struct ip_spec s = row[i].spec;
        struct frame f, e;
        s.ttl = 1;
        bool told = error_about(&s, &f, &e);
        if (told != row[i].told)
            fail_msg("%s: %s", row[i].what, told ? "an error was sent" : "no error was sent");
    }
}

// rfc: 1812 4.3.2.7 MUST
path_test(broadcast_frames_cause_no_error)
{
    struct ip_spec s = plain4;
    struct frame f, e;
    s.ttl = 1;
    s.dst_mac = broadcast_mac;
    assert_false(error_about(&s, &f, &e));
    assert_only_drop(DROP_ETHER_BROADCAST, 1);
}

// rfc: 1812 4.3.2.4 MUST, only without an address
path_test(an_interface_without_an_address_borrows_the_routers)
{
    static const uint8_t of_router4[4] = {192, 0, 2, 99},
                         of_router6[16] = {0x20, 1, 0xd, 0xb8, [15] = 0x99};
    struct ip_spec s4 = plain4, s6 = plain6;
    struct frame f, e;
    s4.ttl = s6.ttl = 1;
    iface_get(in)->addr4 = 0;
    memset(iface_get(in)->addr6, 0, 16);
    memcpy(&vr_get(VR_DEFAULT)->addr4, of_router4, 4);
    memcpy(vr_get(VR_DEFAULT)->addr6, of_router6, 16);
    assert_true(error_about(&s4, &f, &e));
    assert_memory_equal(e.b + 14 + 12, of_router4, 4);
    assert_true(error_about(&s6, &f, &e));
    assert_memory_equal(e.b + 14 + 8, of_router6, 16);
}

static void set_mtu_out(uint16_t mtu)
{
    iface_get(out)->mtu = mtu;
    router_role(ROLE_RIB_MANAGER);
    nexthop_refresh_iface(out);
}

// rfc: 7600 4.8 MUST
// rfc: 9229 3 SHOULD
path_test(a_router_without_an_ipv4_address_sends_errors_from_the_dummy_one)
{
    struct ip_spec s = plain4;
    struct frame f, e;

    s.ttl = 1;
    iface_get(in)->addr4 = 0;
    assert_true(error_about(&s, &f, &e));
    assert_true(frame_is_ip4_sound(&e));
    assert_memory_equal(e.b + 14 + 12, ((uint8_t[4]){192, 0, 0, 8}), 4);
    assert_memory_equal(e.b + 14 + 16, f.b + 14 + 12, 4);
    s.ttl = 64;
    s.fragment = 0x4000;
    s.payload = 1400;
    set_mtu_out(1000);
    assert_true(error_about(&s, &f, &e));
    assert_memory_equal(e.b + 14 + 12, ((uint8_t[4]){192, 0, 0, 8}), 4);
    assert_memory_equal(e.b + 14 + 20, "\3\4", 2);
}

// To the MAC that sent the packet: a link-local address is valid on one link.
// rfc: 4443 2.2 MUST
// rfc: 7404 2.1 SHOULD
path_test(a_router_with_link_local_addresses_only_tells_senders_on_its_link)
{
    static const uint8_t own[16] = {0xfe, 0x80, [15] = 0xfe}, host[6] = {0x02, 0x77, 0, 0, 0, 7};
    struct ip_spec s = plain6;
    struct frame f, e;

    memset(iface_get(in)->addr6, 0, 16);
    s.payload = 1400;
    set_mtu_out(1300);
    assert_false(error_about(&s, &f, &e)); // no address at all
    assert_int_equal(counter_sum_icmp().forbidden, 1);
    memcpy(iface_get(in)->addr6_ll, own, 16);
    f = frame_ip(&s);
    memcpy(f.b + 6, host, 6);
    assert_true(rig_passes(0, &f, 0, &e));
    assert_memory_equal(e.b, host, 6);
    assert_memory_equal(e.b + 14 + 8, own, 16);
    assert_memory_equal(e.b + 14 + 24, f.b + 14 + 8, 16);
    assert_memory_equal(e.b + 14 + 40, "\2\0", 2);
    assert_memory_equal(e.b + 14 + 44, ((uint8_t[4]){0, 0, 1300 >> 8, 1300 & 255}), 4);
    assert_int_equal(e.b[14 + 7], 64);
    assert_only_drop(DROP_IP6_TOO_BIG, 2);
}

// Number of errors for n packets of this source.
static unsigned errors_for(struct ip_spec s, const char *src, unsigned n)
{
    struct frame f, e;
    unsigned told = 0;

    s.src = src;
    for (unsigned i = 0; i < n; i++)
        told += error_about(&s, &f, &e);
    return told;
}

// rfc: 4443 2.4f MUST
// rfc: 1812 4.3.2.8 SHOULD
path_test(a_sender_does_not_use_up_the_errors_of_others)
{
    struct ip_spec s4 = plain4, s6 = plain6;

    s4.ttl = s6.ttl = 1;
    rig_icmp_rate(100, 50);
    assert_in_range(errors_for(s4, "192.0.2.66", 2000), 10, 30); // 20 per second
    assert_int_equal(errors_for(s4, "192.0.2.1", 5), 5);
    rig_icmp_rate(100, 50);
    assert_in_range(errors_for(s6, "2001:db8::66", 2000), 10, 30);
    assert_int_equal(errors_for(s6, "2001:db8::1", 5), 5);
}

// Many senders use up the interface's errors; path MTU discovery still works for each of them.
// rfc: 4443 2.4f MUST
path_test(packet_too_big_has_buckets_of_its_own)
{
    struct ip_spec s4 = plain4, s6 = plain6;
    char src[20];

    set_mtu_out(1300);
    rig_icmp_rate(20, 50);
    s4.ttl = s6.ttl = 1;
    for (unsigned i = 1; i <= 100; i++) {
        snprintf(src, sizeof src, "192.0.2.%u", i);
        errors_for(s4, src, 2);
        snprintf(src, sizeof src, "2001:db8::%u", i);
        errors_for(s6, src, 2);
    }
    s4.ttl = s6.ttl = 64;
    s4.fragment = 0x4000;
    s4.payload = s6.payload = 1400;
    assert_int_equal(errors_for(s4, "192.0.2.1", 5), 5);
    assert_int_equal(errors_for(s6, "2001:db8::1", 5), 5);
}

// rfc: 1812 4.3.2.7 MUST
// rfc: 4443 2.4e MUST
path_test(an_error_about_an_error_of_ours_is_not_made)
{
    struct ip_spec s = plain4;
    struct frame f, e;
    s.ttl = 1;
    rig_unroute(VR_DEFAULT, "192.0.2.0/24"); // no route back
    assert_false(error_about(&s, &f, &e));
    assert_int_equal(rig_drops(DROP_IP4_TTL), 1);
    assert_int_equal(rig_drops(DROP_IP4_NO_ROUTE), 1); // the error itself
    assert_int_equal(rig_drops_all(), 2);
}

path_test(an_error_to_our_own_address_ends_as_a_martian)
{
    struct ip_spec s = plain4;
    struct frame f, e;
    s.ttl = 1;
    rig_route(VR_DEFAULT, "192.0.2.1/32",
              rig_nexthop(NEXTHOP_LOCAL, in)); // the source claims our address
    assert_false(error_about(&s, &f, &e));
    assert_int_equal(rig_drops(DROP_IP4_TTL), 1);
    assert_int_equal(rig_drops(DROP_IP4_MARTIAN_SRC), 1);
}

path_test(an_error_waits_for_a_neighbor_like_any_packet)
{
    struct ip_spec s = plain4;
    struct frame f, e;
    s.ttl = 1;
    rig_route(VR_DEFAULT, "192.0.2.0/24", rig_nexthop(NEXTHOP_GLEAN, in));
    assert_false(error_about(&s, &f, &e));
    struct rte_mbuf *m = rig_held();
    assert_non_null(m);
    const uint8_t *ip = rte_pktmbuf_mtod(m, const uint8_t *);
    assert_int_equal(ip[8], 64);
    assert_int_equal(ip[20], 11);
    rig_release(m);
}

// rfc: 1812 4.3.2.8 SHOULD
// rfc: 4443 2.4f MUST
path_test(errors_are_limited_for_each_interface_by_its_own_bucket)
{
    uint16_t other = rig_iface(2, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "203.0.113.0/24", rig_adjacency(other, 4));
    rig_icmp_rate(1, 5);
    for (unsigned i = 0; i < 40; i++) {
        struct ip_spec s = plain4;
        s.ttl = 1;
        struct frame f = frame_ip(&s);
        rig_send(0, &f);
        s.src = "203.0.113.1";
        s.to_iface = other;
        f = frame_ip(&s);
        rig_send(2, &f);
    }
    assert_int_equal(rig_poll_out(0), 5);
    assert_int_equal(rig_discard(2), 5);
    assert_only_drop(DROP_IP4_TTL, 80);
    assert_int_equal(rig_counted(in).inject_packets, 5);
    assert_int_equal(rig_counted(in).drop_packets, 40);
    assert_int_equal(counter_sum_icmp().sent, 10);
    assert_int_equal(counter_sum_icmp().limited, 70);
    assert_int_equal(counter_sum_icmp().forbidden, 0);
}

// rfc: 4443 2.4f MUST
path_test(errors_of_all_interfaces_together_are_limited_by_the_routers_bucket)
{
    uint16_t other = rig_iface(2, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "203.0.113.0/24", rig_adjacency(other, 4));
    router_role(ROLE_CONTROL);
    icmp_limit_set(
        &(struct icmp_limit){.per_s = 1, .burst = 5, .total_per_s = 1, .total_burst = 7});
    for (unsigned i = 0; i < 20; i++) {
        struct ip_spec s = plain4;
        s.ttl = 1;
        struct frame f = frame_ip(&s);
        rig_send(0, &f);
        s.src = "203.0.113.1";
        s.to_iface = other;
        f = frame_ip(&s);
        rig_send(2, &f);
    }
    rig_poll();
    assert_int_equal(rig_discard(0) + rig_discard(2), 7);
    assert_int_equal(counter_sum_icmp().sent, 7);
    assert_int_equal(counter_sum_icmp().limited, 33);
}

// rfc: 4443 2.4f MUST
path_test(two_forwarders_share_the_bucket_of_an_interface)
{
    rig_plan_set(1, rig_plan_new(1, (struct plan_rx[]){{iface_get(in)->port, 1}}, 1));
    rig_icmp_rate(1, 5);
    for (unsigned i = 0; i < 20; i++) {
        struct ip_spec s = plain4;
        s.ttl = 1;
        struct frame f = frame_ip(&s);
        rig_send_queue(0, i % 2, &f);
    }
    assert_int_equal(rig_poll_out(0), 5);
    assert_only_drop(DROP_IP4_TTL, 20);
}

// rfc: 4443 2.4f MUST
path_test(the_bucket_fills_again_at_its_rate)
{
    struct ip_spec s = plain4;
    struct frame f, e;
    s.ttl = 1;
    rig_icmp_rate(5, 1);
    assert_true(error_about(&s, &f, &e));
    bool told = false;
    unsigned quiet = 0;
    // One in 200 ms: first packets without an error, then one with it.
    for (unsigned i = 0; i < 100000000 && !told; i++) {
        bool answered = error_about(&s, &f, &e);
        quiet += !answered;
        told = answered && quiet > 0;
    }
    assert_true(told);
    assert_true(quiet > 0);
}

path_test(a_forty_packet_burst_of_errors_is_answered_whole_and_in_order)
{
    for (unsigned i = 0; i < 40; i++) {
        struct ip_spec s = i % 2 ? plain6 : plain4;
        s.ttl = i % 4 < 2 ? 1 : 64;
        s.sport = (uint16_t)(i + 1);
        struct frame f = frame_ip(&s);
        rig_send(0, &f);
    }
    rig_step(0);
    assert_int_equal(rig_discard(1), 20);
    assert_int_equal(rig_discard(0), 20);
    assert_int_equal(rig_drops_all(), 20);
}

static void beyond_scope(uint16_t vlan)
{
    static const uint8_t host[6] = {0x02, 0x77, 0, 0, 0, 7}, own[16] = {0xfe, 0x80, [15] = 0xfe};
    uint16_t from = vlan ? rig_iface(0, vlan, VR_DEFAULT) : in;
    struct frame e, f;

    memcpy(iface_get(from)->addr6_ll, own, 16);
    f = ip_frame(.src = "fe80::2", .dst = "2001:db8:1::1", .payload = 1400, .vlan = vlan,
                 .to_iface = from);
    memcpy(f.b + 6, host, 6);
    assert_true(rig_passes(0, &f, 0, &e));
    unsigned l2 = vlan ? 18 : 14;
    const uint8_t *ip = e.b + l2, *icmp = ip + 40;
    assert_int_equal(e.n, l2 + 1280);
    assert_memory_equal(e.b, host, 6);
    assert_memory_equal(e.b + 6, iface_get(from)->mac, 6);
    if (vlan)
        assert_memory_equal(e.b + 12, f.b + 12, 4);
    assert_int_equal(ip[7], 64);
    assert_memory_equal(ip + 8, own, 16);
    assert_memory_equal(ip + 24, f.b + l2 + 8, 16);
    assert_memory_equal(icmp, "\1\2", 2);
    assert_memory_equal(icmp + 8, f.b + l2, 1280 - 48);
    uint32_t sum = checksum_pseudo6(ip + 8, ip + 24, 1240, 58);
    assert_int_equal(checksum_finish(checksum_add(sum, icmp, 1240)), 0);
}

// As many as fit in the packet, and the header after them still decides.
// rfc: 4443 3.3 MUST
path_test(a_hop_limit_that_runs_out_behind_any_number_of_extension_headers_is_told)
{
    uint8_t chain[150 * 8 + 8] = {0};
    struct frame f, e;

    rig_icmp_rate(1000, 500);
    for (unsigned n = 1; n <= 150; n += n < 20 ? 1 : 65) {
        for (unsigned i = 0; i < n; i++)
            memcpy(chain + 8 * i, i + 1 < n ? "\x3c\0\1\4\0\0\0" : "\x11\0\1\4\0\0\0", 8);
        memset(chain + 8 * n, 0, 8);
        struct ip_spec s = {.src = "2001:db8::1",
                            .dst = "2001:db8:1::1",
                            .ttl = 1,
                            .proto = 60,
                            .l4 = chain,
                            .l4_len = 8 * n + 8};
        assert_true(error_about(&s, &f, &e));
        assert_error6(&f, &e, 3, 0, 0);
        chain[8 * (n - 1)] = 58; // no error about an ICMPv6 error
        chain[8 * n] = 1;
        assert_false(error_about(&s, &f, &e));
    }
}

// rfc: 4443 3.1 MUST
path_test(a_destination_beyond_the_scope_of_a_link_local_source_is_told_on_its_link)
{
    beyond_scope(0);
    beyond_scope(7);
    assert_only_drop(DROP_IP6_LINK_LOCAL, 2);
}

// rfc: 4443 2.4e MUST NOT
path_test(not_told_about_an_error_or_a_multicast_frame_or_faster_than_allowed)
{
    static const uint8_t all[6] = {0x33, 0x33, 0, 0, 0, 1}, unreachable[8] = {1};
    struct ip_spec s = {
        .src = "fe80::2", .dst = "2001:db8:1::1", .proto = 58, .l4 = unreachable, .l4_len = 8};
    struct frame e, f;

    assert_false(error_about(&(struct ip_spec){.src = "fe80::2", .dst = "2001:db8:1::1"}, &f,
                             &e)); // we have no link-local address
    memcpy(iface_get(in)->addr6_ll, (uint8_t[16]){0xfe, 0x80, [15] = 0xfe}, 16);
    assert_false(error_about(&s, &f, &e));
    assert_false(error_about(
        &(struct ip_spec){.src = "fe80::2", .dst = "2001:db8:1::1", .dst_mac = all}, &f, &e));
    assert_int_equal(counter_sum_icmp().forbidden, 2);
    rig_icmp_rate(0, 0);
    assert_false(error_about(&(struct ip_spec){.src = "fe80::2", .dst = "2001:db8:1::1"}, &f, &e));
    assert_int_equal(counter_sum_icmp().limited, 1);
}
