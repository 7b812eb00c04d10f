// SPDX-License-Identifier: BSD-3-Clause
// tunnel_test.c - encapsulation and decapsulation of packets in tunnels
//
// Two tunnels, each the other's remote end, in four virtual routers of one router:
//
//     port 0 -> a -> tunnel 0 -> x -> port 1          port 2 -> y -> tunnel 1 -> b -> port 3
//
// The test carries frames from port 1 to port 2, and may change them in between.
#include "harness.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/checksum.h"
#include "forwarder/state.h"
#include "table/tunnel.h"

static uint16_t a, b, x, y, in, under[2], out, end[2];
static const char *const local[2][2] = {{"10.9.0.1", "10.9.0.2"},
                                        {"2001:db8:9::1", "2001:db8:9::2"}};
static const struct {
    const char *src, *dst;
} inner[2] = {{"192.0.2.1", "198.51.100.1"}, {"2001:db8::1", "2001:db8:1::1"}};

static struct tunnel_settings settings(uint8_t kind, unsigned outer6, unsigned from, uint16_t vr)
{
    struct tunnel_settings s = {.id = {.kind = kind, .family = outer6 ? IP6 : IP4, .vr = vr},
                                .ttl = 64};
    struct ip_addr at;

    assert_int_equal(ip_parse(local[outer6][from], &at), 0);
    memcpy(s.id.local, at.b, outer6 ? 16 : 4);
    assert_int_equal(ip_parse(local[outer6][!from], &at), 0);
    memcpy(s.id.remote, at.b, outer6 ? 16 : 4);
    return s;
}

struct variant {
    uint8_t kind;
    bool keyed;
    uint32_t key;
    uint8_t ttl, dscp_mode, dscp;
    bool zero_checksum, by_linux;
    uint8_t only;
};

static void topology(const struct variant *v, unsigned outer6)
{
    a = rig_vr("a"), b = rig_vr("b"), x = rig_vr("x"), y = rig_vr("y");
    in = rig_iface(0, 0, a), under[0] = rig_iface(1, 0, x), under[1] = rig_iface(2, 0, y);
    out = rig_iface(3, 0, b);
    for (unsigned k = 0; k < 2; k++) {
        struct tunnel_settings s = settings(v->kind, outer6, k, k ? y : x);
        s.keyed = v->keyed;
        s.id.key = v->key;
        s.ttl = v->ttl ? v->ttl == 255 ? 0 : v->ttl : 64;
        s.dscp_mode = v->dscp_mode;
        s.dscp = v->dscp;
        s.zero_checksum = v->zero_checksum;
        s.by_linux = v->by_linux;
        s.only = v->only;
        end[k] = router_tunnel_new(&s, k ? b : a, rig_adjacency(under[k], 7));
        assert_int_not_equal(end[k], 0);
        rig_route(k ? y : x, local[outer6][k], rig_nexthop(NEXTHOP_LOCAL, 0));
    }
    uint32_t into = router_adjacency_new(end[0], iface_get(end[1])->mac),
             on = rig_adjacency(out, 9);
    rig_routes(a, "0.0.0.0/0", "::/0", into);
    rig_routes(b, "0.0.0.0/0", "::/0", on);
}

#define FENCED ((UINT16_MAX + 1u) * sizeof(struct tunnel)) // an entry for any 16-bit number

static struct tunnel *unfenced; // the table that tunnels_fence() has replaced

// Moves the tunnels to a table with inaccessible memory behind, until the end of the test. The port
// and VLAN of any other interface give a number behind the end.
static void tunnels_fence(void)
{
    const size_t size = TUNNEL_NUMBERS * sizeof *tunnel_table;
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

    unfenced = tunnel_table;
    tunnel_table = mmap(NULL, FENCED, PROT_NONE, how, -1, 0);
    assert_ptr_not_equal(tunnel_table, MAP_FAILED);
    assert_int_equal(mprotect(tunnel_table, size, PROT_READ | PROT_WRITE), 0);
    memcpy(tunnel_table, unfenced, size);
    assert_true(tunnel_of_iface(iface_get(in)) >= TUNNEL_NUMBERS);
}

// Every test creates tunnels and removes them again.
static int no_tunnels(void **state)
{
    if (unfenced) {
        munmap(tunnel_table, FENCED);
        tunnel_table = unfenced;
        unfenced = NULL;
    }
    tunnel_table_fini();
    return rig_teardown(state);
}

static void start_anew(void **state)
{
    no_tunnels(state);
    rig_setup(state);
}

#define tunnel_test(name) unit_test_of(name, rig_setup, no_tunnels)

static struct frame packet(unsigned six, uint8_t tos, unsigned payload, uint16_t fragment)
{
    return ip_frame(.src = inner[six].src, .dst = inner[six].dst, .tos = tos, .payload = payload,
                    .fragment = fragment, .to_iface = in);
}

// Sends f to port 0 and takes the frame that leaves by port 1. False: none.
static bool into(const struct frame *f, struct frame *g)
{
    rig_forward(0, f);
    return rig_receive(1, g);
}

// The same from port 2 to port 3: f is the frame on the wire, for our MAC.
static bool out_of(struct frame *f, struct frame *g)
{
    memcpy(f->b, iface_get(under[1])->mac, 6);
    rig_forward(2, f);
    return rig_receive(3, g);
}

static const struct variant every[] = {
    {.kind = TUNNEL_IPIP},
    {.kind = TUNNEL_GRE},
    {.kind = TUNNEL_GRE, .keyed = true, .key = 0xdeadbeef},
    {.kind = TUNNEL_GRE_UDP},
    {.kind = TUNNEL_GRE_UDP, .keyed = true, .key = 7},
    {.kind = TUNNEL_GRE_UDP, .zero_checksum = true},
    {.kind = TUNNEL_VXLAN, .key = 0x123456},
    {.kind = TUNNEL_VXLAN, .key = 5, .zero_checksum = true},
};
static const struct variant ipip = {.kind = TUNNEL_IPIP}, gre = {.kind = TUNNEL_GRE};

// Runs fn for each kind, outer family and inner family, with new tables each time.
static void for_each_variant(void **state,
                             void (*fn)(const struct variant *v, unsigned outer6, unsigned inner6))
{
    for (unsigned k = 0; k < sizeof every / sizeof *every; k++)
        for (unsigned families = 0; families < 4; families++) {
            topology(&every[k], families >> 1);
            fn(&every[k], families >> 1, families & 1);
            start_anew(state);
        }
}

static unsigned behind_ip(const struct variant *v)
{
    return tunnel_overhead(v->kind, IP4, v->keyed) - 20;
}

static uint32_t be(const uint8_t *p, unsigned n)
{
    uint32_t w = 0;

    while (n--)
        w = w << 8 | *p++;
    return w;
}

