// SPDX-License-Identifier: BSD-3-Clause
// label_test.c - packets that get labels, carry them, and lose them
//
// LANES in the environment names the set of lanes (forwarder/lanes.h).
#include "harness.h"

#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checksum.h"
#include "forwarder/label.h"
#include "table/nexthop_count.h"
#include "table/packet_trace.h"
#include "table/tunnel.h"

static uint16_t in, out, third, red;
static uint32_t via; // neighbor 1 of `out`

static void accept_labels(uint16_t iface, bool on)
{
    router_role(ROLE_RIB_MANAGER);
    iface_set_mpls(iface, on);
}

void rig_begin(void)
{
    const char *name = getenv("LANES");
    const struct lanes *lanes = lanes_by_name(name ? name : "scalar");

    if (lanes)
        rig_forwarder(0)->lanes = lanes;
    red = rig_vr("red");
    in = rig_iface(0, 0, VR_DEFAULT);
    out = rig_iface(1, 0, VR_DEFAULT);
    third = rig_iface(2, 0, red);
    via = rig_adjacency(out, 1);
    accept_labels(in, true);
}

static int clean(void **state)
{
    int r = rig_teardown(state);

    router_role(ROLE_RIB_MANAGER);
    for (uint16_t vr = 0; vr < 2; vr++)
        label_table_drop(vr);
    rcu_barrier();
    return r;
}

#define label_test(name) unit_test_of(name, rig_setup, clean)

// --- tables and frames ---

static uint32_t encap_of(struct nexthop_encap e)
{
    for (unsigned k = 0; k < e.n; k++)
        e.label_be[k] = nexthop_label(e.label_be[k]);
    router_role(ROLE_RIB_MANAGER);
    uint32_t id = nexthop_encap_new(&e);
    assert_int_not_equal(id, 0);
    return id;
}
#define encap(...) encap_of((struct nexthop_encap){__VA_ARGS__})

static void learn(uint16_t vr, uint32_t label, uint32_t id)
{
    router_role(ROLE_RIB_MANAGER);
    assert_int_equal(label_set(vr, label, id), 0);
}

static void model(bool propagate, uint8_t ttl)
{
    router_role(ROLE_RIB_MANAGER);
    vr_set_mpls(VR_DEFAULT, (struct vr_mpls){propagate, ttl});
    vr_set_mpls(red, (struct vr_mpls){propagate, ttl});
}

#define ENTRY(label, class, ttl) ((uint32_t)(label) << 12 | (class) << 9 | (ttl))

// Puts the entries in front of the packet; the last one gets the bottom bit.
static struct frame with_labels(struct frame f, unsigned n, const uint32_t *entry)
{
    uint8_t *ip = frame_l3(&f);
    const unsigned rest = f.n - (unsigned)(ip - f.b);

    memmove(ip + 4 * n, ip, rest);
    for (unsigned k = 0; k < n; k++)
        label_store(ip + 4 * k, entry[k] | (k == n - 1 ? ENTRY_BOTTOM : 0));
    ip[-2] = 0x88;
    ip[-1] = 0x47;
    f.n += 4 * n;
    return f;
}
#define labeled(f, ...)                                                                            \
    with_labels(f, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})

// The frame has exactly these entries, and then the packet of `f` but for its TTL.
static void assert_labels_of(struct frame *g, unsigned n, const uint32_t *entry, struct frame *f,
                             unsigned skip, uint8_t ttl)
{
    uint8_t *at = frame_l3(g), *ip = frame_l3(f) + 4 * skip;
    const unsigned rest = f->n - (unsigned)(ip - f->b);
    const bool four = ip[0] >> 4 == 4;

    assert_int_equal(at[-2] << 8 | at[-1], n ? 0x8847 : four ? 0x0800 : 0x86dd);
    assert_int_equal(g->n - (unsigned)(at - g->b), 4 * n + rest);
    for (unsigned k = 0; k < n; k++)
        assert_int_equal(label_load(at + 4 * k), entry[k] | (k == n - 1 ? ENTRY_BOTTOM : 0));
    at += 4 * n;
    assert_int_equal(at[four ? 8 : 7], ttl);
    if (four) {
        assert_int_equal(checksum(at, (at[0] & 15) * 4u), 0);
        memcpy(at + 8, ip + 8, 4);
    }
    at[four ? 8 : 7] = ip[four ? 8 : 7];
    assert_memory_equal(at, ip, rest);
}
#define assert_labels(g, f, skip, ttl, ...)                                                        \
    assert_labels_of(g, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__}, f, skip, \
                     ttl)
#define assert_bare(g, f, skip, ttl) assert_labels_of(g, 0, NULL, f, skip, ttl)

static struct frame packet(bool six)
{
    return ip_frame(.src = six ? "2001:db8:1::1" : "192.0.2.1",
                    .dst = six ? "2001:db8:2::2" : "10.0.0.2", .ttl = 30, .payload = 40);
}

// --- labels are put on ---

// rfc: 3032 2.1 MUST
// rfc: 3032 2.4.3 MUST
// rfc: 5462 2.1 MUST, only pushes
label_test(a_route_with_labels_pushes_them_with_bottom_ttl_and_class)
{
    struct frame f, g;

    for (unsigned six = 0; six < 2; six++)
        for (unsigned n = 1; n <= NEXTHOP_LABEL_MAX; n++) {
            struct nexthop_encap e = {.via = via, .n = (uint8_t)n};
            uint32_t want[NEXTHOP_LABEL_MAX];
            for (unsigned k = 0; k < n; k++) {
                e.label_be[k] = 1000 + k;
                want[k] = ENTRY(1000 + k, 5, 29);
            }
            rig_routes(VR_DEFAULT, "10.0.0.0/8", "2001:db8:2::/48", encap_of(e));
            f = ip_frame(.src = six ? "2001:db8:1::1" : "192.0.2.1",
                         .dst = six ? "2001:db8:2::2" : "10.0.0.2", .ttl = 30, .tos = 0xb8,
                         .payload = 100 * n);
            assert_true(rig_passes(0, &f, 1, &g));
            assert_memory_equal(g.b, neighbor_mac(1), 6);
            assert_memory_equal(g.b + 6, iface_get(out)->mac, 6);
            assert_labels_of(&g, n, want, &f, 0, 29);
        }
    assert_int_equal(rig_counted(out).tx_packets, 2 * NEXTHOP_LABEL_MAX);
}

// rfc: 3443 3.1 MUST, only pushes
// rfc: 3443 3.2 MUST, only pushes
label_test(a_pushed_ttl_follows_the_model_of_route_and_virtual_router)
{
    static const struct {
        bool propagate;
        uint8_t flags, ttl, want;
    } t[] = {{true, 0, 0, 29},
             {false, 0, 0, 77},
             {false, NEXTHOP_ENCAP_UNIFORM, 0, 29},
             {true, NEXTHOP_ENCAP_PIPE, 0, 77},
             {true, NEXTHOP_ENCAP_PIPE, 9, 9}};
    struct frame f, g;

    for (unsigned k = 0; k < sizeof t / sizeof *t; k++) {
        model(t[k].propagate, 77);
        rig_routes(
            VR_DEFAULT, "10.0.0.0/8", "2001:db8:2::/48",
            encap(.via = via, .n = 1, .label_be = {16}, .flags = t[k].flags, .ttl = t[k].ttl));
        for (unsigned six = 0; six < 2; six++) {
            f = packet(six);
            assert_true(rig_passes(0, &f, 1, &g));
            assert_labels(&g, &f, 0, 29, ENTRY(16, 0, t[k].want));
        }
    }
}

