// SPDX-License-Identifier: BSD-3-Clause
// metalink_test.c - packets between virtual routers inside the forwarder
#include "acl_fixture.h"
#include "harness.h"

#include <rte_mbuf.h>
#include <stdlib.h>

#include "table/metalink.h"
#include "table/packet_trace.h"

#define CHAIN_MAX 10

static uint16_t vr[CHAIN_MAX], end[CHAIN_MAX][2]; // end[k]: from vr[k] to vr[k + 1]
static uint16_t in, out;

static const struct {
    const char *src, *dst, *all;
} any[2] = {{"192.0.2.1", "198.51.100.1", "0.0.0.0/0"}, {"2001:db8::1", "2001:db8:1::1", "::/0"}};

static uint32_t over(uint16_t from, uint16_t to)
{
    return router_adjacency_new(from, iface_get(to)->mac);
}

static void route_all(uint16_t of, uint32_t nexthop)
{
    for (unsigned six = 0; six < 2; six++)
        rig_route(of, any[six].all, nexthop);
}

// A chain of n virtual routers: packets that enter the first by port 0 leave the last by port 1.
// Packets to 192.0.2.0/24 find their way back.
static void chain(unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        vr[k] = rig_vr((char[3]){'v', (char)('0' + k), 0});
    in = rig_iface(0, 0, vr[0]);
    out = rig_iface(1, 0, vr[n - 1]);
    uint32_t back = rig_adjacency(in, 7);
    rig_route(vr[0], "192.0.2.0/24", back);
    rig_route(vr[0], "2001:db8::/64", back);
    for (unsigned k = 0; k + 1 < n; k++) {
        assert_int_equal(router_metalink_new(k, (uint16_t[2]){vr[k], vr[k + 1]}, end[k]), 0);
        route_all(vr[k], over(end[k][0], end[k][1]));
        back = over(end[k][1], end[k][0]);
        rig_route(vr[k + 1], "192.0.2.0/24", back);
        rig_route(vr[k + 1], "2001:db8::/64", back);
        for (unsigned e = 0; e < 2; e++) {
            memcpy(&iface_get(end[k][e])->addr4, (uint8_t[4]){10, 254, (uint8_t)k, (uint8_t)e}, 4);
            memcpy(iface_get(end[k][e])->addr6,
                   (uint8_t[16]){0x20, 1, 0xd, 0xb8, 0, 0xfe, [15] = 1}, 16);
        }
    }
    route_all(vr[n - 1], rig_adjacency(out, 9));
}

static struct frame packet(unsigned six, uint8_t ttl, unsigned payload, uint16_t fragment)
{
    return ip_frame(.src = any[six].src, .dst = any[six].dst, .ttl = ttl, .payload = payload,
                    .fragment = fragment, .to_iface = in);
}

static void send_packet(unsigned six, uint8_t ttl, unsigned payload, uint16_t fragment)
{
    struct frame f = packet(six, ttl, payload, fragment);

    rig_forward(0, &f);
}

static uint8_t ttl_of_frame(struct frame *f)
{
    uint8_t *ip = frame_l3(f);

    return ip[0] >> 4 == 4 ? ip[8] : ip[7];
}

static struct counter_iface count(uint16_t iface)
{
    struct counter_iface c;

    counter_sum_iface(iface, &c);
    return c;
}