static void check_outer(struct frame *g, const struct variant *v, unsigned outer6, unsigned inner6,
                        unsigned inner_len)
{
    static const uint8_t proto[TUNNEL_KIND_N] = {
        [TUNNEL_GRE] = 47, [TUNNEL_GRE_UDP] = 17, [TUNNEL_VXLAN] = 17};
    uint8_t *ip = frame_l3(g), *at = ip + (outer6 ? 40 : 20),
            want = v->kind == TUNNEL_IPIP ? inner6 ? 41 : 4 : proto[v->kind];
    unsigned len = inner_len + behind_ip(v);
    struct ip_addr from;

    ip_parse(local[outer6][0], &from);
    assert_memory_equal(ip + (outer6 ? 8 : 12), from.b, outer6 ? 16 : 4);
    assert_int_equal(ip[outer6 ? 6 : 9], want);
    assert_int_equal(ip[outer6 ? 7 : 8], 64);
    if (outer6) {
        assert_int_equal(be(ip + 4, 2), len);
    } else {
        assert_true(frame_is_ip4_sound(g));
        assert_int_equal(be(ip + 2, 2), len + 20);
        assert_int_equal(be(ip + 6, 2), 0x4000); // DF, so any identification will do
    }
    assert_int_equal(g->n, 14 + (outer6 ? 40 : 20) + len);
    if (tunnel_is_udp(v->kind)) {
        assert_true(be(at, 2) >= 49152);
        assert_int_equal(be(at + 2, 2), v->kind == TUNNEL_VXLAN ? 4789 : 4754);
        assert_int_equal(be(at + 4, 2), len);
        if (!outer6 || v->zero_checksum)
            assert_int_equal(be(at + 6, 2), 0);
        else
            assert_int_equal(
                checksum_finish(checksum_add(checksum_pseudo6(ip + 8, ip + 24, len, 17), at, len)),
                0);
        at += 8;
    }
    if (v->kind == TUNNEL_VXLAN) {
        assert_int_equal(be(at, 4), 0x08000000);
        assert_int_equal(be(at + 4, 4), v->key << 8);
        assert_memory_equal(at + 8, iface_get(end[1])->mac, 6);
        assert_memory_equal(at + 14, iface_get(end[0])->mac, 6);
        assert_int_equal(be(at + 20, 2), inner6 ? 0x86dd : 0x0800);
    } else if (v->kind != TUNNEL_IPIP) {
        assert_int_equal(be(at, 2), v->keyed ? 0x2000 : 0);
        assert_int_equal(be(at + 2, 2), inner6 ? 0x86dd : 0x0800);
        if (v->keyed)
            assert_int_equal(be(at + 4, 4), v->key);
    }
}

static void one_packet_both_ways(const struct variant *v, unsigned outer6, unsigned inner6)
{
    struct frame f = packet(inner6, 0, 40, 0), g, h;
    unsigned l3 = f.n - 14;

    assert_true(into(&f, &g));
    check_outer(&g, v, outer6, inner6, l3);
    assert_memory_equal(g.b, neighbor_mac(7), 6);
    assert_true(out_of(&g, &h));
    assert_int_equal(h.n, f.n);
    assert_memory_equal(h.b, neighbor_mac(9), 6);
    assert_int_equal(frame_l3(&h)[inner6 ? 7 : 8], 62); // once per router, not for the tunnel
    assert_true(inner6 || frame_is_ip4_sound(&h));
    unsigned from = inner6 ? 8 : 12;
    assert_memory_equal(frame_l3(&h) + from, frame_l3(&f) + from, l3 - from);
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 2003 3.1 MUST
// rfc: 2473 3.1 MUST
// rfc: 2784 2.1 MUST
// rfc: 2890 2.1 MUST
// rfc: 4213 3.5 MUST
// rfc: 6864 4.1 MUST
// rfc: 6935 5 MUST
// rfc: 7348 5 MUST
// rfc: 8086 3.2 MUST
tunnel_test(a_packet_goes_in_and_comes_out)
{
    for_each_variant(state, one_packet_both_ways);
}

tunnel_test(what_the_interfaces_count)
{
    struct counter_iface c[2];
    struct frame f, g, h;

    topology(&gre, 0);
    f = packet(0, 0, 40, 0);
    assert_true(into(&f, &g));
    assert_true(out_of(&g, &h));
    for (unsigned k = 0; k < 2; k++)
        counter_sum_iface(end[k], &c[k]);
    assert_int_equal(c[0].tx_packets, 1);
    assert_int_equal(c[1].rx_packets, 1);
    assert_int_equal(c[0].rx_packets + c[1].tx_packets, 0);
    assert_int_equal(c[0].tx_bytes, f.n + 4); // tagged, as frames of PORT_TUNNEL are
    counter_sum_iface(under[0], &c[0]);
    counter_sum_iface(under[1], &c[1]);
    assert_int_equal(c[0].tx_bytes, f.n + 24);
    assert_int_equal(c[1].rx_packets, 1);
}

// --- ECN, DSCP, TTL ---

static uint8_t tos_of(const uint8_t *ip)
{
    return ip[0] >> 4 == 4 ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4);
}

static void set_tos(struct frame *g, uint8_t tos)
{
    uint8_t *ip = frame_l3(g);

    if (ip[0] >> 4 == 4) {
        ip[1] = tos;
        ip4_fix_checksum(g);
    } else {
        ip[0] = (uint8_t)(0x60 | tos >> 4);
        ip[1] = (uint8_t)((ip[1] & 0xf) | tos << 4);
    }
}

static void all_pairs_of_ecn(const struct variant *v, unsigned outer6, unsigned inner6)
{
    // RFC 6040 figure 4, by inner and outer: Not-ECT 0, ECT(1) 1, ECT(0) 2, CE 3; -1 drop
    static const int figure4[4][4] = {{0, 0, 0, -1}, {1, 1, 1, 3}, {2, 1, 2, 3}, {3, 3, 3, 3}};
    unsigned dropped = 0;

    if (!v->zero_checksum && outer6 && tunnel_is_udp(v->kind))
        return; // the checksum does not cover the traffic class; check other fields
    for (unsigned i = 0; i < 4; i++)
        for (unsigned o = 0; o < 4; o++) {
            struct frame f = packet(inner6, (uint8_t)(0x28 | i), 40, 0), g, h;
            assert_true(into(&f, &g));
            assert_int_equal(tos_of(frame_l3(&g)), 0x28 | i); // normal mode: copied
            set_tos(&g, (uint8_t)(0x88 | o));
            bool comes = out_of(&g, &h);
            assert_int_equal(comes, figure4[i][o] >= 0);
            dropped += !comes;
            assert_int_equal(rig_drops(DROP_TUNNEL_ECN), dropped);
            if (comes)
                assert_int_equal(tos_of(frame_l3(&h)), 0x28 | figure4[i][o]);
            if (comes && !inner6)
                assert_true(frame_is_ip4_sound(&h));
        }
    assert_int_equal(rig_drops_all(), 1);
}

// rfc: 6040 4.1 MUST
// rfc: 6040 4.2 MUST
// rfc: 9599 4.3 SHOULD
// rfc: 9599 4.4 SHOULD
// rfc: 9601 3.1 SHOULD
// rfc: 9601 6.1.2 SHOULD
tunnel_test(ecn_is_as_rfc_6040_says)
{
    for_each_variant(state, all_pairs_of_ecn);
}

tunnel_test(dscp_is_a_pipe_or_uniform)
{
    static const struct variant pipe = {.kind = TUNNEL_GRE,
                                        .dscp_mode = TUNNEL_DSCP_FIXED,
                                        .dscp = 46},
                                uniform = {.kind = TUNNEL_IPIP, .dscp_mode = TUNNEL_DSCP_UNIFORM};
    struct frame f, g, h;

    topology(&pipe, 1);
    f = packet(0, 0x2a, 40, 0);
    assert_true(into(&f, &g));
    assert_int_equal(tos_of(frame_l3(&g)), 46 << 2 | 2);
    assert_true(out_of(&g, &h));
    assert_int_equal(tos_of(frame_l3(&h)), 0x2a);
    start_anew(state);
    topology(&uniform, 0);
    f = packet(1, 0x2a, 40, 0);
    assert_true(into(&f, &g));
    set_tos(&g, 0xb8);
    assert_true(out_of(&g, &h));
    assert_int_equal(tos_of(frame_l3(&h)), 0xb8 | 2);
}

static void uniform_back_to(const struct variant *v, unsigned outer6, unsigned inner6)
{
    static const uint8_t outside[] = {0, 0, 0, 0x28, 0}; // the first packet is read step by step

    for (unsigned k = 0; k < 2; k++)
        tunnel_get(tunnel_of_iface(iface_get(end[k])))->dscp_mode = TUNNEL_DSCP_UNIFORM;
    for (unsigned k = 0; k < sizeof outside; k++) {
        struct frame f = packet(inner6, 0xb8, 40, 0), g, h;
        assert_true(into(&f, &g));
        assert_int_equal(tos_of(frame_l3(&g)), 0xb8);
        set_tos(&g, outside[k]);
        assert_true(out_of(&g, &h));
        assert_int_equal(tos_of(frame_l3(&h)), outside[k]);
        assert_true(inner6 || frame_is_ip4_sound(&h));
    }
}