label_test(a_burst_is_pushed_together_and_other_packets_stay_plain)
{
    struct frame f, g;
    unsigned n[2] = {0};

    rig_route(VR_DEFAULT, "10.0.0.0/9", encap(.via = via, .n = 2, .label_be = {17, 18}));
    rig_route(VR_DEFAULT, "10.128.0.0/9", via);
    for (unsigned k = 0; k < 60; k++) {
        f = ip_frame(.src = "192.0.2.1", .dst = k % 3 ? "10.1.1.1" : "10.200.1.1");
        rig_send(0, &f);
    }
    rig_poll();
    while (rig_receive(1, &g))
        n[g.b[12] == 0x88]++;
    assert_int_equal(n[0], 20);
    assert_int_equal(n[1], 40);
}

// Also of packets in several segments.
label_test(stacks_of_all_depths_leave_in_one_burst_with_and_without_tags)
{
    const uint32_t tagged = rig_adjacency(rig_iface(1, 20, VR_DEFAULT), 3);
    char text[32];
    struct frame f, g;
    unsigned n = 0;

    for (unsigned k = 0; k < 16; k++) {
        struct nexthop_encap e = {.via = k < 8 ? via : tagged, .n = (uint8_t)(1 + k % 8)};
        for (unsigned i = 0; i < e.n; i++)
            e.label_be[i] = 100 * k + 16 + i;
        snprintf(text, sizeof text, "10.%u.0.0/16", k);
        rig_route(VR_DEFAULT, text, encap_of(e));
    }
    for (unsigned i = 0; i < 60; i++) {
        snprintf(text, sizeof text, "10.%u.0.2", i % 16);
        f = ip_frame(.src = "192.0.2.1", .dst = text, .ttl = 30, .payload = 600);
        rig_send_mbuf(0, 0, rig_mbuf(&f, i % 3 ? 2048 : 300));
    }
    rig_poll();
    for (; rig_receive(1, &g); n++) {
        const uint8_t *at = frame_l3(&g);
        unsigned depth = 1;
        while (!(label_load(at + 4 * (depth - 1)) & ENTRY_BOTTOM))
            depth++;
        const uint8_t *ip = at + 4 * depth;
        const unsigned k = ip[17];
        assert_int_equal(depth, 1 + k % 8);
        assert_int_equal(at - g.b, k < 8 ? 14 : 18);
        assert_int_equal(g.n, at - g.b + 4 * depth + 628);
        assert_memory_equal(g.b, neighbor_mac(k < 8 ? 1 : 3), 6);
        for (unsigned i = 0; i < depth; i++)
            assert_int_equal(label_load(at + 4 * i) & ~(uint32_t)ENTRY_BOTTOM,
                             ENTRY(100 * k + 16 + i, 0, 29));
        assert_int_equal(ip[8], 29);
        assert_int_equal(checksum(ip, 20), 0);
    }
    assert_int_equal(n, 60);
}

label_test(a_pushed_packet_is_counted_for_its_next_hop)
{
    uint32_t id = encap(.via = via, .n = 1, .label_be = {19});
    struct frame f = packet(false), g;

    rig_route(VR_DEFAULT, "10.0.0.0/8", id);
    assert_true(rig_passes(0, &f, 1, &g));
    router_role(ROLE_RIB_MANAGER);
    assert_true(nexthop_used_since(via, 1)); // the neighbor is in use, not only the labels
}

// rfc: 3032 3.2 MUST
label_test(the_mtu_counts_the_labels)
{
    struct frame f, g;
    unsigned n = 0, bytes = 0;

    rig_icmp_rate(1000, 1000);
    rig_routes(VR_DEFAULT, "10.0.0.0/8", "2001:db8:2::/48",
               encap(.via = via, .n = 2, .label_be = {20, 21}));
    rig_routes(VR_DEFAULT, "192.0.2.0/24", "2001:db8:1::/48", rig_adjacency(in, 9));
    f = ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .payload = 1492 - 28, .fragment = 0x4000);
    assert_true(rig_passes(0, &f, 1, &g)); // exactly
    f = ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .payload = 1493 - 28, .fragment = 0x4000);
    assert_true(rig_passes(0, &f, 0, &g));
    assert_int_equal(frame_l3(&g)[20], 3);
    assert_int_equal(frame_l3(&g)[21], 4);
    assert_int_equal(frame_l3(&g)[26] << 8 | frame_l3(&g)[27], 1492);
    f = ip_frame(.src = "2001:db8:1::1", .dst = "2001:db8:2::2", .payload = 1493 - 48);
    assert_true(rig_passes(0, &f, 0, &g));
    assert_int_equal(frame_l3(&g)[40], 2);
    assert_int_equal(frame_l3(&g)[46] << 8 | frame_l3(&g)[47], 1492);
    f = ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .payload = 4000, .ttl = 12);
    rig_forward(0, &f);
    for (; rig_receive(1, &g); n++) {
        uint8_t *at = frame_l3(&g);
        assert_true(g.n - 14 <= 1500);
        assert_int_equal(label_load(at), ENTRY(20, 0, 11));
        assert_int_equal(label_load(at + 4), ENTRY(21, 0, 11) | ENTRY_BOTTOM);
        assert_int_equal(checksum(at + 8, 20), 0);
        bytes += (at[10] << 8 | at[11]) - 20u;
    }
    assert_int_equal(n, 3);
    assert_int_equal(bytes, 4008);
    assert_int_equal(rig_drops(DROP_IP4_TOO_BIG), 1);
    assert_int_equal(rig_drops(DROP_IP6_TOO_BIG), 1);
}

label_test(an_expired_packet_is_answered_without_labels)
{
    struct frame f, g;

    rig_icmp_rate(1000, 1000);
    rig_route(VR_DEFAULT, "10.0.0.0/8", encap(.via = via, .n = 1, .label_be = {20}));
    rig_route(VR_DEFAULT, "192.0.2.0/24", encap(.via = via, .n = 1, .label_be = {22}));
    f = ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .ttl = 1);
    assert_true(rig_passes(0, &f, 1, &g)); // our own error gets labels like any packet
    assert_int_equal(label_load(frame_l3(&g)), ENTRY(22, 6, 64) | ENTRY_BOTTOM);
    assert_int_equal(frame_l3(&g)[4 + 8], 64);
    assert_int_equal(frame_l3(&g)[4 + 20], 11);
    assert_only_drop(DROP_IP4_TTL, 1);
}

label_test(packets_wait_for_the_neighbor_with_their_labels)
{
    uint32_t hold = rig_nexthop(NEXTHOP_HOLD, out), failed = rig_nexthop(NEXTHOP_FAILED, out);
    struct frame f, g;
    struct rte_mbuf *m;

    rig_icmp_rate(1000, 1000);
    rig_routes(VR_DEFAULT, "10.0.0.0/8", "2001:db8:2::/48",
               encap(.via = hold, .n = 2, .label_be = {30, 31}));
    rig_routes(VR_DEFAULT, "192.0.2.0/24", "2001:db8:1::/48", rig_adjacency(in, 9));
    for (unsigned six = 0; six < 2; six++) {
        f = packet(six);
        rig_forward(0, &f);
        assert_non_null(m = rig_held());
        assert_int_equal(packet_meta(m)->nexthop, hold);
        assert_int_equal(packet_meta(m)->family, LABELS);
        packet_meta(m)->nexthop = via; // as neigh_manager does when it answers
        assert_int_equal(rig_inject(0, m), 0);
        rig_poll();
        assert_true(rig_receive(1, &g));
        assert_labels(&g, &f, 0, 29, ENTRY(30, 0, 29), ENTRY(31, 0, 29));
        rig_forward(0, &f);
        assert_non_null(m = rig_held());
        packet_meta(m)->nexthop = failed;
        assert_int_equal(rig_inject(0, m), 0);
        rig_poll();
        assert_true(rig_receive(0, &g)); // unreachable
        assert_int_equal(frame_l3(&g)[six ? 40 : 20], six ? 1 : 3);
    }
    assert_only_drop(DROP_NEIGH_FAILED, 2);
}