path_test(a_packet_comes_out_at_the_other_end)
{
    chain(2);
    for (unsigned six = 0; six < 2; six++) {
        struct frame f = packet(six, 64, 40, 0), g;
        assert_true(rig_passes(0, &f, 1, &g));
        assert_int_equal(g.n, f.n);
        assert_memory_equal(g.b, neighbor_mac(9), 6);
        assert_int_equal(ttl_of_frame(&g), 62); // once per virtual router
        assert_true(six || frame_is_ip4_sound(&g));
    }
    assert_int_equal(count(end[0][0]).tx_packets, 2);
    assert_int_equal(count(end[0][1]).rx_packets, 2);
    assert_int_equal(count(end[0][0]).tx_bytes, count(end[0][1]).rx_bytes);
    assert_int_equal(count(end[0][0]).rx_packets + count(end[0][1]).tx_packets, 0);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_burst_stays_in_order_over_eight_hops)
{
    chain(9);
    for (unsigned i = 0; i < 200; i++) {
        struct frame f = ip_frame(.src = any[i & 1].src, .dst = any[i & 1].dst,
                                  .sport = (uint16_t)(i + 1), .to_iface = in);
        rig_send(0, &f);
    }
    rig_poll();
    struct frame g;
    unsigned next[2] = {1, 2}, n = 0;
    for (; rig_receive(1, &g); n++) {
        uint8_t *ip = frame_l3(&g);
        bool six = ip[0] >> 4 == 6;
        uint8_t *udp = ip + (six ? 40 : 20);
        assert_int_equal(udp[0] << 8 | udp[1], next[six]);
        assert_int_equal(ttl_of_frame(&g), 64 - 9);
        next[six] += 2;
    }
    assert_int_equal(n, 200);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(the_ninth_hop_is_dropped_by_name)
{
    chain(10);
    for (unsigned six = 0; six < 2; six++)
        send_packet(six, 64, 40, 0);
    assert_only_drop(DROP_METALINK_HOPS, 2);
    assert_int_equal(count(end[8][0]).tx_packets, 0); // it did not leave
    assert_int_equal(count(end[8][0]).drop_packets, 2);
    assert_int_equal(rig_discard(1), 0);
}

path_test(a_loop_of_virtual_routers_ends)
{
    chain(2);
    route_all(vr[1], over(end[0][1], end[0][0]));
    for (unsigned i = 0; i < 100; i++) {
        struct frame f = packet(i & 1, 64, 40, 0);
        rig_send(0, &f);
    }
    rig_poll();
    assert_only_drop(DROP_METALINK_HOPS, 100);
}

// The error starts with a hop count of 0, so it can return from anywhere.
path_test(a_ttl_that_ends_behind_eight_hops_is_told_to_the_sender)
{
    chain(9);
    rig_icmp_rate(1000, 1000);
    for (unsigned six = 0; six < 2; six++) {
        struct frame g;
        send_packet(six, 9, 40, 0);
        assert_true(rig_receive(0, &g));
        assert_memory_equal(g.b, neighbor_mac(7), 6);
        assert_int_equal(frame_l3(&g)[six ? 40 : 20], six ? 3 : 11); // time exceeded
    }
    assert_int_equal(rig_drops(DROP_IP4_TTL), 1);
    assert_int_equal(rig_drops(DROP_IP6_HOP_LIMIT), 1);
    assert_int_equal(rig_drops_all(), 2);
}

path_test(a_packet_larger_than_a_metalink_is_fragmented_or_told_of)
{
    chain(3);
    rig_icmp_rate(1000, 1000);
    iface_get(end[1][0])->mtu = iface_get(end[1][1])->mtu = 1280;
    route_all(vr[1], over(end[1][0], end[1][1]));
    struct frame g;
    send_packet(0, 64, 1400, 0x4000);
    assert_true(rig_receive(0, &g));
    uint8_t *icmp = frame_l3(&g) + 20;
    assert_int_equal(icmp[0] << 8 | icmp[1], 0x0304);
    assert_int_equal(icmp[6] << 8 | icmp[7], 1280);
    send_packet(1, 64, 1400, 0);
    assert_true(rig_receive(0, &g));
    assert_int_equal(frame_l3(&g)[40], 2); // packet too big
    send_packet(0, 64, 1400, 0);
    assert_int_equal(rig_discard(1), 2);
    assert_int_equal(rig_drops(DROP_IP4_TOO_BIG) + rig_drops(DROP_IP6_TOO_BIG), 2);
}

path_test(pieces_have_passed_as_many_metalinks_as_the_whole)
{
    chain(10);
    iface_get(end[4][0])->mtu = 700;
    route_all(vr[4], over(end[4][0], end[4][1]));
    send_packet(0, 64, 1200, 0);
    assert_only_drop(DROP_METALINK_HOPS, 2);
}

// A burst that multiplies to more packets than fit is cut, and every lost packet has a drop reason.
path_test(packets_that_multiply_are_bounded)
{
    chain(4);
    iface_get(end[0][0])->mtu = 68;
    route_all(vr[0], over(end[0][0], end[0][1]));
    for (unsigned i = 0; i < 64; i++) {
        struct frame f = packet(0, 64, 1400, 0);
        rig_send(0, &f);
    }
    rig_step(0);
    unsigned sent = rig_discard(1);
    rig_poll();
    sent += rig_discard(1);
    assert_int_equal(sent + rig_drops(DROP_METALINK_FULL) + rig_drops(DROP_TX_FULL), 64 * 30);
    assert_true(rig_drops(DROP_METALINK_FULL) > 0);
}

// Frames that Linux sends to the TAP of an end arrive at the other end's TAP: ARP, ND, routing
// protocols.
path_test(frames_of_one_tap_reach_the_other)
{
    uint8_t arp[60] = {[12] = 8, 6, 0, 1, 8, 0, 6, 4, 0, 1};
    struct frame f, g;
    uint16_t by;

    chain(2);
    memcpy(arp, broadcast_mac, 6);
    memcpy(arp + 6, iface_get(end[0][0])->mac, 6);
    f = frame_raw(arp, sizeof arp);
    rig_inject_frame(0, end[0][0], &f);
    rig_poll();
    assert_true(rig_punted(PUNT_NEIGH, &g, &by));
    assert_int_equal(by, end[0][1]);
    assert_int_equal(g.n, sizeof arp); // without the internal tag of the forwarder
    assert_memory_equal(g.b, arp, sizeof arp);
    rig_inject_frame(0, end[0][1], &f);
    rig_poll();
    assert_true(rig_punted(PUNT_NEIGH, &g, &by));
    assert_int_equal(by, end[0][0]);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(what_the_kernel_routes_is_forwarded_by_the_other_virtual_router)
{
    chain(2);
    struct frame f = packet(0, 64, 40, 0), g;
    memcpy(f.b, iface_get(end[0][1])->mac, 6);
    rig_inject_frame(0, end[0][0], &f);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(ttl_of_frame(&g), 63);
}

path_test(a_packet_held_for_the_neighbor_crosses_afterwards)
{
    chain(2);
    struct frame g;
    uint32_t hold = rig_nexthop(NEXTHOP_HOLD, end[0][0]);
    route_all(vr[0], hold);
    send_packet(0, 64, 40, 0);
    struct rte_mbuf *m = rig_held();
    assert_non_null(m);
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_adjacency(hold, end[0][0], iface_get(end[0][1])->mac);
    packet_meta(m)->kind = INJECT_NEXTHOP;
    assert_int_equal(rig_inject(0, m), 0);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(ttl_of_frame(&g), 62);
}

// A tag stripped by the port is not mistaken for a tag of the metalink.
path_test(a_stripped_tag_is_forgotten)
{
    chain(2);
    uint16_t sub = rig_iface(0, 10, vr[0]);
    struct frame g, f = ip_frame(.src = any[0].src, .dst = any[0].dst, .to_iface = sub);
    struct rte_mbuf *m = rig_mbuf(&f, 2048);
    m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    m->vlan_tci = 10;
    rig_send_mbuf(0, 0, m);
    rig_poll();
    assert_true(rig_receive(1, &g));
    assert_int_equal(rig_drops_all(), 0);
}

path_test(an_end_that_is_down_takes_nothing)
{
    chain(2);
    router_role(ROLE_CONTROL);
    iface_set_flags(iface_get(end[0][1]), IFACE_UP, 0);
    send_packet(0, 64, 40, 0);
    assert_only_drop(DROP_IFACE_DOWN, 1);
}

path_test(an_access_list_of_an_end_decides)
{
    struct list l = {.otherwise = {.verb = ACL_DENY}};

    chain(2);
    uint16_t id = list_publish(&l, "none");
    list_bind(end[0][1], id, 0);
    send_packet(0, 64, 40, 0);
    assert_only_drop(DROP_ACL_DENIED, 1);
    list_bind(end[0][1], 0, 0);
    list_bind(end[0][0], 0, id);
    send_packet(1, 64, 40, 0);
    assert_only_drop(DROP_ACL_DENIED, 2);
}

// --- explain ---

path_test(explain_follows_through)
{
    const unsigned room = 65536;
    struct packet_trace *p = malloc(sizeof *p + room);
    const struct packet_trace_step *last;

    assert_non_null(p);
    chain(9);
    struct frame f = packet(0, 64, 40, 0);
    packet_trace_init(p, room, room);
    router_role(ROLE_CONTROL);
    assert_int_equal(forwarder_explain(0, f.b, f.n, NULL, p), 0);
    unsigned lookups = 0;
    for (unsigned i = 0; i < p->n_steps; i++)
        if (p->step[i].lookup.asked)
            assert_int_equal(p->step[i].vr, vr[lookups++]);
    assert_int_equal(lookups, 9);
    last = packet_trace_last(p, TRACED_PACKET);
    assert_int_equal(last->end, TRACED_SENT);
    assert_int_equal(p->frame[last->frame].iface, out);
    assert_int_equal(p->frame[p->step[2].frame].iface, end[0][0]); // sent by it
    assert_int_equal(p->step[3].iface, end[0][1]);                // received by it
    forwarder_explain_fini();
    free(p);
    assert_int_equal(count(end[0][0]).tx_packets, 0);
}

path_test(explain_tells_of_a_loop)
{
    const unsigned room = 65536;
    struct packet_trace *p = malloc(sizeof *p + room);

    assert_non_null(p);
    chain(2);
    route_all(vr[1], over(end[0][1], end[0][0]));
    struct frame f = packet(1, 64, 40, 0);
    packet_trace_init(p, room, room);
    router_role(ROLE_CONTROL);
    assert_int_equal(forwarder_explain(0, f.b, f.n, NULL, p), 0);
    const struct packet_trace_step *last = packet_trace_last(p, TRACED_PACKET);
    assert_int_equal(last->end, TRACED_DROPPED);
    assert_int_equal(last->drop, DROP_METALINK_HOPS);
    forwarder_explain_fini();
    free(p);
    assert_int_equal(rig_drops_all(), 0);
}