tunnel_test(a_uniform_tunnel_copies_any_dscp_back)
{
    for_each_variant(state, uniform_back_to);
}

tunnel_test(the_ttl_is_a_pipe_or_the_inner_one)
{
    for (unsigned outer6 = 0; outer6 < 2; outer6++) {
        const struct variant inherit = {.kind = TUNNEL_IPIP, .ttl = 255};
        struct frame f, g;
        topology(&inherit, outer6);
        for (unsigned six = 0; six < 2; six++) {
            f = packet(six, 0, 40, 0);
            assert_true(into(&f, &g));
            assert_int_equal(frame_l3(&g)[outer6 ? 7 : 8], 63);
            assert_true(outer6 || frame_is_ip4_sound(&g));
        }
        start_anew(state);
    }
}

// rfc: 2003 3.1 MUST
tunnel_test(a_packet_whose_ttl_ends_here_does_not_enter)
{
    struct frame f, g;

    topology(&gre, 0);
    f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .ttl = 1, .to_iface = in);
    assert_false(into(&f, &g));
    assert_only_drop(DROP_IP4_TTL, 1);
}

// --- sizes ---

// rfc: 2473 7.1 MUST, only packets above 1280 bytes
// rfc: 4213 3.2 MUST, only packets above 1280 bytes
// rfc: 4459 3.2 SHOULD
tunnel_test(too_big_is_told_to_the_inner_sender)
{
    struct frame f, g;

    topology(&gre, 0);
    iface_get(in)->addr4 = 0x0100ff0a;
    rig_icmp_rate(100, 100);
    rig_routes(a, "192.0.2.0/24", "2001:db8::/64", rig_adjacency(in, 3));
    f = packet(0, 0, 1400 - 28, 0x4000);
    assert_true(into(&f, &g)); // 1400 fit
    f = packet(0, 0, 1401 - 28, 0x4000);
    assert_false(into(&f, &g));
    assert_true(rig_receive(0, &g));
    uint8_t *icmp = frame_l3(&g) + 20;
    assert_int_equal(be(icmp, 2), 0x0304);
    assert_int_equal(be(icmp + 6, 2), 1400);
    f = packet(1, 0, 1401 - 48, 0);
    assert_false(into(&f, &g));
    assert_true(rig_receive(0, &g));
    icmp = frame_l3(&g) + 40;
    assert_int_equal(be(icmp, 2), 0x0200);
    assert_int_equal(be(icmp + 4, 4), 1400);
    assert_int_equal(rig_drops(DROP_IP4_TOO_BIG) + rig_drops(DROP_IP6_TOO_BIG), 2);
}

tunnel_test(without_df_the_inner_packet_is_cut)
{
    struct frame f, g, h;

    topology(&ipip, 1);
    f = packet(0, 0, 1500 - 28, 0);
    assert_true(into(&f, &g));
    unsigned bytes = 0, pieces = 0;
    do {
        uint8_t *ip = frame_l3(&g) + 40;
        assert_int_equal(frame_l3(&g)[6], 4);
        assert_true(be(ip + 2, 2) <= 1400);
        bytes += be(ip + 2, 2) - 20;
        pieces++;
        assert_true(out_of(&g, &h));
        assert_true(frame_is_ip4_sound(&h));
    } while (rig_receive(1, &g));
    assert_int_equal(pieces, 2);
    assert_int_equal(bytes, 1480);
    assert_int_equal(rig_drops_all(), 0);
}

// Sets the sizes of packets that the first tunnel and its path take.
static void set_sizes(uint16_t inside, uint16_t path)
{
    struct tunnel *t = tunnel_get(tunnel_of_iface(iface_get(end[0])));

    iface_get(end[0])->mtu = inside;
    router_role(ROLE_RIB_MANAGER);
    nexthop_refresh_iface(end[0]);
    tunnel_set_path(t, t->nexthop, t->state, path);
}

tunnel_test(too_big_with_its_outer_header)
{
    struct frame f, g;

    topology(&ipip, 1);
    set_sizes(1500, TUNNEL_PATH_ANY); // configured, although the output interface takes 1460
    uint32_t group =
        rig_group((uint32_t[2]){rig_adjacency(under[0], 1), rig_adjacency(under[0], 2)}, 2);
    router_role(ROLE_RIB_MANAGER);
    tunnel_set_path(tunnel_get(1), group, TUNNEL_UP, TUNNEL_PATH_ANY);
    f = packet(0, 0, 1460 - 28, 0);
    assert_true(into(&f, &g));
    f = packet(0, 0, 1461 - 28, 0);
    assert_false(into(&f, &g));
    assert_only_drop(DROP_TUNNEL_TOO_BIG, 1);
}

// Reassembles the fragments of an outer packet, which leave port 1 in order. Returns their number.
static unsigned put_together(struct frame *whole, unsigned outer6, unsigned path, bool df)
{
    const unsigned head = outer6 ? 40 : 20;
    struct frame g;
    unsigned n = 0, at = 0;
    uint32_t id = 0;
    uint8_t next = 0;
    bool more = true;

    for (; more && rig_receive(1, &g); n++) {
        uint8_t *ip = frame_l3(&g), *fragment = ip + 40;
        unsigned skip = head, word = be(ip + 6, 2), len = be(ip + (outer6 ? 4 : 2), 2);
        assert_true(g.n - 14 <= path);
        assert_true(outer6 || frame_is_ip4_sound(&g));
        if (!outer6) {
            assert_int_equal((word & 0x1fff) * 8, at);
            assert_int_equal(word & 0xc000, df ? 0x4000 : 0);
            more = word & 0x2000;
            len -= 20;
        } else if (ip[6] == 44) {
            skip += 8;
            assert_int_equal(be(fragment + 2, 2) & 0xfff8, at);
            assert_true(!n || be(fragment + 4, 4) == id);
            id = be(fragment + 4, 4);
            next = fragment[0];
            more = fragment[3] & 1;
            len -= 8;
        } else {
            next = ip[6];
            more = false;
        }
        if (!n)
            *whole = g;
        memcpy(whole->b + 14 + head + at, ip + skip, len);
        at += len;
    }
    assert_false(more);
    uint8_t *ip = frame_l3(whole);
    whole->n = 14 + head + at;
    if (outer6) {
        ip[6] = next;
        ip[4] = (uint8_t)(at >> 8), ip[5] = (uint8_t)at;
    } else {
        memcpy(ip + 2, (uint8_t[2]){(uint8_t)((at + 20) >> 8), (uint8_t)(at + 20)}, 2);
        memset(ip + 6, 0, 2);
        ip4_fix_checksum(whole);
    }
    return n;
}