label_test(a_neighbor_that_does_not_answer_is_an_error_like_without_labels)
{
    struct frame f = packet(false), g;

    rig_icmp_rate(1000, 1000);
    rig_route(VR_DEFAULT, "10.0.0.0/8",
              encap(.via = rig_nexthop(NEXTHOP_FAILED, out), .n = 1, .label_be = {30}));
    rig_route(VR_DEFAULT, "192.0.2.0/24", rig_adjacency(in, 9));
    assert_true(rig_passes(0, &f, 0, &g));
    assert_int_equal(frame_l3(&g)[20], 3);
    assert_only_drop(DROP_NEIGH_FAILED, 1);
}

label_test(flows_spread_over_members_with_labels)
{
    uint32_t m[2] = {encap(.via = via, .n = 1, .label_be = {40}),
                     encap(.via = via, .n = 1, .label_be = {41})};
    struct frame f, g;
    unsigned n[2] = {0};

    rig_route(VR_DEFAULT, "10.0.0.0/8", rig_group(m, 2));
    for (uint16_t k = 0; k < 64; k++) {
        f = ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .sport = (uint16_t)(k + 1));
        assert_true(rig_passes(0, &f, 1, &g));
        n[(label_load(frame_l3(&g)) >> 12) - 40]++;
    }
    assert_in_range(n[0], 16, 48);
}

// --- labels are swapped ---

// rfc: 3031 3.13 MUST
// rfc: 3032 2.4.2 MUST
// rfc: 5462 2.1 MUST, only swaps
label_test(a_label_is_swapped_its_class_stays_and_its_ttl_falls)
{
    struct frame f, g;

    for (uint32_t k = 0; k < 64; k++)
        learn(VR_DEFAULT, 100 + k * 16000, encap(.via = via, .n = 1, .label_be = {1048575 - k}));
    for (unsigned six = 0; six < 2; six++) {
        for (uint32_t k = 0; k < 64; k++) {
            f = labeled(packet(six), ENTRY(100 + k * 16000, k % 8, k + 2), ENTRY(5000, 3, 7));
            rig_send(0, &f);
        }
        rig_poll();
        for (uint32_t k = 0; k < 64; k++) {
            assert_true(rig_receive(1, &g));
            f = labeled(packet(six), ENTRY(100 + k * 16000, k % 8, k + 2), ENTRY(5000, 3, 7));
            assert_memory_equal(g.b, neighbor_mac(1), 6);
            assert_labels(&g, &f, 2, 30, ENTRY(1048575 - k, k % 8, k + 1), ENTRY(5000, 3, 7));
        }
    }
    assert_int_equal(rig_counted(in).rx_packets, 128);
    assert_int_equal(rig_counted(out).tx_packets, 128);
}

label_test(a_swapped_label_gets_more_labels_on_top)
{
    struct frame f, g;

    learn(VR_DEFAULT, 100, encap(.via = via, .n = 3, .label_be = {201, 202, 203}));
    f = labeled(packet(false), ENTRY(100, 4, 9));
    assert_true(rig_passes(0, &f, 1, &g));
    assert_labels(&g, &f, 1, 30, ENTRY(201, 4, 8), ENTRY(202, 4, 8), ENTRY(203, 4, 8));
    f = labeled(packet(true), ENTRY(100, 4, 9), ENTRY(77, 1, 3));
    assert_true(rig_passes(0, &f, 1, &g));
    assert_labels(&g, &f, 2, 30, ENTRY(201, 4, 8), ENTRY(202, 4, 8), ENTRY(203, 4, 8),
                  ENTRY(77, 1, 3));
}

label_test(padding_of_short_frames_stays_behind_swapped_labels)
{
    struct frame f = labeled(ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .pad_to = 60),
                             ENTRY(100, 0, 9)),
                 g;

    learn(VR_DEFAULT, 100, encap(.via = via, .n = 1, .label_be = {101}));
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.n, f.n);
}

label_test(swapped_packets_wait_for_the_neighbor)
{
    uint32_t hold = rig_nexthop(NEXTHOP_HOLD, out);
    struct frame f = labeled(packet(false), ENTRY(100, 2, 9)), g;
    struct rte_mbuf *m;

    learn(VR_DEFAULT, 100, encap(.via = hold, .n = 1, .label_be = {101}));
    rig_forward(0, &f);
    assert_non_null(m = rig_held());
    packet_meta(m)->nexthop = via;
    assert_int_equal(rig_inject(0, m), 0);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_labels(&g, &f, 1, 30, ENTRY(101, 2, 8));
}

label_test(labels_come_and_leave_in_vlans)
{
    uint16_t vin = rig_iface(0, 10, VR_DEFAULT), vout = rig_iface(1, 20, VR_DEFAULT);
    struct frame f = labeled(
                     ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .vlan = 10, .to_iface = vin),
                     ENTRY(100, 0, 9)),
                 g;

    learn(VR_DEFAULT, 100, encap(.via = rig_adjacency(vout, 3), .n = 1, .label_be = {101}));
    rig_forward(0, &f);
    assert_only_drop(DROP_MPLS_NOT_ENABLED, 1);
    accept_labels(vin, true);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.b[15], 20);
    assert_int_equal(label_load(frame_l3(&g)), ENTRY(101, 0, 8) | ENTRY_BOTTOM);
    learn(VR_DEFAULT, 100, encap(.via = via, .n = 1, .label_be = {101}));
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(g.n, f.n - 4);
}

// --- labels are taken off ---

// rfc: 3031 3.16 MUST
// rfc: 3443 3.1 MUST, only pops
label_test(the_last_but_one_router_takes_the_label_off)
{
    struct frame f, g;

    learn(VR_DEFAULT, 100, encap(.via = via));
    for (unsigned six = 0; six < 2; six++) {
        model(true, 255);
        f = labeled(packet(six), ENTRY(100, 0, 20)); // packet's 30
        assert_true(rig_passes(0, &f, 1, &g));
        assert_bare(&g, &f, 1, 19);
        f = labeled(packet(six), ENTRY(100, 0, 255)); // came from a pipe
        assert_true(rig_passes(0, &f, 1, &g));
        assert_bare(&g, &f, 1, 29);
        f = labeled(packet(six), ENTRY(100, 0, 20), ENTRY(200, 5, 99)); // the next label shows
        assert_true(rig_passes(0, &f, 1, &g));
        assert_labels(&g, &f, 2, 30, ENTRY(200, 5, 19));
        model(false, 255);
        f = labeled(packet(six), ENTRY(100, 0, 20));
        assert_true(rig_passes(0, &f, 1, &g));
        assert_bare(&g, &f, 1, 29);
        f = labeled(packet(six), ENTRY(100, 0, 20), ENTRY(200, 5, 99));
        assert_true(rig_passes(0, &f, 1, &g));
        assert_labels(&g, &f, 2, 30, ENTRY(200, 5, 98));
    }
    assert_int_equal(rig_drops_all(), 0);
}

