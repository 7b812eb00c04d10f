// SPDX-License-Identifier: BSD-3-Clause
// redirect_test.c - receivers and contents of redirects
//
// `in` has the host 10.1.0.1 / 2001:db8:1::1 (neighbor 1) and the router 10.1.0.2 / fe80::2
// (neighbor 2), the next hop of 20/8 and 2001:db8:b::/48.
#include "harness.h"

#include "base/checksum.h"

static uint16_t in, out;
static uint32_t router4, router6;

void rig_begin(void)
{
    rig_in_and_out(&in, &out);
    memcpy(iface_get(in)->addr6_ll, (uint8_t[16]){0xfe, 0x80, [15] = 0xfe}, 16);
    iface_put_flags(iface_get(in), IFACE_REDIRECT, IFACE_REDIRECT);
    router4 = rig_neighbor(in, 2, "10.1.0.2");
    router6 = rig_neighbor(in, 2, "fe80::2");
    rig_routes(VR_DEFAULT, "10.1.0.0/24", "2001:db8:1::/64", rig_nexthop(NEXTHOP_GLEAN, in));
    rig_route(VR_DEFAULT, "10.1.0.1/32", rig_neighbor(in, 1, "10.1.0.1"));
    rig_route(VR_DEFAULT, "2001:db8:1::1/128", rig_neighbor(in, 1, "2001:db8:1::1"));
    rig_route(VR_DEFAULT, "20.0.0.0/8", router4);
    rig_route(VR_DEFAULT, "2001:db8:b::/48", router6);
    rig_routes(VR_DEFAULT, "30.0.0.0/8", "2001:db8:c::/48", rig_adjacency(out, 3));
    rig_icmp_rate(1000, 1000);
}

static void send(const char *src, const char *dst, uint8_t ttl)
{
    struct frame f = ip_frame(.src = src, .dst = dst, .ttl = ttl, .payload = 21);

    rig_forward(0, &f);
}

// Number of frames that port 0 sent; *r is the redirect among them (n = 0: none).
static unsigned sent(struct frame *r)
{
    static struct frame f;
    unsigned n = 0;

    r->n = 0;
    for (; rig_receive(0, &f); n++) {
        const uint8_t *ip = f.b + 14;
        if (ip[0] >> 4 == 4 ? ip[9] == 1 && ip[20] == 5 : ip[6] == 58 && ip[40] == 137)
            *r = f;
    }
    return n;
}