// IPv6 packets of 1280 bytes pass although the path takes no more. `here`: our own link is the
// narrow one. Larger packets are reported with the right size of their family.
static void least_of_ipv6_passes(const struct variant *v, unsigned outer6, bool here)
{
    const unsigned more = tunnel_overhead(v->kind, outer6 ? IP6 : IP4, v->keyed);
    const uint16_t inside = (uint16_t)(1280 - more);
    struct frame f, g, h;

    topology(v, outer6);
    iface_get(in)->addr4 = 0x0100ff0a;
    rig_icmp_rate(100, 100);
    rig_routes(a, "192.0.2.0/24", "2001:db8::/64", rig_adjacency(in, 3));
    set_sizes(inside, 1280);
    iface_get(under[0])->mtu = here ? 1280 : 1500;
    nexthop_refresh_iface(under[0]);
    const unsigned lens[] = {1280, inside + 1u, inside, 100};
    for (unsigned k = 0; k < 4; k++) {
        const unsigned len = lens[k];
        f = packet(1, 0, len - 48, 0);
        rig_forward(0, &f);
        unsigned pieces = put_together(&g, outer6, here || outer6 ? 1280 : 1500, len <= inside);
        assert_int_equal(pieces, len > inside && (here || outer6) ? 2 : 1);
        assert_true(out_of(&g, &h));
        assert_int_equal(h.n, f.n);
        assert_memory_equal(h.b + 22, f.b + 22, f.n - 22);
        assert_int_equal(frame_l3(&h)[7], 62);
    }
    f = packet(1, 0, 1281 - 48, 0);
    assert_false(into(&f, &g));
    assert_true(rig_receive(0, &g));
    assert_int_equal(be(frame_l3(&g) + 44, 4), 1280);
    f = packet(0, 0, inside + 1u - 28, 0x4000);
    assert_false(into(&f, &g));
    assert_true(rig_receive(0, &g));
    assert_int_equal(be(frame_l3(&g) + 26, 2), inside);
    f = packet(0, 0, inside - 28, 0x4000);
    assert_true(into(&f, &g));
    assert_true(outer6 || be(frame_l3(&g) + 6, 2) == 0x4000);
    assert_int_equal(rig_drops_all(), 2);
}

// rfc: 2473 7.1 MUST
// rfc: 4213 3.2.2 MUST
// rfc: 6864 4.1 MUST
// rfc: 8200 5 MUST
tunnel_test(ipv6_up_to_1280_always_enters)
{
    for (unsigned k = 0; k < sizeof every / sizeof *every; k++)
        for (unsigned how = 0; how < 4; how++) {
            least_of_ipv6_passes(&every[k], how >> 1, how & 1);
            start_anew(state);
        }
}

// --- entropy ---

// rfc: 6438 3 MUST
// rfc: 7348 5 SHOULD
// rfc: 8086 3.2.1 SHOULD
tunnel_test(flows_differ_outside)
{
    for (unsigned outer6 = 0; outer6 < 2; outer6++) {
        static const struct variant v = {.kind = TUNNEL_GRE_UDP, .zero_checksum = true};
        uint32_t seen[2][2];
        struct frame f, g;
        topology(&v, outer6);
        for (unsigned k = 0; k < 4; k++) {
            f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1",
                         .sport = (uint16_t)(1000 + k / 2), .to_iface = in);
            assert_true(into(&f, &g));
            uint8_t *ip = frame_l3(&g);
            uint32_t port = be(ip + (outer6 ? 40 : 20), 2), label = be(ip, 4) & 0xfffff;
            seen[k / 2][k % 2] = outer6 ? port ^ label << 16 : port;
            assert_true(!outer6 || label);
        }
        assert_int_equal(seen[0][0], seen[0][1]); // a flow keeps its path
        assert_int_equal(seen[1][0], seen[1][1]);
        assert_int_not_equal(seen[0][0], seen[1][0]);
        start_anew(state);
    }
}

// --- refused packets ---

static struct frame outer_frame(const struct variant *v, unsigned outer6)
{
    struct frame f = packet(0, 0, 40, 0), g = {0};

    topology(v, outer6);
    f = packet(0, 0, 40, 0);
    assert_true(into(&f, &g));
    return g;
}

static void refused(struct frame *g, enum drop_reason why)
{
    struct frame h;
    uint64_t before = rig_drops(why), all = rig_drops_all();

    if (frame_l3(g)[0] >> 4 == 4)
        ip4_fix_checksum(g);
    assert_false(out_of(g, &h));
    assert_int_equal(rig_drops(why), before + 1);
    assert_int_equal(rig_drops_all(), all + 1);
    assert_false(rig_punted(PUNT_OTHER, &h, &(uint16_t){0}));
}

// rfc: 4213 3.6 MUST
// rfc: 2890 2.1 MUST
tunnel_test(a_stranger_or_another_key_is_refused)
{
    for (unsigned k = 0; k < sizeof every / sizeof *every; k++)
        for (unsigned outer6 = 0; outer6 < 2; outer6++) {
            struct frame g = outer_frame(&every[k], outer6), h = g;
            frame_l3(&h)[outer6 ? 23 : 15] ^= 1;
            refused(&h, DROP_TUNNEL_SOURCE);
            h = g;
            if (every[k].keyed || every[k].kind == TUNNEL_VXLAN) {
                unsigned at = (outer6 ? 40 : 20) + (tunnel_is_udp(every[k].kind) ? 8 : 0) + 6;
                frame_l3(&h)[at] ^= 1;
                refused(&h, DROP_TUNNEL_SOURCE);
            }
            assert_true(out_of(&g, &h)); // the right one is accepted
            start_anew(state);
        }
}

tunnel_test(another_virtual_router_is_no_way_in)
{
    struct frame g = outer_frame(&gre, 0), h;
    uint16_t other = rig_iface(2, 9, a); // in the inner virtual router

    rig_route(a, local[0][1], rig_nexthop(NEXTHOP_LOCAL, 0));
    memmove(g.b + 16, g.b + 12, g.n - 12);
    memcpy(g.b + 12, (uint8_t[4]){0x81, 0, 0, 9}, 4);
    g.n += 4;
    memcpy(g.b, iface_get(other)->mac, 6);
    assert_false(rig_passes(2, &g, 3, &h));
    assert_true(rig_punted(PUNT_OTHER, &h, &other)); // no tunnel ends there: for the kernel
}

tunnel_test(what_is_no_tunnels_is_punted)
{
    struct frame f, h;
    uint16_t iface;

    topology(&gre, 0);
    f = ip_frame(.src = "10.9.0.1", .dst = "10.9.0.2", .proto = 4, .payload = 40,
                 .to_iface = under[1]);
    assert_false(out_of(&f, &h));
    assert_true(rig_punted(PUNT_OTHER, &h, &iface));
    assert_int_equal(iface, under[1]);
    assert_int_equal(rig_drops_all(), 0);
}

tunnel_test(one_of_linux_takes_one_family_and_leaves_strangers_to_the_kernel)
{
    static const struct variant of_linux = {.kind = TUNNEL_IPIP, .by_linux = true, .only = IP4};
    struct frame g = outer_frame(&of_linux, 0), f = packet(1, 0, 40, 0), six, h, stranger = g;
    uint16_t iface;

    assert_true(into(&f, &six));
    refused(&six, DROP_TUNNEL_PROTOCOL);
    frame_l3(&stranger)[15] ^= 1;
    ip4_fix_checksum(&stranger);
    assert_false(out_of(&stranger, &h));
    assert_true(rig_punted(PUNT_OTHER, &h, &iface));
    assert_int_equal(iface, under[1]);
    assert_true(out_of(&g, &h));
}