label_test(a_label_leads_into_the_lookup_of_a_virtual_router)
{
    uint16_t customer = rig_iface(3, 0, red);
    struct frame f, g;

    learn(VR_DEFAULT, 100, encap(.vr = red));
    rig_routes(red, "10.0.0.0/8", "2001:db8:2::/48", rig_adjacency(customer, 4));
    for (unsigned six = 0; six < 2; six++) {
        f = labeled(packet(six), ENTRY(100, 0, 20));
        assert_true(rig_passes(0, &f, 3, &g));
        assert_memory_equal(g.b, neighbor_mac(4), 6);
        assert_bare(&g, &f, 1, 19);
    }
    f = labeled(ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .options = 4), ENTRY(100, 0, 20));
    assert_true(rig_passes(0, &f, 3, &g)); // a packet that is not plain
    assert_int_equal(rig_counted(in).rx_packets, 3);
    assert_int_equal(rig_counted(in).rx_bytes, 2 * (14 + 4) + 68 + 88 + f.n);
    assert_int_equal(rig_drops_all(), 0);
}

label_test(a_burst_is_popped_into_several_virtual_routers)
{
    struct frame f, g;
    unsigned n = 0;

    learn(VR_DEFAULT, 100, encap(.vr = red));
    learn(VR_DEFAULT, 101, encap(.vr = VR_DEFAULT, .flags = NEXTHOP_ENCAP_PIPE));
    rig_routes(red, "10.0.0.0/8", "2001:db8:2::/48", rig_adjacency(third, 5));
    rig_routes(VR_DEFAULT, "10.0.0.0/8", "2001:db8:2::/48", via);
    for (unsigned k = 0; k < 60; k++) {
        const bool six = k / 2 % 2;
        f = ip_frame(.src = six ? "2001:db8:1::1" : "192.0.2.1",
                     .dst = six ? "2001:db8:2::2" : "10.0.0.2", .ttl = 30,
                     .sport = (uint16_t)(k + 1));
        f = labeled(f, ENTRY(100 + k % 2, 0, 10 + k % 40));
        rig_send(0, &f);
    }
    rig_poll();
    for (uint16_t port = 1; port <= 2; port++)
        for (; rig_receive(port, &g); n++) {
            const uint8_t *ip = frame_l3(&g);
            const bool six = ip[0] >> 4 == 6;
            const unsigned k = load16_host(ip + (six ? 40 : 20)) - 1u, label = 10 + k % 40;
            assert_int_equal(port, k % 2 ? 1 : 2);
            assert_int_equal(ip[six ? 7 : 8], k % 2 || label > 30 ? 29 : label - 1);
            assert_int_equal(six, k / 2 % 2);
            if (!six)
                assert_int_equal(checksum(ip, 20), 0);
        }
    assert_int_equal(n, 60);
}

label_test(a_burst_loses_its_last_labels_on_the_way_to_several_next_hops)
{
    const uint32_t tagged = rig_adjacency(rig_iface(2, 20, VR_DEFAULT), 6);
    struct frame f, g;
    unsigned n = 0;

    learn(VR_DEFAULT, 100, encap(.via = via));
    learn(VR_DEFAULT, 101, encap(.via = tagged, .flags = NEXTHOP_ENCAP_PIPE));
    learn(VR_DEFAULT, 102, encap(.via = via, .n = 1, .label_be = {200}));
    for (unsigned k = 0; k < 60; k++) {
        const bool six = k / 3 % 2;
        f = ip_frame(.src = six ? "2001:db8:1::1" : "192.0.2.1",
                     .dst = six ? "2001:db8:2::2" : "10.0.0.2", .ttl = 30, .payload = 40,
                     .sport = (uint16_t)(k + 1), .options = k % 5 || six ? 0 : 4);
        f = labeled(f, ENTRY(100 + k % 3, 0, 1 + k % 40)); // an expired one in the pipe goes on
        rig_send(0, &f);
    }
    rig_poll();
    for (uint16_t port = 1; port <= 2; port++)
        for (; rig_receive(port, &g); n++) {
            const uint8_t *ip = frame_l3(&g) + (frame_l3(&g)[-2] == 0x88 ? 4 : 0);
            const bool six = ip[0] >> 4 == 6;
            const unsigned k = load16_host(ip + (six ? 40 : (ip[0] & 15) * 4)) - 1u,
                           label = 1 + k % 40, ttl = ip[six ? 7 : 8];
            assert_int_equal(port, k % 3 == 1 ? 2 : 1);
            assert_memory_equal(g.b, neighbor_mac(k % 3 == 1 ? 6 : 1), 6);
            assert_int_equal(ip - g.b, k % 3 ? 18 : 14);
            assert_int_equal(ttl, k % 3 == 2 ? 30 : k % 3 || label > 30 ? 29 : label - 1);
            assert_int_equal(g.n - (unsigned)(ip - g.b), 48 + (six ? 40 : (ip[0] & 15) * 4));
            if (!six)
                assert_int_equal(checksum(ip, (ip[0] & 15) * 4u), 0);
        }
    assert_int_equal(n, 60 - rig_drops_all());
    assert_int_equal(rig_drops_all(), 1); // k = 0: uniform, and the label was to expire
}

label_test(checks_of_a_virtual_router_apply_behind_its_label)
{
    struct frame f, g;

    rig_icmp_rate(1000, 1000);
    learn(VR_DEFAULT, 100, encap(.vr = red));
    rig_route(red, "192.0.2.0/24", rig_adjacency(third, 5));
    f = labeled(packet(false), ENTRY(100, 0, 20));
    assert_true(rig_passes(0, &f, 2, &g)); // no route there: its error takes its routes
    assert_int_equal(frame_l3(&g)[20], 3);
    assert_int_equal(rig_drops(DROP_IP4_NO_ROUTE), 1);
    f = labeled(packet(false), ENTRY(100, 0, 20));
    frame_l3(&f)[4 + 10] ^= 1;
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_IP4_CHECKSUM), 1);
    f = labeled(ip_frame(.src = "127.0.0.1", .dst = "10.0.0.2"), ENTRY(100, 0, 20));
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_IP4_MARTIAN_SRC), 1);
}

// An echo request of LSP ping, whose path ends too early.
// rfc: 8029 2.1 MUST NOT
label_test(an_lsp_ping_is_not_forwarded_behind_its_labels)
{
    struct frame f;

    learn(VR_DEFAULT, 100, encap(.vr = red));
    rig_routes(red, "0.0.0.0/0", "::/0", rig_adjacency(third, 5));
    for (unsigned six = 0; six < 2; six++) {
        f = labeled(ip_frame(.src = six ? "2001:db8::1" : "192.0.2.1",
                             .dst = six ? "::ffff:127.1.2.3" : "127.1.2.3", .dport = 3503),
                    ENTRY(100, 0, 20));
        rig_forward(0, &f);
        assert_int_equal(rig_drops(six ? DROP_IP6_MARTIAN_DST : DROP_IP4_MARTIAN_DST), 1);
    }
    assert_int_equal(rig_discard(2), 0);
}