// rfc: 1812 5.2.7.2 MUST
// rfc: 1812 4.3.3.2 MUST
path_test(a_host_on_the_link_is_told_of_the_router_there)
{
    struct frame r;

    send("10.1.0.1", "20.0.0.1", 64);
    assert_int_equal(sent(&r), 2); // the packet itself is forwarded
    assert_memory_equal(r.b, neighbor_mac(1), 6);
    assert_true(frame_is_ip4_sound(&r));
    assert_memory_equal(r.b + 26,
                        "\x0a\xff\0\0"
                        "\x0a\1\0\1",
                        8);                   // from the interface's address
    assert_memory_equal(r.b + 34, "\5\1", 2); // for the host, not for a network
    assert_memory_equal(r.b + 38, "\x0a\1\0\2", 4);
    assert_memory_equal(r.b + 42 + 12, "\x0a\1\0\1" "\x14\0\0\1", 8);
    assert_int_equal(r.b[42 + 8], 64); // TTL as received
    assert_int_equal(checksum(r.b + 34, r.n - 34), 0);
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 4861 8.2 SHOULD
// rfc: 4861 4.5 MUST
path_test(an_ipv6_host_is_told_with_the_link_layer_address)
{
    struct frame r;

    send("2001:db8:1::1", "2001:db8:b::1", 64);
    assert_int_equal(sent(&r), 2);
    const uint8_t *ip = r.b + 14, *icmp = ip + 40;
    assert_memory_equal(r.b, neighbor_mac(1), 6);
    assert_int_equal(ip[7], 255);
    assert_memory_equal(ip + 8, iface_get(in)->addr6_ll, 16);
    assert_int_equal(ip[24 + 15], 1);
    assert_int_equal(r.n, 14 + 40 + (unsigned)(ip[4] << 8 | ip[5]));
    assert_memory_equal(icmp, "\x89\0", 2);
    assert_memory_equal(icmp + 8, nexthop_address[router6].b, 16);
    assert_memory_equal(icmp + 24, "\x20\1\xd\xb8\0\xb", 6);
    assert_memory_equal(icmp + 40, "\2\1", 2);
    assert_memory_equal(icmp + 42, neighbor_mac(2), 6);
    assert_int_equal(icmp[48], 4);
    assert_int_equal((icmp + 48) + icmp[49] * 8 - r.b,
                     r.n); // whole options to the end of the packet
    assert_memory_equal(icmp + 56 + 8, "\x20\1\xd\xb8\0\1", 6);
    uint32_t sum = checksum_pseudo6(ip + 8, ip + 24, r.n - 54, 58);
    assert_int_equal(checksum_finish(checksum_add(sum, icmp, r.n - 54)), 0);
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 1812 5.2.7.2 MUST
// rfc: 4861 8.2 SHOULD
path_test(a_destination_on_the_link_is_its_own_next_hop)
{
    struct frame r;

    rig_route(VR_DEFAULT, "10.1.0.9/32", rig_neighbor(in, 9, "10.1.0.9"));
    rig_route(VR_DEFAULT, "2001:db8:1::9/128", rig_neighbor(in, 9, "2001:db8:1::9"));
    send("10.1.0.1", "10.1.0.9", 64);
    assert_int_equal(sent(&r), 2);
    assert_memory_equal(r.b + 38, "\x0a\1\0\x9", 4);
    send("2001:db8:1::1", "2001:db8:1::9", 64);
    assert_int_equal(sent(&r), 2);
    assert_memory_equal(r.b + 54 + 8, r.b + 54 + 24, 16);
}

// rfc: 1812 5.2.7.2 MUST
path_test(nobody_else_is_told)
{
    static const struct {
        const char *src, *dst;
        uint8_t ttl;
        unsigned frames; // out of port 0
    } quiet[] = {
        {"10.1.0.1", "30.0.0.1", 64, 0},           // leaves by another interface
        {"2001:db8:1::1", "2001:db8:c::1", 64, 0},
        {"192.0.2.1", "20.0.0.1", 64, 1},          // sender is not on this link
        {"2001:db8:9::1", "2001:db8:b::1", 64, 1},
        {"20.0.0.5", "20.0.0.1", 64, 1},           // sender is behind the router itself
        {"10.1.0.77", "20.0.0.1", 64, 1},          // on the link, but not a known neighbor
        {"10.1.0.1", "40.0.0.1", 64, 1},           // next hop of the other family
        {"2001:db8:1::1", "2001:db8:d::1", 64, 1}, // router without a link-local address
    };
    struct frame r;

    rig_route(VR_DEFAULT, "40.0.0.0/8", router6);
    rig_route(VR_DEFAULT, "2001:db8:d::/48", rig_neighbor(in, 4, "2001:db8:1::4"));
    for (unsigned i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        send(quiet[i].src, quiet[i].dst, quiet[i].ttl);
        assert_int_equal(sent(&r), quiet[i].frames);
        assert_int_equal(r.n, 0);
    }
    rig_icmp_rate(0, 0); // a packet that ends here is no cause
    send("10.1.0.1", "20.0.0.1", 1);
    assert_int_equal(sent(&r), 0);
    assert_only_drop(DROP_IP4_TTL, 1);
}

// rfc: 4861 8.2 MUST
path_test(their_rate_is_limited_apart_from_errors)
{
    struct frame r;
    unsigned told = 0;

    rig_icmp_rate(1, 3);
    for (unsigned i = 0; i < 6; i++) {
        send("10.1.0.1", "20.0.0.1", 64);
        sent(&r);
        told += r.n > 0;
        send("2001:db8:1::1", "2001:db8:b::1", 64);
        sent(&r);
        told += r.n > 0;
    }
    assert_int_equal(told, 3);
    send("10.1.0.1", "99.0.0.1", 64); // an error is still sent
    assert_int_equal(sent(&r), 1);
    assert_int_equal(rig_drops(DROP_IP4_NO_ROUTE), 1);
}

path_test(it_is_off_unless_configured)
{
    struct frame r;

    iface_put_flags(iface_get(in), IFACE_REDIRECT, 0);
    send("10.1.0.1", "20.0.0.1", 64);
    assert_int_equal(sent(&r), 1);
    assert_int_equal(r.n, 0);
}

path_test(of_a_group_the_member_of_the_flow_is_told)
{
    struct frame r;

    uint32_t member[] = {router4}, id = rig_group(member, 1);
    router_role(ROLE_RIB_MANAGER);
    rig_route(VR_DEFAULT, "20.0.0.0/8", id);
    rig_route(VR_DEFAULT, "0.0.0.0/0",
              nexthop_alias_new(&(struct nexthop_alias){.target = id, .is_default = true}));
    send("10.1.0.1", "20.0.0.1", 64);
    assert_int_equal(sent(&r), 2);
    assert_memory_equal(r.b + 38, "\x0a\1\0\2", 4);
    send("10.1.0.1", "50.0.0.1", 64);
    assert_int_equal(sent(&r), 2);
    assert_memory_equal(r.b + 38, "\x0a\1\0\2", 4);
}