// rfc: 2784 2.3 MUST
// rfc: 6935 5 MUST, only zero checksums are refused unless they are configured
// rfc: 6936 5 MUST, only zero checksums are refused unless they are configured, wrong ones always
// rfc: 7348 5 MUST
// rfc: 7348 6.1 SHOULD
tunnel_test(malformed_headers_are_refused)
{
    static const struct variant vxlan = {.kind = TUNNEL_VXLAN, .key = 5},
                                udp = {.kind = TUNNEL_GRE_UDP};
    struct frame g = outer_frame(&gre, 0), h;

    h = g, frame_l3(&h)[20] = 0x40; // routing present: reserved since RFC 2784
    refused(&h, DROP_TUNNEL_HEADER);
    h = g, frame_l3(&h)[21] = 1; // PPTP's version
    refused(&h, DROP_TUNNEL_HEADER);
    h = g, frame_l3(&h)[23] = 0xff; // protocol type
    refused(&h, DROP_TUNNEL_PROTOCOL);
    h = g, frame_l3(&h)[24] = 0x65; // claims IPv6
    refused(&h, DROP_TUNNEL_HEADER);
    h = g, frame_l3(&h)[6] = 0x20; // more fragments
    refused(&h, DROP_TUNNEL_FRAGMENT);
    h = g, frame_l3(&h)[3] = 30, h.n = 14 + 30; // incomplete inner header
    refused(&h, DROP_TUNNEL_HEADER);
    start_anew(state);
    g = outer_frame(&vxlan, 0);
    h = g, frame_l3(&h)[28] = 0; // no VNI
    refused(&h, DROP_TUNNEL_HEADER);
    h = g, memcpy(frame_l3(&h) + 36 + 12, (uint8_t[2]){0x81, 0}, 2); // inner VLAN tag
    refused(&h, DROP_TUNNEL_HEADER);
    h = g, frame_l3(&h)[36] ^= 0x10; // not the tunnel's MAC
    refused(&h, DROP_ETHER_NOT_OURS);
    start_anew(state);
    g = outer_frame(&udp, 0);
    h = g, frame_l3(&h)[25] = 200; // UDP length beyond the packet
    refused(&h, DROP_TUNNEL_HEADER);
    h = g, frame_l3(&h)[26] = 1; // wrong checksum
    refused(&h, DROP_TUNNEL_CHECKSUM);
    start_anew(state);
    g = outer_frame(&udp, 1);
    h = g, frame_l3(&h)[60] ^= 1; // payload
    refused(&h, DROP_TUNNEL_CHECKSUM);
    h = g, memset(frame_l3(&h) + 46, 0, 2); // no checksum, although that is not configured
    refused(&h, DROP_TUNNEL_CHECKSUM);
}

// The UDP length excludes the next header, or a part of the inner header.
tunnel_test(udp_that_is_too_short_is_refused)
{
    static const struct variant kind[] = {{.kind = TUNNEL_GRE_UDP},
                                          {.kind = TUNNEL_GRE_UDP, .keyed = true, .key = 7},
                                          {.kind = TUNNEL_VXLAN, .key = 5}};

    for (unsigned k = 0; k < sizeof kind / sizeof *kind; k++) {
        struct frame g = outer_frame(&kind[k], 0);
        const unsigned whole = behind_ip(&kind[k]) + 20;
        for (unsigned len = 0; len < whole; len++) {
            struct frame h = g;
            frame_l3(&h)[24] = 0;
            frame_l3(&h)[25] = (uint8_t)len;
            refused(&h, DROP_TUNNEL_HEADER);
        }
        start_anew(state);
    }
}

// rfc: 2784 2.5 MUST
tunnel_test(optional_parts_of_gre_are_understood)
{
    struct frame g = outer_frame(&gre, 0), h;
    uint8_t *at = frame_l3(&g) + 20;
    unsigned payload = g.n - 14 - 24;

    memmove(at + 12, at + 4, payload); // checksum and sequence number
    memset(at + 4, 0, 8);
    at[0] = 0x90;
    g.n += 8;
    frame_l3(&g)[3] = (uint8_t)(frame_l3(&g)[3] + 8);
    uint16_t sum = checksum(at, 12 + payload);
    memcpy(at + 4, &sum, 2);
    ip4_fix_checksum(&g);
    h = g;
    assert_true(out_of(&g, &h));
    assert_true(frame_is_ip4_sound(&h));
    at[8] ^= 1;
    refused(&g, DROP_TUNNEL_CHECKSUM);
}

// rfc: 2473 3.3 MUST
tunnel_test(an_encapsulation_limit_is_skipped)
{
    struct frame g = outer_frame(&ipip, 1), h;
    uint8_t *ip = frame_l3(&g);

    memmove(ip + 48, ip + 40, g.n - 14 - 40);
    memcpy(ip + 40, (uint8_t[8]){4, 0, 4, 1, 4, 1, 0}, 8);
    ip[6] = 60;
    ip[5] = (uint8_t)(ip[5] + 8);
    g.n += 8;
    assert_true(out_of(&g, &h));
    assert_true(frame_is_ip4_sound(&h));
}

// Inserts an IPv6 extension header after the outer header.
static void put_extension(struct frame *g, uint8_t proto, const uint8_t *header, unsigned n)
{
    uint8_t *ip = frame_l3(g);

    memmove(ip + 40 + n, ip + 40, g->n - 14 - 40);
    memcpy(ip + 40, header, n);
    ip[40] = ip[6];
    ip[6] = proto;
    ip[4] = (uint8_t)((be(ip + 4, 2) + n) >> 8);
    ip[5] = (uint8_t)(ip[5] + n);
    g->n += n;
}

static void options_before_a_tunnel(const struct variant *v, unsigned outer6, unsigned inner6)
{
    static const uint8_t alert[8] = {0, 0, 5, 2, 0, 0, 1, 0}, pad[16] = {0, 1, 1, 12},
                         limit[8] = {0, 0, 4, 1, 4, 1, 0}, unknown[8] = {0, 0, 0x8a, 4},
                         beyond[8] = {0, 0, 1, 5}, whole[8] = {0};
    struct frame f = packet(inner6, 0, 40, 0), g, h;
    uint16_t iface;

    if (!outer6)
        return;
    assert_true(into(&f, &g));
    for (unsigned k = 0; k < 2; k++) { // the second one might be taken for a packet like the first
        f = g, put_extension(&f, 0, alert, 8);
        assert_true(out_of(&f, &h));
        f = g, put_extension(&f, 60, pad, 16), put_extension(&f, 60, limit, 8);
        put_extension(&f, 0, pad, 16);
        assert_true(out_of(&f, &h));
        f = g, put_extension(&f, 44, whole, 8); // an atomic fragment (RFC 6946)
        assert_true(out_of(&f, &h));
        assert_int_equal(frame_l3(&h)[inner6 ? 7 : 8], 62);
    }
    f = g, put_extension(&f, 0, unknown, 8); // the kernel reports it
    assert_false(out_of(&f, &h));
    assert_true(rig_punted(PUNT_OTHER, &h, &iface));
    f = g, put_extension(&f, 60, beyond, 8);
    assert_false(out_of(&f, &h));
    assert_true(rig_punted(PUNT_OTHER, &h, &iface));
    assert_int_equal(rig_drops_all(), 0);
}

// rfc: 8200 4.1 MUST
// rfc: 8200 4.2 MUST
tunnel_test(options_before_a_tunnel_are_skipped)
{
    for_each_variant(state, options_before_a_tunnel);
}

static void limit_of(const struct variant *v, unsigned outer6, unsigned inner6)
{
    static const uint8_t pad[8] = {0, 0, 1, 4};
    struct frame f = packet(1, 0, 40, 0), g, h;

    if (!inner6)
        return;
    iface_get(in)->addr6[0] = 0x20;
    rig_icmp_rate(100, 100);
    rig_route(a, "2001:db8::/64", rig_adjacency(in, 3));
    for (unsigned limit = 0; limit < 4; limit++) {
        const uint8_t options[8] = {0, 0, 4, 1, (uint8_t)limit, 1, 1, 0};
        struct frame i = f;
        put_extension(&i, 60, options, 8);
        if (limit == 3)
            put_extension(&i, 0, pad, 8);
        bool enters = into(&i, &g);
        assert_int_equal(enters, limit || !outer6);
        if (!enters) {
            assert_true(rig_receive(0, &g));
            assert_int_equal(be(frame_l3(&g) + 40, 2), 0x0400);
            assert_int_equal(be(frame_l3(&g) + 44, 4), 44);
            assert_only_drop(DROP_TUNNEL_RECURSION, 1);
            continue;
        }
        uint8_t *ip = frame_l3(&g);
        if (outer6) {
            assert_int_equal(ip[6], 60);
            assert_int_equal(ip[44], limit - 1);
            assert_int_equal(be(ip + 4, 2), g.n - 14 - 40);
        }
        assert_true(out_of(&g, &h));
        assert_int_equal(h.n, i.n);
        assert_memory_equal(h.b + 22, i.b + 22, i.n - 22);
    }
}