// rfc: 3032 2.1 MUST, only explicit null
// rfc: 4182 2 MUST
label_test(explicit_null_ends_here)
{
    struct frame f, g;

    rig_routes(VR_DEFAULT, "10.0.0.0/8", "2001:db8:2::/48", via);
    learn(VR_DEFAULT, 100, encap(.via = via, .n = 1, .label_be = {101}));
    for (unsigned six = 0; six < 2; six++) {
        f = labeled(packet(six), ENTRY(six ? 2 : 0, 0, 20));
        assert_true(rig_passes(0, &f, 1, &g));
        assert_bare(&g, &f, 1, 19);
        f = labeled(packet(six), ENTRY(0, 0, 20), ENTRY(100, 0, 9));
        assert_true(rig_passes(0, &f, 1, &g));
        assert_labels(&g, &f, 2, 30, ENTRY(101, 0, 8));
    }
}

label_test(a_packet_for_us_goes_up_as_it_came)
{
    struct frame f, g;
    uint16_t iface;

    rig_route(red, "10.0.0.2/32", rig_nexthop(NEXTHOP_LOCAL, 0));
    learn(VR_DEFAULT, 100, encap(.vr = red));
    f = labeled(packet(false), ENTRY(100, 0, 40));
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, &iface));
    assert_int_equal(iface, in);
    assert_int_equal(g.n, f.n);
    assert_memory_equal(g.b, f.b, f.n);
    f = labeled(
        ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .ttl = 30, .proto = 6, .dport = 179),
        ENTRY(0, 0, 40), ENTRY(100, 0, 40)); // BGP in its class
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_ROUTING, &g, &iface));
    assert_memory_equal(g.b, f.b, f.n);
    f = labeled(packet(false), ENTRY(1, 0, 40), ENTRY(100, 0, 40)); // router alert
    rig_forward(0, &f);
    assert_true(rig_punted(PUNT_OTHER, &g, &iface));
    assert_memory_equal(g.b, f.b, f.n);
}

// --- entropy labels, hashing ---

static void three_labels_for(uint32_t label)
{
    uint32_t m[3];

    for (unsigned k = 0; k < 3; k++)
        m[k] = encap(.via = via, .n = 1, .label_be = {300 + k});
    learn(VR_DEFAULT, label, rig_group(m, 3));
}

static unsigned labels_used(struct frame (*flow)(unsigned k))
{
    unsigned used = 0;
    struct frame f, g;

    for (unsigned k = 0; k < 100; k++) {
        f = flow(k);
        assert_true(rig_passes(0, &f, 1, &g));
        used |= 1u << ((label_load(frame_l3(&g)) >> 12) - 300);
    }
    return (unsigned)__builtin_popcount(used);
}

static struct frame other_port(unsigned k)
{
    return labeled(ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .sport = (uint16_t)(k + 1)),
                   ENTRY(100, 0, 9), ENTRY(500, 0, 9));
}

static struct frame other_port6(unsigned k)
{
    return labeled(ip_frame(.src = "2001:db8::1", .dst = "2001:db8::2", .sport = (uint16_t)(k + 1)),
                   ENTRY(100, 0, 9));
}

static struct frame other_entropy(unsigned k)
{
    return labeled(packet(false), ENTRY(100, 0, 9), ENTRY(7, 0, 0), ENTRY(1000 + k, 0, 0));
}

static struct frame same_entropy(unsigned k)
{
    return labeled(ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .sport = (uint16_t)(k + 1)),
                   ENTRY(100, 0, 9), ENTRY(7, 0, 0), ENTRY(1000, 0, 0));
}

static struct frame ethernet_below(unsigned k)
{
    struct frame f = labeled(packet(false), ENTRY(100, 0, 9), ENTRY(600 + k, 0, 9));

    memset(frame_l3(&f) + 8, 0, 12);
    return f;
}

static struct frame too_deep(unsigned k)
{
    return labeled(packet(false), ENTRY(100, 0, 9), 9 << 12, 9 << 12, 9 << 12, 9 << 12, 9 << 12,
                   9 << 12, 9 << 12, ENTRY(600 + k, 0, 9));
}

// rfc: 6790 4.3 MAY
// rfc: 3031 3.11 MAY
label_test(flows_below_labels_spread_and_the_entropy_label_decides)
{
    three_labels_for(100);
    assert_int_equal(labels_used(other_port), 3);
    assert_int_equal(labels_used(other_port6), 3);
    assert_int_equal(labels_used(other_entropy), 3);
    assert_int_equal(labels_used(same_entropy), 1);
    assert_int_equal(labels_used(ethernet_below), 3);
    assert_int_equal(labels_used(too_deep), 1); // beyond what is read
}

// rfc: 6790 4.1 MUST
label_test(an_entropy_label_ends_with_its_indicator)
{
    struct frame f, g;

    learn(VR_DEFAULT, 100, encap(.vr = VR_DEFAULT));
    learn(VR_DEFAULT, 101, encap(.via = via, .n = 1, .label_be = {102}));
    rig_routes(VR_DEFAULT, "10.0.0.0/8", "2001:db8:2::/48", via);
    for (unsigned six = 0; six < 2; six++) {
        f = labeled(packet(six), ENTRY(100, 0, 20), ENTRY(7, 0, 20), ENTRY(9999, 0, 0));
        assert_true(rig_passes(0, &f, 1, &g));
        assert_bare(&g, &f, 3, 19);
        f = labeled(packet(six), ENTRY(7, 0, 20), ENTRY(9999, 0, 0), ENTRY(101, 0, 8));
        assert_true(rig_passes(0, &f, 1, &g));
        assert_labels(&g, &f, 3, 30, ENTRY(102, 0, 7));
    }
}

// --- faults ---

// rfc: 3031 3.18 MUST
label_test(each_fault_has_its_drop)
{
    struct {
        struct frame f;
        enum drop_reason why;
    } t[] = {
        {labeled(packet(false), ENTRY(999, 0, 9)), DROP_MPLS_UNKNOWN_LABEL},
        {labeled(packet(false), ENTRY(1048575, 0, 9)), DROP_MPLS_UNKNOWN_LABEL},
        {labeled(packet(false), ENTRY(3, 0, 9)), DROP_MPLS_RESERVED},
        {labeled(packet(false), ENTRY(13, 0, 9)), DROP_MPLS_RESERVED},
        {labeled(packet(false), ENTRY(7, 0, 9)), DROP_MPLS_STACK},
        {labeled(packet(false), ENTRY(100, 0, 1)), DROP_MPLS_TTL},
        {labeled(packet(false), ENTRY(100, 0, 0)), DROP_MPLS_TTL},
        {labeled(packet(false), ENTRY(0, 0, 1)), DROP_MPLS_TTL},
        {labeled(packet(false), ENTRY(103, 0, 1)), DROP_MPLS_TTL},
        {labeled(packet(false), ENTRY(104, 0, 5)), DROP_BLACKHOLE},
        {labeled(packet(false), ENTRY(105, 0, 5)), DROP_ECMP_EMPTY},
        {labeled(packet(false), ENTRY(106, 0, 5)), DROP_NEIGH_FAILED},
    };

    learn(VR_DEFAULT, 100, encap(.via = via, .n = 1, .label_be = {101}));
    learn(VR_DEFAULT, 103, encap(.vr = VR_DEFAULT));
    learn(VR_DEFAULT, 104, rig_nexthop(NEXTHOP_BLACKHOLE, 0));
    learn(VR_DEFAULT, 105, rig_group(NULL, 0));
    learn(VR_DEFAULT, 106,
          encap(.via = rig_nexthop(NEXTHOP_FAILED, out), .n = 1, .label_be = {101}));
    for (unsigned k = 0; k < sizeof t / sizeof *t; k++) {
        uint64_t before = rig_drops(t[k].why);
        rig_forward(0, &t[k].f);
        assert_int_equal(rig_drops(t[k].why), before + 1);
        assert_int_equal(rig_drops_all(), k + 1);
    }
    assert_int_equal(rig_discard(1), 0);
}

label_test(a_stack_without_an_end_is_dropped)
{
    struct frame f = packet(false);
    uint8_t *at = frame_l3(&f);
    uint32_t entry[20];

    learn(VR_DEFAULT, 103, encap(.vr = VR_DEFAULT));
    for (unsigned k = 0; k < 20; k++)
        entry[k] = ENTRY(103, 0, 9);
    f = with_labels(f, 20, entry);
    rig_forward(0, &f);
    assert_only_drop(DROP_MPLS_STACK, 1);
    for (unsigned n = 0; n < 12; n++) { // the frame ends within its labels
        f = labeled(packet(false), ENTRY(103, 0, 9), ENTRY(103, 0, 9), ENTRY(103, 0, 9));
        f.b[16] &= 0xfe;
        f.b[20] &= 0xfe;
        f.n = 14 + n;
        rig_forward(0, &f);
        assert_int_equal(rig_drops(DROP_MPLS_TRUNCATED), n + 1);
    }
    at = frame_l3(&f);
    f = labeled(packet(false), ENTRY(103, 0, 9));
    at[4] = 0x10; // neither IPv4 nor IPv6
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_MPLS_PAYLOAD), 1);
}

label_test(labels_are_accepted_only_where_the_interface_says_so)
{
    struct frame f = labeled(packet(false), ENTRY(100, 0, 9)), g;

    learn(VR_DEFAULT, 100, encap(.via = via, .n = 1, .label_be = {101}));
    accept_labels(in, false);
    rig_forward(0, &f);
    assert_only_drop(DROP_MPLS_NOT_ENABLED, 1);
    accept_labels(in, true);
    assert_true(rig_passes(0, &f, 1, &g));
    memcpy(f.b, broadcast_mac, 6);
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_ETHER_BROADCAST), 1);
    f = labeled(packet(false), ENTRY(100, 0, 9));
    f.b[13] = 0x48; // upstream-assigned labels: like Linux, no
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_ETHER_TYPE_UNKNOWN), 1);
}

// --- ICMP errors ---

// Checks the extension of an ICMP error: these entries, as the packet had them.
static void assert_stack_told(const uint8_t *icmp, unsigned units, unsigned unit, unsigned n,
                              const uint32_t *entry)
{
    const uint8_t *ext = icmp + 8 + units * unit;

    assert_true(units * unit >= 128);
    assert_int_equal(ext[0], 0x20);
    assert_int_equal(checksum(ext, 8 + 4 * n), 0);
    assert_int_equal(ext[4] << 8 | ext[5], 4 + 4 * n);
    assert_int_equal(ext[6], 1);
    assert_int_equal(ext[7], 1);
    for (unsigned k = 0; k < n; k++)
        assert_int_equal(label_load(ext + 8 + 4 * k), entry[k] | (k == n - 1 ? ENTRY_BOTTOM : 0));
}

// rfc: 3032 2.3.2 MAY
// rfc: 4950 5 MUST
label_test(an_expired_packet_is_answered_along_its_path_with_its_labels)
{
    const uint32_t came[] = {ENTRY(100, 3, 1), ENTRY(500, 0, 7)};
    struct frame f, g;

    rig_icmp_rate(1000, 1000);
    learn(VR_DEFAULT, 100, encap(.via = via, .n = 2, .label_be = {201, 202}));
    for (unsigned six = 0; six < 2; six++) {
        f = with_labels(packet(six), 2, came);
        assert_true(rig_passes(0, &f, 1, &g));
        uint8_t *at = frame_l3(&g), *ip = at + 12, *icmp = ip + (six ? 40 : 20);
        assert_int_equal(label_load(at), ENTRY(201, 3, 255));
        assert_int_equal(label_load(at + 4), ENTRY(202, 3, 255));
        assert_int_equal(label_load(at + 8), ENTRY(500, 0, 255) | ENTRY_BOTTOM);
        assert_int_equal(icmp[0], six ? 3 : 11);
        assert_int_equal(icmp[1], 0);
        assert_int_equal(ip[six ? 7 : 8], 64);
        assert_memory_equal(six ? ip + 24 : ip + 16, six ? f.b + 14 + 8 + 8 : f.b + 14 + 8 + 12,
                            six ? 16 : 4);
        assert_stack_told(icmp, icmp[six ? 4 : 5], six ? 8 : 4, 2, came);
        assert_memory_equal(icmp + 8, f.b + 14 + 8, 20); // the quote begins at the IP header
        if (six)
            assert_int_equal(checksum_finish(checksum_add(
                                 checksum_pseudo6(ip + 8, ip + 24, g.n - 14 - 12 - 40, 58), icmp,
                                 g.n - 14 - 12 - 40)),
                             0);
        else
            assert_int_equal(checksum(icmp, g.n - 14 - 12 - 20), 0);
    }
    assert_only_drop(DROP_MPLS_TTL, 2);
    learn(VR_DEFAULT, 100, encap(.via = via)); // the next label goes on
    f = with_labels(packet(false), 2, came);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(label_load(frame_l3(&g)), ENTRY(500, 0, 255) | ENTRY_BOTTOM);
    assert_stack_told(frame_l3(&g) + 4 + 20, frame_l3(&g)[4 + 20 + 5], 4, 2, came);
}

// rfc: 4950 5 MUST
label_test(an_error_tells_the_whole_stack_although_labels_above_have_ended)
{
    static const struct {
        unsigned n;
        uint32_t came[4];
    } t[] = {{3, {ENTRY(100, 2, 9), ENTRY(101, 3, 1), ENTRY(500, 0, 7)}},
             {4, {ENTRY(0, 0, 9), ENTRY(100, 0, 9), ENTRY(101, 0, 1), ENTRY(500, 0, 7)}},
             {4, {ENTRY(7, 0, 9), ENTRY(9999, 0, 0), ENTRY(101, 0, 1), ENTRY(500, 0, 7)}},
             {3, {ENTRY(100, 0, 9), ENTRY(102, 0, 9), ENTRY(500, 0, 1)}},
             {3, {ENTRY(100, 0, 9), ENTRY(103, 0, 1), ENTRY(500, 0, 7)}},
             {3, {ENTRY(100, 0, 9), ENTRY(100, 0, 9), ENTRY(100, 0, 1)}}};
    struct frame f, g;

    rig_icmp_rate(1000, 1000);
    learn(VR_DEFAULT, 100, encap(.vr = VR_DEFAULT));
    learn(VR_DEFAULT, 101, encap(.via = via, .n = 1, .label_be = {201}));
    learn(VR_DEFAULT, 102, encap(.via = via));
    learn(VR_DEFAULT, 103, encap(.via = via, .n = 3, .label_be = {201, 202, 203}));
    rig_routes(VR_DEFAULT, "192.0.2.0/24", "2001:db8:1::/48", via);
    for (unsigned k = 0; k < 2 * sizeof t / sizeof *t; k++) {
        const unsigned six = k & 1;
        f = with_labels(packet(six), t[k / 2].n, t[k / 2].came);
        assert_true(rig_passes(0, &f, 1, &g));
        uint8_t *ip = frame_l3(&g);
        if (ip[-2] == 0x88)
            while (!(ip += 4, ip[-2] & 1))
                ;
        uint8_t *icmp = ip + (six ? 40 : 20);
        assert_int_equal(icmp[0], six ? 3 : 11);
        assert_stack_told(icmp, icmp[six ? 4 : 5], six ? 8 : 4, t[k / 2].n, t[k / 2].came);
    }
    assert_only_drop(DROP_MPLS_TTL, 2 * sizeof t / sizeof *t);
    const uint32_t came[] = {ENTRY(100, 0, 9), ENTRY(101, 0, 9)};
    f = with_labels(
        ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .payload = 1490, .fragment = 0x4000), 2,
        came);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_stack_told(frame_l3(&g) + 4 + 20, frame_l3(&g)[4 + 20 + 5], 4, 2, came);
}