// rfc: 2473 4.1.1 MUST
tunnel_test(an_encapsulation_limit_is_obeyed)
{
    for_each_variant(state, limit_of);
}

static void fragments_of(const struct variant *v, unsigned outer6, unsigned inner6)
{
    struct frame f = packet(inner6, 0, 40, 0), g, h;
    uint16_t iface;

    assert_true(into(&f, &g));
    for (unsigned later = 0; later < 2; later++) {
        const uint8_t header[8] = {0, 0, 0, (uint8_t)(later << 4 | 1)};
        f = g;
        if (outer6)
            put_extension(&f, 44, header, 8);
        else
            memcpy(frame_l3(&f) + 6, (uint8_t[2]){0x20, (uint8_t)(later << 1)}, 2);
        if (!later || !tunnel_is_udp(v->kind)) {
            refused(&f, DROP_TUNNEL_FRAGMENT);
            continue;
        }
        if (!outer6)
            ip4_fix_checksum(&f);
        assert_false(out_of(&f, &h)); // no ports: the kernel waits for the first fragment in vain
        assert_true(rig_punted(PUNT_OTHER, &h, &iface));
    }
}

tunnel_test(outer_fragments_are_not_put_together)
{
    for_each_variant(state, fragments_of);
}

// rfc: 4213 3.6 MUST
tunnel_test(inner_martians_do_not_come_in)
{
    struct frame g = outer_frame(&ipip, 0), h = g;

    memcpy(frame_l3(&h) + 20 + 12, (uint8_t[4]){127, 0, 0, 1}, 4);
    uint8_t *ip = frame_l3(&h) + 20;
    memset(ip + 10, 0, 2);
    uint16_t sum = checksum(ip, 20);
    memcpy(ip + 10, &sum, 2);
    refused(&h, DROP_IP4_MARTIAN_SRC);
    h = g, frame_l3(&h)[20 + 10] ^= 1;
    refused(&h, DROP_IP4_CHECKSUM);
}

// --- outgoing paths ---

tunnel_test(an_unresolved_remote_holds_the_outer_packet)
{
    struct frame f, g;

    topology(&gre, 0);
    router_role(ROLE_RIB_MANAGER);
    uint32_t hold = rig_nexthop(NEXTHOP_HOLD, under[0]);
    tunnel_set_path(tunnel_get(1), hold, TUNNEL_UP, TUNNEL_PATH_ANY);
    f = packet(0, 0, 40, 0);
    assert_false(into(&f, &g));
    struct rte_mbuf *m = rig_held();
    assert_non_null(m);
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_adjacency(hold, under[0], neighbor_mac(5));
    assert_int_equal(rig_inject(0, m), 0);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_memory_equal(g.b, neighbor_mac(5), 6);
    assert_int_equal(frame_l3(&g)[8], 64);
    assert_true(frame_is_ip4_sound(&g));
}

tunnel_test(a_group_divides_the_inner_flows)
{
    static const struct variant v = {.kind = TUNNEL_VXLAN, .key = 1};
    struct frame f, g;
    unsigned n[2] = {0};

    topology(&v, 0);
    uint32_t group =
        rig_group((uint32_t[2]){rig_adjacency(under[0], 1), rig_adjacency(under[0], 2)}, 2);
    router_role(ROLE_RIB_MANAGER);
    tunnel_set_path(tunnel_get(1), group, TUNNEL_UP, TUNNEL_PATH_ANY);
    for (unsigned k = 0; k < 64; k++) {
        f = ip_frame(.src = "192.0.2.1", .dst = "198.51.100.1", .sport = (uint16_t)(k + 1),
                     .to_iface = in);
        assert_true(into(&f, &g));
        n[!memcmp(g.b, neighbor_mac(1), 6)]++;
    }
    assert_true(n[0] >= 8 && n[1] >= 8);
}

tunnel_test(no_route_and_recursion_have_names)
{
    struct frame f, g;

    topology(&gre, 0);
    router_role(ROLE_RIB_MANAGER);
    tunnel_set_path(tunnel_get(1), 0, TUNNEL_NO_ROUTE, TUNNEL_PATH_ANY);
    f = packet(0, 0, 40, 0);
    assert_false(into(&f, &g));
    assert_only_drop(DROP_TUNNEL_NO_ROUTE, 1);
    tunnel_set_path(tunnel_get(1), 0, TUNNEL_RECURSION, TUNNEL_PATH_ANY);
    assert_false(into(&f, &g));
    assert_int_equal(rig_drops(DROP_TUNNEL_RECURSION), 1);
    // even if nothing has refused it
    tunnel_set_path(tunnel_get(1), router_adjacency_new(end[0], iface_get(end[0])->mac), TUNNEL_UP,
                    TUNNEL_PATH_ANY);
    assert_false(into(&f, &g));
    assert_int_equal(rig_drops_all(), 3);
    assert_int_equal(rig_counted(end[0]).drop_packets, 3);
}

tunnel_test(a_tunnel_in_a_tunnel)
{
    struct tunnel_settings s;
    struct frame f, g;

    topology(&gre, 0);
    s = settings(TUNNEL_IPIP, 1, 0, x);
    uint16_t second = router_tunnel_new(&s, x, rig_adjacency(under[0], 4));
    router_role(ROLE_RIB_MANAGER);
    tunnel_set_path(tunnel_get(1), router_adjacency_new(second, iface_get(second)->mac), TUNNEL_UP,
                    TUNNEL_PATH_ANY);
    f = packet(0, 0, 40, 0);
    assert_true(into(&f, &g));
    uint8_t *ip = frame_l3(&g);
    assert_int_equal(ip[6], 4);
    assert_int_equal(ip[40 + 9], 47);
    assert_int_equal(ip[40 + 24], 0x45);
    assert_int_equal(g.n, f.n + 24 + 40);
    assert_int_equal(checksum(ip + 40, 20), 0);
}

tunnel_test(bursts_of_both_families_keep_their_order)
{
    struct frame f, g;
    unsigned n = 0, next[2] = {1, 2};

    topology(&gre, 1);
    for (unsigned k = 0; k < 200; k++) {
        f = ip_frame(.src = inner[k & 1].src, .dst = inner[k & 1].dst, .sport = (uint16_t)(k + 1),
                     .to_iface = in);
        rig_send(0, &f);
    }
    rig_poll();
    for (; rig_receive(1, &g); n++) {
        memcpy(g.b, iface_get(under[1])->mac, 6);
        rig_send(2, &g);
    }
    assert_int_equal(n, 200);
    rig_poll();
    for (n = 0; rig_receive(3, &g); n++) {
        uint8_t *ip = frame_l3(&g);
        bool six = ip[0] >> 4 == 6;
        assert_int_equal(be(ip + (six ? 40 : 20), 2), next[six]);
        next[six] += 2;
    }
    assert_int_equal(n, 200);
    assert_int_equal(rig_drops_all(), 0);
}

tunnel_test(the_kernels_frames_go_in_too)
{
    struct frame f, g;

    topology(&gre, 0);
    f = ip_frame(.src = "192.0.2.1", .dst = "224.0.0.5", .proto = 89, .ttl = 1, .payload = 44,
                 .dst_mac = (const uint8_t[6]){1, 0, 0x5e, 0, 0, 5});
    rig_inject_frame(0, end[0], &f);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(be(frame_l3(&g) + 24 + 16, 4), 0xe0000005);
    uint16_t iface;
    struct frame h;
    assert_false(out_of(&g, &h));
    assert_true(rig_punted(PUNT_ROUTING, &h, &iface));
    assert_int_equal(iface, end[1]);
    assert_int_equal(h.n, f.n); // untagged, as on the TAP
    f = frame_raw((const uint8_t[64]){0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6},
                  64);
    rig_inject_frame(0, end[0], &f);
    rig_poll();
    assert_only_drop(DROP_TUNNEL_PROTOCOL, 1); // ARP
}