label_test(an_expired_packet_is_answered_by_the_virtual_router_where_its_labels_end)
{
    const uint32_t came[] = {ENTRY(100, 0, 1)};
    struct frame f, g;

    rig_icmp_rate(1000, 1000);
    learn(VR_DEFAULT, 100, encap(.vr = red));
    rig_routes(red, "192.0.2.0/24", "2001:db8:1::/48", rig_adjacency(third, 5));
    router_role(ROLE_RIB_MANAGER);
    memcpy(vr_get(red)->addr6, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x9", 16);
    for (unsigned six = 0; six < 2; six++) {
        f = with_labels(packet(six), 1, came);
        assert_true(rig_passes(0, &f, 2, &g));
        uint8_t *ip = frame_l3(&g), *icmp = ip + (six ? 40 : 20);
        assert_int_equal(icmp[0], six ? 3 : 11);
        assert_stack_told(icmp, icmp[six ? 4 : 5], six ? 8 : 4, 1, came);
    }
    assert_only_drop(DROP_MPLS_TTL, 2);
}

label_test(errors_about_labeled_packets_obey_the_rules)
{
    struct frame f;

    learn(VR_DEFAULT, 100, encap(.via = via, .n = 1, .label_be = {201}));
    f = labeled(packet(false), ENTRY(100, 0, 1)); // no rate
    rig_forward(0, &f);
    rig_icmp_rate(1000, 1000);
    f = labeled(ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .proto = 1,
                         .l4 = "\3\1\0\0\0\0\0\0", .l4_len = 8),
                ENTRY(100, 0, 1)); // about an ICMP error
    rig_forward(0, &f);
    f = labeled(ip_frame(.src = "224.0.0.1", .dst = "10.0.0.2"), ENTRY(100, 0, 1));
    rig_forward(0, &f);
    f = labeled(packet(false), ENTRY(100, 0, 1));
    frame_l3(&f)[4] = 0x10; // not IP
    rig_forward(0, &f);
    assert_int_equal(rig_discard(1), 0);
    assert_only_drop(DROP_MPLS_TTL, 4);
}

// rfc: 3032 3.4 MUST
// rfc: 3032 3.5 MUST
label_test(too_large_packets_are_fragmented_or_answered_below_their_labels)
{
    struct frame f, g;
    unsigned n = 0, bytes = 0;

    rig_icmp_rate(1000, 1000);
    learn(VR_DEFAULT, 100, encap(.via = via, .n = 2, .label_be = {201, 202}));
    f = labeled(ip_frame(.src = "192.0.2.1", .dst = "10.0.0.2", .payload = 1470, .ttl = 40),
                ENTRY(100, 1, 20), ENTRY(500, 0, 7));
    rig_forward(0, &f);
    for (; rig_receive(1, &g); n++) {
        uint8_t *at = frame_l3(&g);
        assert_true(g.n <= 1514);
        assert_int_equal(label_load(at), ENTRY(201, 1, 19));
        assert_int_equal(label_load(at + 4), ENTRY(202, 1, 19));
        assert_int_equal(label_load(at + 8), ENTRY(500, 0, 7) | ENTRY_BOTTOM);
        assert_int_equal(checksum(at + 12, 20), 0);
        assert_int_equal(at[12 + 8], 40);
        bytes += (at[14] << 8 | at[15]) - 20u;
    }
    assert_int_equal(n, 2);
    assert_int_equal(bytes, 1478);
    learn(VR_DEFAULT, 100, encap(.via = via, .n = 1, .label_be = {201}));
    for (unsigned six = 0; six < 2; six++) {
        f = labeled(ip_frame(.src = six ? "2001:db8::1" : "192.0.2.1",
                             .dst = six ? "2001:db8::2" : "10.0.0.2", .payload = 1490,
                             .fragment = 0x4000),
                    ENTRY(100, 1, 20));
        assert_true(rig_passes(0, &f, 1, &g));
        uint8_t *at = frame_l3(&g), *icmp = at + 4 + (six ? 40 : 20);
        assert_int_equal(label_load(at), ENTRY(201, 1, 255) | ENTRY_BOTTOM);
        assert_int_equal(icmp[0], six ? 2 : 3);
        assert_int_equal(icmp[1], six ? 0 : 4);
        assert_int_equal(icmp[6] << 8 | icmp[7], 1496);
        if (six)
            assert_int_equal(icmp[4] << 8 | icmp[5], 0); // no extension
        else
            assert_stack_told(icmp, icmp[5], 4, 1, (uint32_t[]){ENTRY(100, 1, 20)});
    }
    assert_only_drop(DROP_MPLS_TOO_BIG, 2);
}

// --- beside other features ---

static int clean_tunnels(void **state)
{
    tunnel_table_fini();
    return clean(state);
}

static uint16_t gre_to(const char *local, const char *remote)
{
    struct tunnel_settings s = {.id = {.kind = TUNNEL_GRE, .family = IP4, .vr = VR_DEFAULT},
                                .ttl = 64};
    struct ip_addr at;

    assert_int_equal(ip_parse(local, &at), 0);
    memcpy(s.id.local, at.b, 4);
    assert_int_equal(ip_parse(remote, &at), 0);
    memcpy(s.id.remote, at.b, 4);
    uint16_t id = router_tunnel_new(&s, VR_DEFAULT, rig_adjacency(out, 7));
    assert_int_not_equal(id, 0);
    return id;
}

// rfc: 4023 3 MUST, only GRE
unit_test_of(labels_pass_a_gre_tunnel_both_ways, rig_setup, clean_tunnels)
{
    const uint16_t end = gre_to("203.0.113.1", "203.0.113.2");
    struct frame f = labeled(packet(false), ENTRY(100, 5, 9)), g;

    learn(VR_DEFAULT, 100,
          encap(.via = router_adjacency_new(end, iface_get(end)->mac), .n = 1, .label_be = {101}));
    assert_true(rig_passes(0, &f, 1, &g));
    uint8_t *ip = frame_l3(&g);
    assert_true(frame_is_ip4_sound(&g));
    assert_int_equal(ip[9], 47);
    assert_int_equal(ip[1], 5 << 5);
    assert_int_equal(ip[22] << 8 | ip[23], 0x8847);
    assert_int_equal(label_load(ip + 24), ENTRY(101, 5, 8) | ENTRY_BOTTOM);
    // The same frame comes back from the other end.
    rig_route(VR_DEFAULT, "203.0.113.1/32", rig_nexthop(NEXTHOP_LOCAL, 0));
    learn(VR_DEFAULT, 101, encap(.via = via, .n = 1, .label_be = {102}));
    memcpy(g.b, iface_get(in)->mac, 6);
    for (unsigned k = 0; k < 4; k++) {
        uint8_t t = ip[12 + k];
        ip[12 + k] = ip[16 + k];
        ip[16 + k] = t;
    }
    rig_forward(0, &g);
    assert_only_drop(DROP_MPLS_NOT_ENABLED, 1);
    accept_labels(end, true);
    rig_forward(0, &g);
    assert_true(rig_receive(1, &g));
    assert_labels(&g, &f, 1, 30, ENTRY(102, 5, 7));
}