// Takes n tunnel ids.
static void take_numbers(unsigned n)
{
    struct tunnel_settings s = settings(TUNNEL_GRE, 0, 0, x);
    uint16_t taken;

    router_role(ROLE_CONTROL);
    for (s.id.key = 1; s.id.key <= n; s.id.key++)
        assert_int_not_equal(tunnel_new(&s, &taken), 0);
}

// The kernel may be faster than we are: the tag no longer leads to an interface that could count a
// drop.
tunnel_test(the_kernels_frames_do_not_go_into_a_hidden_tunnel)
{
    struct frame f, g;

    for (unsigned port = 0; port < 2; port++) {
        topology(&gre, 0);
        take_numbers(port * 4094);
        struct tunnel_settings s = settings(TUNNEL_IPIP, 0, 0, x);
        uint16_t id = router_tunnel_new(&s, a, rig_adjacency(under[0], 4));
        assert_int_equal(iface_get(id)->port, PORT_TUNNEL + port);
        f = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1", .payload = 40);
        rig_inject_frame(0, id, &f);
        rig_poll();
        assert_true(rig_receive(1, &g));
        router_role(ROLE_CONTROL);
        uint16_t number = tunnel_of_iface(iface_get(id));
        tunnel_hide(number);
        assert_int_equal(port_lead(port_get(tunnel_port(number)), 0, tunnel_vlan(number), 0), 0);
        rig_inject_frame(0, id, &f);
        rig_poll();
        assert_false(rig_receive(1, &g));
        assert_only_drop(DROP_IFACE_DOWN, 1);
        assert_int_equal(rig_counted(id).tx_packets, 1);
        start_anew(state);
    }
}

// --- bursts ---

struct outcome {
    unsigned n;
    uint64_t frame[256]; // hashes of sent and punted frames, with their place
    uint64_t drops[DROP_N];
    struct counter_iface iface[3];
};

static uint64_t hash_frame(const struct frame *f, uint64_t where)
{
    uint64_t h = 14695981039346656037u ^ where;

    for (unsigned i = 0; i < f->n; i++)
        h = (h ^ f->b[i]) * 1099511628211u;
    return h;
}

static void outcome_take(struct outcome *o)
{
    struct frame f;
    uint16_t iface;

    rig_poll();
    while (rig_receive(3, &f))
        o->frame[o->n++] = hash_frame(&f, 0);
    for (unsigned class = 0; class < PUNT_CLASS_N; class++)
        while (rig_punted(class, &f, &iface))
            o->frame[o->n++] = hash_frame(&f, 1 + class + 100u * iface);
}

static int compare_hashes(const void *p, const void *q)
{
    uint64_t k = *(const uint64_t *)p, l = *(const uint64_t *)q;

    return k < l ? -1 : k > l;
}

static void outcome_totals(struct outcome *o, int sign)
{
    const uint16_t iface[3] = {end[1], under[1], out};
    struct counter_iface c;

    for (unsigned r = 0; r < DROP_N; r++)
        o->drops[r] += (uint64_t)(sign * (int64_t)rig_drops(r));
    for (unsigned k = 0; k < 3; k++) {
        counter_sum_iface(iface[k], &c);
        uint64_t *to = (uint64_t *)&o->iface[k], *from = (uint64_t *)&c;
        for (unsigned w = 0; w < sizeof c / 8; w++)
            to[w] += (uint64_t)(sign * (int64_t)from[w]);
    }
}

// Sends all frames in one burst, or one by one.
static void outcome_of(struct outcome *o, const struct frame *f, unsigned n, bool burst)
{
    memset(o, 0, sizeof *o);
    outcome_totals(o, -1);
    for (unsigned i = 0; i < n; i++) {
        rig_send(2, &f[i]);
        if (!burst)
            outcome_take(o);
    }
    if (burst)
        outcome_take(o);
    outcome_totals(o, 1);
    qsort(o->frame, o->n, sizeof *o->frame, compare_hashes);
}

// Makes the frame wrong or unusual: in the outer header, after it, or in the inner packet.
static void damage(struct frame *g, const struct variant *v, unsigned outer6)
{
    const unsigned header = outer6 ? 40 : 20, inner_at = header + behind_ip(v);
    uint8_t *ip = frame_l3(g);

    switch (rand() % 12) {
    case 0:
        set_tos(g, (uint8_t)rand());
        break;
    case 1: // unknown sender
        ip[outer6 ? 23 : 15] ^= 1;
        break;
    case 2: // a fragment; in IPv6 another protocol
        ip[6] = (uint8_t)rand();
        break;
    case 3: // shorter than its length field
        g->n -= RTE_MIN((unsigned)rand() % 60, g->n - 1);
        break;
    case 4: // padded
        g->n += (unsigned)rand() % 20;
        break;
    case 5:
        ip[outer6 ? 5 : 3] = (uint8_t)rand();
        break;
    case 6: // after the outer IP header
        ip[header + (unsigned)rand() % 16] ^= (uint8_t)(1 << rand() % 8);
        break;
    case 7:
        ip[header] = (uint8_t)(0x10 << rand() % 4); // GRE: sequence number, key, or checksum
        break;
    case 8:
        ip[inner_at] ^= (uint8_t)(1 << rand() % 8);
        break;
    case 9: // inner ECN and DSCP, length, TTL and addresses
        ip[inner_at + (unsigned)rand() % 20] ^= (uint8_t)(1 << rand() % 8);
        break;
    case 10: // inner Ethernet header
        ip[inner_at - (tunnel_is_ethernet(v->kind) ? (unsigned)rand() % 14 : 0)] ^= 0x10;
        break;
    case 11:
        ip[rand() % 60] ^= (uint8_t)(1 << rand() % 8);
        break;
    }
    if (!outer6 && rand() % 8)
        ip4_fix_checksum(g);
}

static void a_burst_of(const struct variant *v, unsigned outer6, unsigned rounds)
{
    static struct frame f[64];
    static struct outcome one, all;

    rig_route(b, "198.51.100.0/28", rig_nexthop(NEXTHOP_LOCAL, 0));
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned k = 0; k < 64; k++) {
            unsigned six = rand() % 4 == 0;
            struct frame p = packet(six, (uint8_t)rand(), (unsigned)rand() % 60, 0);
            if (rand() % 4 == 0)
                frame_l3(&p)[six ? 39 : 19] ^= 0x10; // not for us
            if (!six)
                ip4_fix_checksum(&p);
            assert_true(into(&p, &f[k]));
            memcpy(f[k].b, iface_get(under[1])->mac, 6);
            for (unsigned times = round ? (unsigned)rand() % 3 : 0; times--;)
                damage(&f[k], v, outer6);
        }
        outcome_of(&one, f, 64, false);
        outcome_of(&all, f, 64, true);
        assert_int_equal(one.n, all.n);
        assert_memory_equal(one.frame, all.frame, one.n * sizeof *one.frame);
        assert_memory_equal(one.drops, all.drops, sizeof one.drops);
        assert_memory_equal(one.iface, all.iface, sizeof one.iface);
        assert_true(round || one.n == 64);
    }
}

// Like headers are read only once: access and result are the same for all packets.
tunnel_test(a_burst_is_what_its_packets_are)
{
    static const struct variant uniform[] = {
        {.kind = TUNNEL_GRE, .dscp_mode = TUNNEL_DSCP_UNIFORM},
        {.kind = TUNNEL_VXLAN, .dscp_mode = TUNNEL_DSCP_UNIFORM, .zero_checksum = true}};

    srand(1);
    for (unsigned k = 0; k < sizeof every / sizeof *every + 2; k++)
        for (unsigned outer6 = 0; outer6 < 2; outer6++) {
            const struct variant *v = k < 2 ? &uniform[k] : &every[k - 2];
            topology(v, outer6);
            a_burst_of(v, outer6, 20);
            start_anew(state);
        }
}

// Packets from two ends alternate; one end stops being like the others.
static void two_tunnels_in_a_burst(unsigned numbers_between)
{
    struct frame f, g[2], h;

    topology(&gre, 0);
    take_numbers(numbers_between);
    struct tunnel_settings s = settings(TUNNEL_GRE, 0, 1, y);
    s.id.remote[3] = 9;
    uint16_t second = router_tunnel_new(&s, b, rig_adjacency(under[1], 7));
    f = packet(0, 0, 40, 0);
    assert_true(into(&f, &g[0]));
    memcpy(g[0].b, iface_get(under[1])->mac, 6);
    g[1] = g[0];
    frame_l3(&g[1])[15] = 9;
    ip4_fix_checksum(&g[1]);
    for (unsigned k = 0; k < 60; k++)
        rig_send(2, &g[k % 3 == 0]);
    assert_int_equal(rig_poll_out(3), 60);
    assert_int_equal(rig_counted(end[1]).rx_packets, 40);
    assert_int_equal(rig_counted(end[1]).rx_bytes, 40 * (f.n + 4));
    assert_int_equal(rig_counted(second).rx_packets, 20);
    assert_int_equal(rig_counted(second).rx_bytes, 20 * (f.n + 4));
    assert_int_equal(iface_get(second)->port, PORT_TUNNEL + (numbers_between > 4000));
    assert_false(rig_receive(3, &h));
    assert_int_equal(rig_drops_all(), 0);
}

// Virtual routers may use the same addresses, and so tunnels with the same ends.
tunnel_test(the_same_ends_in_two_virtual_routers_in_one_burst)
{
    for (unsigned k = 0; k < sizeof every / sizeof *every; k++)
        for (unsigned outer6 = 0; outer6 < 2; outer6++) {
            struct frame g[2] = {outer_frame(&every[k], outer6)};
            struct counter_iface c[2];
            uint16_t z = rig_vr("z"), tagged = rig_iface(2, 9, z);
            struct tunnel_settings s = settings(every[k].kind, outer6, 1, z);
            s.keyed = every[k].keyed;
            s.id.key = every[k].key;
            s.ttl = 64;
            s.zero_checksum = every[k].zero_checksum;
            uint16_t second = router_tunnel_new(&s, b, rig_adjacency(tagged, 7));
            rig_route(z, local[outer6][1], rig_nexthop(NEXTHOP_LOCAL, 0));
            g[1] = g[0];
            memmove(g[1].b + 16, g[1].b + 12, g[1].n - 12);
            memcpy(g[1].b + 12, (uint8_t[4]){0x81, 0, 0, 9}, 4);
            g[1].n += 4;
            memcpy(g[0].b, iface_get(under[1])->mac, 6);
            memcpy(g[1].b, iface_get(tagged)->mac, 6);
            for (unsigned i = 0; i < 60; i++)
                rig_send(2, &g[i % 3 == 0]);
            rig_poll();
            counter_sum_iface(end[1], &c[0]);
            counter_sum_iface(second, &c[1]);
            assert_int_equal(c[0].rx_packets, 40);
            assert_int_equal(c[1].rx_packets, 20);
            start_anew(state);
        }
}

static void three_come(const struct frame *g)
{
    for (unsigned k = 0; k < 3; k++)
        rig_send(2, g);
    rig_poll();
    rig_discard(3);
}

// Not while it is hidden, and not when another tunnel has its ends.
tunnel_test(a_tunnel_that_went_is_not_remembered)
{
    for (unsigned k = 0; k < sizeof every / sizeof *every; k++)
        for (unsigned outer6 = 0; outer6 < 2; outer6++) {
            struct frame g = outer_frame(&every[k], outer6);
            struct tunnel_settings s = settings(every[k].kind, outer6, 1, y);
            uint16_t number = tunnel_of_iface(iface_get(end[1]));
            s.keyed = every[k].keyed;
            s.id.key = every[k].key;
            s.zero_checksum = every[k].zero_checksum;
            memcpy(g.b, iface_get(under[1])->mac, 6);
            three_come(&g);
            three_come(&g);
            assert_int_equal(rig_counted(end[1]).rx_packets, 6);
            router_role(ROLE_CONTROL);
            tunnel_hide(number);
            three_come(&g);
            assert_int_equal(rig_counted(end[1]).rx_packets, 6);
            router_role(ROLE_CONTROL);
            tunnel_free(number);
            take_numbers(1); // its own id, if free
            uint16_t second = router_tunnel_new(&s, b, rig_adjacency(under[1], 7));
            three_come(&g);
            three_come(&g);
            assert_int_equal(rig_counted(second).rx_packets, 6);
            assert_int_equal(rig_counted(end[1]).rx_packets, 6);
            start_anew(state);
        }
}

tunnel_test(two_tunnels_in_one_burst)
{
    two_tunnels_in_a_burst(0);
}

tunnel_test(tunnels_of_two_ports_in_one_burst)
{
    two_tunnels_in_a_burst(4094);
}

// Packets of the second tunnel take the slow path.
tunnel_test(tunnels_of_two_ports_to_one_way_out)
{
    struct frame f[2], g;
    unsigned n[2] = {0};

    topology(&gre, 0);
    take_numbers(4094);
    struct tunnel_settings s = settings(TUNNEL_IPIP, 0, 0, x);
    uint16_t second = router_tunnel_new(&s, a, rig_adjacency(under[0], 4));
    rig_route(a, "203.0.113.0/24", router_adjacency_new(second, iface_get(second)->mac));
    f[0] = packet(0, 0, 40, 0);
    f[1] = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1", .payload = 40, .to_iface = in);
    for (unsigned k = 0; k < 60; k++)
        rig_send(0, &f[k % 3 == 0]);
    rig_poll();
    while (rig_receive(1, &g))
        n[frame_l3(&g)[9] == 4]++;
    assert_int_equal(n[0], 40);
    assert_int_equal(n[1], 20);
    assert_int_equal(rig_counted(second).tx_packets, 20);
    assert_int_equal(iface_get(second)->port, PORT_TUNNEL + 1);
    assert_int_equal(rig_drops_all(), 0);
}

// Also checks interface counters and use of next hops, and that no tunnel is read for a packet
// without one.
tunnel_test(a_burst_of_packets_with_a_tunnel_and_without)
{
    struct frame f[2], g;

    topology(&gre, 0);
    tunnels_fence();
    rig_route(a, "203.0.113.0/24", rig_adjacency(in, 5));
    f[0] = packet(0, 0, 40, 0);
    f[1] = ip_frame(.src = "192.0.2.1", .dst = "203.0.113.1", .payload = 40, .to_iface = in);
    for (unsigned k = 0; k < 60; k++)
        rig_send(0, &f[k % 3 != 1]);
    rig_poll();
    for (unsigned k = 0; k < 20; k++) {
        assert_true(rig_receive(1, &g));
        check_outer(&g, &gre, 0, 0, f[0].n - 14);
    }
    assert_false(rig_receive(1, &g));
    for (unsigned k = 0; k < 40; k++) {
        assert_true(rig_receive(0, &g));
        assert_int_equal(g.n, f[1].n);
        assert_int_equal(frame_l3(&g)[8], frame_l3(&f[1])[8] - 1);
    }
    assert_false(rig_receive(0, &g));
    assert_int_equal(rig_counted(end[0]).tx_packets, 20);
    assert_int_equal(rig_counted(end[0]).tx_bytes, 20 * (f[0].n + 4));
    assert_int_equal(rig_counted(under[0]).tx_packets, 20);
    assert_int_equal(rig_counted(under[0]).tx_bytes, 20 * (f[0].n + 24));
    assert_int_equal(rig_counted(in).tx_packets, 40);
    assert_int_equal(rig_drops_all(), 0);
}

int main(void)
{
    rig_reach += 84; // an inner packet starts so much later than the data when it was poisoned
    return unit_tests_run(unit_begin, unit_end);
}