label_test(each_label_is_counted_while_next_hops_are)
{
    uint32_t a = encap(.via = via, .n = 1, .label_be = {101}),
             b = encap(.via = via, .n = 2, .label_be = {102, 103});
    struct frame f = labeled(packet(false), ENTRY(100, 0, 9)), g;

    learn(VR_DEFAULT, 100, a);
    rig_route(VR_DEFAULT, "10.0.0.0/8", b);
    router_role(ROLE_CONTROL);
    assert_int_equal(nexthop_count_set(true), 0);
    assert_true(rig_passes(0, &f, 1, &g));
    f = packet(false);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_int_equal(nexthop_count_sum(a).packets, 1);
    assert_int_equal(nexthop_count_sum(b).packets, 1);
    assert_int_equal(nexthop_count_sum(b).bytes, g.n);
    assert_int_equal(nexthop_count_sum(via).packets, 0);
    router_role(ROLE_CONTROL);
    assert_int_equal(nexthop_count_set(false), 0);
}

static const struct packet_trace *explained(const struct frame *f)
{
    static struct {
        struct packet_trace trace;
        uint8_t room[8192];
    } space;

    packet_trace_init(&space.trace, sizeof space.room, 2048);
    router_role(ROLE_CONTROL);
    assert_int_equal(forwarder_explain(0, f->b, f->n, NULL, &space.trace), 0);
    return &space.trace;
}

static int clean_explain(void **state)
{
    router_role(ROLE_CONTROL);
    forwarder_explain_fini();
    return clean(state);
}

unit_test_of(explain_shows_the_labels_stage_and_what_follows, rig_setup, clean_explain)
{
    struct frame f = labeled(packet(false), ENTRY(100, 0, 9)), g;

    learn(VR_DEFAULT, 100, encap(.via = via, .n = 1, .label_be = {101}));
    const struct packet_trace *p = explained(&f);
    assert_int_equal(p->n_steps, 3);
    assert_string_equal(p->step[1].stage, "labels");
    assert_int_equal(p->step[1].family, 0);
    assert_int_equal(p->step[1].ttl, 9);
    assert_string_equal(p->step[2].stage, "ether_out");
    assert_int_equal(p->step[2].end, TRACED_SENT);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_memory_equal(p->bytes + p->frame[0].at, g.b, g.n);
    f = labeled(packet(false), ENTRY(100, 0, 1));
    p = explained(&f);
    assert_int_equal(p->step[1].drop, DROP_MPLS_TTL);
    assert_int_equal(p->step[1].end, TRACED_DROPPED);
    assert_int_equal(p->step[1].icmp, TRACED_ICMP_LIMITED);
    rig_icmp_rate(1000, 1000);
    p = explained(&f);
    assert_int_equal(p->step[1].end, TRACED_DROPPED);
    assert_int_equal(p->step[1].icmp, TRACED_ICMP_SENT);
    assert_int_equal(p->step[1].icmp_type, 11);
    assert_int_equal(p->step[1].n_frames, 1);
    learn(VR_DEFAULT, 100, encap(.vr = VR_DEFAULT));
    rig_route(VR_DEFAULT, "10.0.0.0/8", encap(.via = via, .n = 1, .label_be = {7777}));
    f = labeled(packet(false), ENTRY(100, 0, 9));
    p = explained(&f);
    assert_string_equal(p->step[1].stage, "labels");
    assert_string_equal(p->step[2].stage, "ip4_fwd");
    assert_int_equal(p->step[2].lookup.kind, NEXTHOP_ENCAP);
    assert_int_equal(p->step[2].end, TRACED_SENT);
    assert_true(rig_passes(0, &f, 1, &g));
    assert_memory_equal(p->bytes + p->frame[0].at, g.b, g.n);
}

label_test(the_source_is_looked_up_behind_the_label_and_may_lead_into_one)
{
    struct frame f = labeled(packet(false), ENTRY(100, 0, 9)), g;

    learn(VR_DEFAULT, 100, encap(.vr = red));
    rig_route(red, "10.0.0.0/8", rig_adjacency(third, 5));
    router_role(ROLE_CONTROL);
    iface_get(in)->policy.urpf[0] = URPF_STRICT;
    iface_set_flags(iface_get(in), IFACE_URPF4, IFACE_URPF4);
    rig_forward(0, &f);
    assert_only_drop(DROP_URPF_SOURCE, 1);
    rig_route(red, "192.0.2.0/24", encap(.via = via, .n = 1, .label_be = {200}));
    rig_forward(0, &f);
    assert_int_equal(rig_drops(DROP_URPF_INTERFACE), 1);
    rig_route(red, "192.0.2.0/24", encap(.via = rig_adjacency(in, 9), .n = 1, .label_be = {200}));
    assert_true(rig_passes(0, &f, 2, &g));
}

// Stacks of any depth, with labels of each meaning: nothing is lost, nothing is read beyond the
// packet (AddressSanitizer; tests/fuzz changes frames as well).
label_test(random_stacks_leave_the_ledger_at_zero)
{
    uint32_t entry[20], seed = 1;
    static struct frame f;

    rig_icmp_rate(1000000, 1000000);
    rig_routes(VR_DEFAULT, "10.0.0.0/8", "2001:db8:2::/48",
               encap(.via = via, .n = 8, .label_be = {50, 51, 52, 53, 54, 55, 56, 57}));
    learn(VR_DEFAULT, 16, encap(.via = via, .n = 1, .label_be = {101}));
    learn(VR_DEFAULT, 17, encap(.via = via, .n = 8, .label_be = {101, 2, 3 + 16, 4 + 16}));
    learn(VR_DEFAULT, 18, encap(.via = via));
    learn(VR_DEFAULT, 19, encap(.vr = VR_DEFAULT));
    learn(VR_DEFAULT, 20, encap(.vr = red));
    learn(VR_DEFAULT, 21, rig_group((uint32_t[]){encap(.via = via, .n = 1, .label_be = {9})}, 1));
    for (unsigned k = 0; k < 30000; k++) {
        unsigned n = 1 + (seed >> 8) % 20;
        for (unsigned i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            entry[i] = (seed >> 12 & 3 ? 16 + (seed >> 14) % 6 : (seed >> 14) % 16) << 12 |
                       (seed >> 24 & 7) << 9 | (seed >> 27) % 4;
        }
        f = ip_frame(.src = seed & 1 ? "2001:db8::1" : "192.0.2.1",
                     .dst = seed & 1 ? "2001:db8:2::2" : "10.0.0.2", .ttl = 1 + k % 3,
                     .payload = seed >> 20 & 1 ? 1440 + k % 64 : k % 40);
        f = with_labels(f, n, entry);
        rig_send_mbuf(0, 0, rig_mbuf_before(&f, k % 5 ? 2048 : 700, (uint8_t)seed));
        if (k % 16 == 15)
            rig_poll();
        if (k % 64 == 63) {
            struct frame g;
            for (unsigned c = 0; c < PUNT_CLASS_N; c++)
                while (rig_punted(c, &g, NULL))
                    ;
            rig_discard(1);
            rig_discard(2);
        }
    }
    rig_poll();
    rig_discard(1);
    assert_true(rig_drops(DROP_MPLS_STACK) && rig_drops(DROP_MPLS_TTL));
}
