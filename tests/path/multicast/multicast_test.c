// SPDX-License-Identifier: BSD-3-Clause
// multicast_test.c - who gets a copy of a multicast packet, and how it leaves
#include "harness.h"

#include <arpa/inet.h>
#include <rte_mbuf.h>

#include "table/multicast.h"
#include "table/passage.h"

static uint16_t in, one, two, sub; // interfaces of port 0, 1, 2, and VLAN 7 of port 1

static const uint8_t group_mac[6] = {0x01, 0, 0x5e, 1, 2, 3}; // 239.129.2.3: the 24th bit is not in it
static const uint8_t group6_mac[6] = {0x33, 0x33, 0xab, 0xcd, 0x12, 0x34};
static const struct ip_spec stream4 = {.src = "192.0.2.1", .dst = "239.129.2.3", .dst_mac = group_mac, .ttl = 20};
static const struct ip_spec stream6 = {.src = "2001:db8::1", .dst = "ff1e::abcd:1234", .dst_mac = group6_mac, .ttl = 20};

static void interfaces(void)
{
    in = rig_iface(0, 0, VR_DEFAULT);
    one = rig_iface(1, 0, VR_DEFAULT);
    sub = rig_iface(1, 7, VR_DEFAULT);
    two = rig_iface(2, 0, VR_DEFAULT);
}

static struct multicast_key key(const char *source, const char *group)
{
    struct multicast_key k = {.family = strchr(group, ':') ? IP6 : IP4};

    assert_int_equal(inet_pton(k.family == IP4 ? AF_INET : AF_INET6, group, k.group), 1);
    if (source)
        assert_int_equal(inet_pton(k.family == IP4 ? AF_INET : AF_INET6, source, k.source), 1);
    return k;
}

// Outputs: pairs of interface and threshold, up to an interface 0.
static void route(uint16_t vr, const char *source, const char *group, unsigned flags, const uint16_t *out)
{
    struct multicast_entry e = {.key = key(source, group), .in = in, .flags = (uint8_t)flags};

    for (; *out; out += 2)
        e.out[e.n_out++] = (struct multicast_out){.iface = out[0], .ttl = (uint8_t)out[1]};
    rig_role(ROLE_RIB_MANAGER);
    assert_int_equal(multicast_set(vr, &e), 0);
}
#define ROUTE(source, group, flags, ...) route(VR_DEFAULT, source, group, flags, (const uint16_t[]){__VA_ARGS__, 0})

static const struct multicast_counter *counter(const char *source, const char *group)
{
    struct multicast_key k = key(source, group);

    return multicast_find(multicast_table[VR_DEFAULT][k.family == IP6], &k)->counter;
}

static void join(uint16_t iface, const char *group)
{
    struct multicast_entry e = {.key = key(NULL, group), .flags = MULTICAST_JOIN};

    e.key.iface = iface;
    rig_role(ROLE_RIB_MANAGER);
    assert_int_equal(multicast_set(VR_DEFAULT, &e), 0);
}

static void daemon_on(uint16_t iface)
{
    rig_role(ROLE_RIB_MANAGER);
    multicast_daemon_set(iface, IP4, true);
    multicast_daemon_set(iface, IP6, true);
}

static struct frame send_one(unsigned port, const struct ip_spec *s)
{
    struct frame f = frame_ip(s);

    rig_send(port, &f);
    rig_poll();
    return f;
}

// The next frame of the port is the sent one as it must leave by the interface: the whole of it, TTL one lower.
static void assert_copy(unsigned port, uint16_t iface, const struct frame *sent)
{
    const struct iface *i = iface_get(iface);
    unsigned head = i->outer_vlan ? 22 : i->vlan ? 18 : 14;
    struct frame want = *sent, got;

    assert_true(rig_receive(port, &got));
    bool four = want.b[12] == 0x08;
    want.b[14 + (four ? 8 : 7)]--;
    if (four)
        ip4_fix_checksum(&want);
    memcpy(want.b + 6, i->mac, 6);
    assert_int_equal(got.n, want.n + head - 14);
    assert_memory_equal(got.b, want.b, 12);
    if (i->outer_vlan)
        assert_memory_equal(got.b + 12, ((uint8_t[]){0x88, 0xa8, 0, (uint8_t)i->outer_vlan}), 4);
    if (i->vlan)
        assert_memory_equal(got.b + head - 6, ((uint8_t[]){0x81, 0, 0, (uint8_t)i->vlan}), 4);
    assert_memory_equal(got.b + head - 2, want.b + 12, want.n - 12);
    if (four)
        assert_true(frame_is_ip4_sound(&got));
}

static void nothing_left(void)
{
    for (unsigned p = 0; p < RIG_PORTS; p++)
        assert_int_equal(rig_discard(p), 0);
}

// rfc: 1812 5.2.1.3 SHOULD
// rfc: 1112 6.4 MUST
static void a_copy_leaves_by_each_output_to_the_groups_mac(void **state)
{
    interfaces();
    ROUTE("192.0.2.1", "239.129.2.3", 0, one, 1, sub, 1, two, 1);
    struct frame f = send_one(0, &stream4);
    assert_copy(1, one, &f);
    assert_copy(1, sub, &f);
    assert_copy(2, two, &f);
    nothing_left();
    assert_int_equal(rig_drops_all(), 0);
    assert_int_equal(counter("192.0.2.1", "239.129.2.3")->packets, 1);
    assert_int_equal(counter("192.0.2.1", "239.129.2.3")->bytes, f.n - 14);
}

// rfc: 2464 7 MUST
static void ipv6_too(void **state)
{
    interfaces();
    ROUTE("2001:db8::1", "ff1e::abcd:1234", 0, sub, 1, two, 1);
    struct frame f = send_one(0, &stream6);
    assert_copy(1, sub, &f);
    assert_copy(2, two, &f);
    nothing_left();
    assert_int_equal(rig_drops_all(), 0);
}

static void tagged_in_padded_in_and_untagged_out(void **state)
{
    interfaces();
    uint16_t v = rig_iface(0, 9, VR_DEFAULT);
    in = v;
    ROUTE(NULL, "239.129.2.3", 0, one, 1);
    struct ip_spec s = stream4;
    struct frame want = frame_ip(&s);
    s.vlan = 9, s.pad_to = 80;
    send_one(0, &s);
    assert_copy(1, one, &want); // without the padding
    nothing_left();
}

static void with_two_tags(void **state)
{
    interfaces();
    uint16_t pair = rig_iface_pair(2, 30, 0x88a8, 40, VR_DEFAULT);
    ROUTE(NULL, "239.129.2.3", 0, one, 1, pair, 1);
    struct frame f = send_one(0, &stream4);
    assert_copy(1, one, &f);
    assert_copy(2, pair, &f);
    nothing_left();
    in = pair;
    ROUTE(NULL, "239.129.2.3", 0, one, 1);
    struct ip_spec s = stream4;
    s.vlan = 40, s.outer_tpid = 0x88a8, s.outer_tci = 30;
    send_one(2, &s);
    assert_copy(1, one, &f);
    nothing_left();
    assert_int_equal(rig_drops_all(), 0);
}

static void the_route_of_the_source_goes_before_that_of_the_group(void **state)
{
    interfaces();
    ROUTE(NULL, "239.129.2.3", 0, one, 1);
    ROUTE("192.0.2.1", "239.129.2.3", 0, two, 1);
    struct frame f = send_one(0, &stream4);
    assert_copy(2, two, &f);
    struct ip_spec other = stream4;
    other.src = "192.0.2.2";
    f = send_one(0, &other);
    assert_copy(1, one, &f);
    nothing_left();
    rig_role(ROLE_RIB_MANAGER);
    struct multicast_key k = key("192.0.2.1", "239.129.2.3");
    multicast_del(VR_DEFAULT, &k);
    f = send_one(0, &stream4);
    assert_copy(1, one, &f);
    nothing_left();
}

static void without_a_route_it_is_dropped(void **state)
{
    uint16_t red = rig_vr("red");
    interfaces();
    send_one(0, &stream4);
    assert_only_drop(DROP_IP4_MULTICAST, 1);
    route(red, NULL, "239.129.2.3", 0, (const uint16_t[]){one, 1, 0}); // another virtual router's
    ROUTE("192.0.2.9", "239.129.2.3", 0, one, 1);
    send_one(0, &stream4);
    assert_only_drop(DROP_IP4_MULTICAST, 2);
    send_one(0, &stream6);
    assert_int_equal(rig_drops(DROP_IP6_MULTICAST), 1);
    nothing_left();
}

// rfc: 7761 4.2 MUST
static void by_the_wrong_interface_it_is_dropped_and_counted(void **state)
{
    interfaces();
    ROUTE(NULL, "239.129.2.3", 0, one, 1, two, 1);
    send_one(2, &stream4); // an output, at that
    send_one(2, &stream4);
    assert_only_drop(DROP_MULTICAST_WRONG_IF, 2);
    assert_int_equal(counter(NULL, "239.129.2.3")->wrong, 2);
    assert_int_equal(counter(NULL, "239.129.2.3")->packets, 0);
    ROUTE(NULL, "239.129.2.3", 0, one, 1); // what was counted goes over
    assert_int_equal(counter(NULL, "239.129.2.3")->wrong, 2);
    nothing_left();
}

static void a_tree_takes_packets_by_its_outputs_and_sends_none_back(void **state)
{
    interfaces();
    ROUTE(NULL, "239.129.2.3", MULTICAST_TREE, in, 1, one, 1, two, 1);
    struct frame f = send_one(2, &stream4);
    assert_copy(0, in, &f);
    assert_copy(1, one, &f);
    nothing_left();
    send_one(3, &stream4);
    assert_int_equal(rig_drops(DROP_IFACE_DOWN), 1);
}

static void never_back_by_the_input(void **state)
{
    interfaces();
    ROUTE(NULL, "239.129.2.3", 0, in, 1);
    send_one(0, &stream4);
    assert_only_drop(DROP_MULTICAST_NO_OUTPUT, 1);
    ROUTE(NULL, "239.129.2.3", 0, in, 1, one, 1, two, 1);
    iface_get(two)->up = 0;
    struct frame f = send_one(0, &stream4);
    assert_copy(1, one, &f);
    nothing_left();
    assert_only_drop(DROP_MULTICAST_NO_OUTPUT, 1);
}

static void an_output_takes_what_has_more_hops_left_than_its_threshold(void **state)
{
    interfaces();
    ROUTE(NULL, "239.129.2.3", 0, one, 1, two, 16);
    struct ip_spec s = stream4;
    static const struct {
        uint8_t ttl;
        bool by_one, by_two;
    } row[] = {{1, false, false}, {2, true, false}, {16, true, false}, {17, true, true}, {255, true, true}};
    unsigned dropped = 0;
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        s.ttl = row[i].ttl;
        struct frame f = send_one(0, &s);
        if (row[i].by_one)
            assert_copy(1, one, &f);
        if (row[i].by_two)
            assert_copy(2, two, &f);
        nothing_left();
        dropped += !row[i].by_one && !row[i].by_two;
    }
    assert_only_drop(DROP_MULTICAST_TTL, dropped);
    assert_int_equal(dropped, 1);
}

// rfc: 1812 4.3.2.7 MUST NOT
static void too_big_with_df_is_dropped_in_silence_and_without_is_cut(void **state)
{
    struct frame g;

    interfaces();
    rig_icmp_rate(1000, 1000);
    iface_get(two)->mtu = 600;
    ROUTE(NULL, "239.129.2.3", 0, one, 1, two, 1);
    struct ip_spec s = stream4;
    s.payload = 1000, s.fragment = 0x4000;
    struct frame f = send_one(0, &s);
    assert_copy(1, one, &f);
    nothing_left();
    assert_only_drop(DROP_IP4_TOO_BIG, 1);
    s.fragment = 0;
    f = send_one(0, &s);
    assert_copy(1, one, &f);
    unsigned bytes = 0, n = 0;
    while (rig_receive(2, &g)) {
        assert_memory_equal(g.b, group_mac, 6);
        assert_true(frame_is_ip4_sound(&g));
        assert_true(g.n <= 614);
        assert_int_equal(g.b[22], 19);
        bytes += g.n - 34;
        n++;
    }
    assert_int_equal(n, 2);
    assert_int_equal(bytes, 1008);
    assert_only_drop(DROP_IP4_TOO_BIG, 1);
    ROUTE(NULL, "239.129.2.3", 0, two, 1);
    s.fragment = 0x4000;
    send_one(0, &s);
    assert_only_drop(DROP_IP4_TOO_BIG, 2);
    nothing_left();
}

// rfc: 4443 2.4 MUST
static void ipv6_too_big_is_told_once_by_the_smallest_mtu(void **state)
{
    struct frame g;

    interfaces();
    rig_icmp_rate(1000, 1000);
    rig_route(VR_DEFAULT, "2001:db8::/64", rig_adjacency(in, 1));
    iface_get(two)->mtu = 1300;
    iface_get(sub)->mtu = 1280;
    ROUTE(NULL, "ff1e::abcd:1234", 0, one, 1, two, 1, sub, 1);
    struct ip_spec s = stream6;
    s.payload = 1400;
    struct frame f = send_one(0, &s);
    assert_copy(1, one, &f);
    assert_true(rig_receive(0, &g));
    assert_int_equal(g.b[20], 58);
    assert_memory_equal(g.b + 54, ((uint8_t[]){2, 0}), 2);
    assert_memory_equal(g.b + 58, ((uint8_t[]){0, 0, 5, 0}), 4); // 1280
    assert_memory_equal(g.b + 62, f.b + 14, 100);                // as it came
    nothing_left();
    assert_only_drop(DROP_IP6_TOO_BIG, 2);
}

static void what_concerns_one_link_is_never_forwarded(void **state)
{
    static const char *const up[][2] = {{"192.0.2.1", "224.0.0.9"}, {"2001:db8::1", "ff02::9"}, {"2001:db8::1", "ff32::9"}};
    static const struct {
        const char *src, *dst;
        enum drop_reason why;
    } drop[] = {{"2001:db8::1", "ff01::9", DROP_IP6_MARTIAN_DST},   {"2001:db8::1", "ff00::9", DROP_IP6_MARTIAN_DST},
                {"fe80::1", "ff1e::abcd:1234", DROP_IP6_LINK_LOCAL}, {"::", "ff1e::abcd:1234", DROP_IP6_MARTIAN_SRC},
                {"169.254.1.1", "239.129.2.3", DROP_IP4_LINK_LOCAL}, {"0.0.0.0", "239.129.2.3", DROP_IP4_MARTIAN_SRC}};
    struct frame f;

    interfaces();
    for (unsigned i = 0; i < 3; i++)
        ROUTE(NULL, up[i][1], 0, one, 1);
    ROUTE(NULL, "ff01::9", 0, one, 1);
    ROUTE(NULL, "ff00::9", 0, one, 1);
    ROUTE(NULL, "ff1e::abcd:1234", 0, one, 1);
    ROUTE(NULL, "239.129.2.3", 0, one, 1);
    for (unsigned i = 0; i < 3; i++) {
        send_one(0, &(struct ip_spec){.src = up[i][0], .dst = up[i][1], .dst_mac = group_mac});
        assert_true(rig_punted(PUNT_OTHER, &f, NULL));
    }
    for (unsigned i = 0; i < sizeof drop / sizeof *drop; i++) {
        uint64_t before = rig_drops(drop[i].why);
        send_one(0, &(struct ip_spec){.src = drop[i].src, .dst = drop[i].dst, .dst_mac = group_mac});
        assert_int_equal(rig_drops(drop[i].why), before + 1);
    }
    nothing_left();
}

static void mld_to_the_group_itself_goes_up(void **state)
{
    static const uint8_t report[16] = {58, 0, 5, 2, 0, 0, 1, 0, 131};
    struct frame g;

    interfaces();
    ROUTE(NULL, "ff1e::abcd:1234", 0, one, 1);
    struct frame f = frame_ip(&(struct ip_spec){.src = "fe80::1", .dst = "ff1e::abcd:1234", .dst_mac = group6_mac,
                                                .l4 = report, .l4_len = 16, .ttl = 1});
    f.b[20] = 0; // hop-by-hop
    rig_send(0, &f);
    rig_poll();
    assert_true(rig_punted(PUNT_NEIGH, &g, NULL));
    nothing_left();
}

static void a_group_that_the_host_has_joined_goes_up_too(void **state)
{
    struct frame g;
    uint16_t by = 0;

    interfaces();
    join(in, "239.129.2.3");
    struct frame f = send_one(0, &stream4);
    assert_true(rig_punted(PUNT_OTHER, &g, &by)); // no route: the packet itself
    assert_int_equal(by, in);
    assert_memory_equal(g.b, f.b, f.n);
    ROUTE(NULL, "239.129.2.3", 0, one, 1, two, 1);
    f = send_one(0, &stream4);
    assert_true(rig_punted(PUNT_OTHER, &g, NULL)); // a copy, as it came
    assert_memory_equal(g.b, f.b, f.n);
    assert_copy(1, one, &f);
    assert_copy(2, two, &f);
    send_one(2, &stream4); // joined on another interface only
    assert_only_drop(DROP_MULTICAST_WRONG_IF, 1);
    assert_false(rig_punted(PUNT_OTHER, &g, NULL));
    nothing_left();
}

static void a_daemon_is_shown_unknown_groups(void **state)
{
    struct frame g;

    interfaces();
    daemon_on(in);
    struct frame f = send_one(0, &stream4);
    assert_true(rig_punted(PUNT_MULTICAST, &g, NULL));
    assert_memory_equal(g.b, f.b, f.n);
    send_one(0, &stream6);
    assert_true(rig_punted(PUNT_MULTICAST, &g, NULL));
    assert_int_equal(rig_drops_all(), 0);
    send_one(2, &stream4); // it does not run there
    assert_only_drop(DROP_IP4_MULTICAST, 1);
    nothing_left();
}

static void a_flood_of_unknown_groups_fills_its_own_queue_only(void **state)
{
    const uint32_t queue = punt_limit_default[PUNT_MULTICAST].queue;
    struct frame g;

    interfaces();
    daemon_on(in);
    struct frame f = frame_ip(&stream4);
    for (unsigned i = 0; i < queue + 40; i++) {
        rig_send(0, &f);
        if (i % 64 == 63)
            rig_step(0);
    }
    rig_poll();
    assert_only_drop(DROP_PUNT_RING_FULL, 40);
    send_one(0, &(struct ip_spec){.src = "192.0.2.1", .dst = "224.0.0.5", .proto = 89, .dst_mac = group_mac});
    assert_true(rig_punted(PUNT_ROUTING, &g, NULL));
}

static void the_kernel_sees_a_packet_of_its_routes_now_and_then(void **state)
{
    struct frame g;
    unsigned up = 0;

    interfaces();
    daemon_on(in);
    daemon_on(two);
    ROUTE("192.0.2.1", "239.129.2.3", MULTICAST_KERNEL, one, 1);
    struct frame f = send_one(0, &stream4);
    assert_copy(1, one, &f); // it has just seen one
    uint64_t was = multicast_sample_cycles;
    multicast_sample_cycles = 0;
    f = send_one(0, &stream4);
    assert_true(rig_punted(PUNT_MULTICAST, &g, NULL)); // instead of the copies: the kernel makes them
    assert_memory_equal(g.b, f.b, f.n);
    nothing_left();
    multicast_sample_cycles = was;
    f = send_one(0, &stream4);
    assert_copy(1, one, &f);
    assert_int_equal(counter("192.0.2.1", "239.129.2.3")->packets, 3);
    for (unsigned i = 0; i < 5; i++) { // of those that come by the wrong interface, the first
        send_one(2, &stream4);
        up += rig_punted(PUNT_MULTICAST, &g, NULL);
    }
    assert_int_equal(up, 1);
    assert_only_drop(DROP_MULTICAST_WRONG_IF, 4);
    assert_int_equal(counter("192.0.2.1", "239.129.2.3")->wrong, 5);
    nothing_left();
}

static void a_route_with_an_output_that_is_not_ours_is_the_kernels_work(void **state)
{
    struct frame g;

    interfaces();
    ROUTE("192.0.2.1", "239.129.2.3", MULTICAST_KERNEL | MULTICAST_SLOW, one, 1);
    for (unsigned i = 0; i < 3; i++) {
        send_one(0, &stream4);
        assert_true(rig_punted(PUNT_MULTICAST, &g, NULL));
    }
    nothing_left();
}

// Ports that free without looking take whole buffers of one pool, with one owner.
static void copies_suit_ports_that_free_without_looking(void **state)
{
    struct rte_mbuf *m;

    interfaces();
    port_get(iface_get(one)->port)->fast_free = true;
    port_get(iface_get(two)->port)->fast_free = true;
    exchange_mix(); // the packet itself is of another pool here
    ROUTE(NULL, "239.129.2.3", 0, one, 1, sub, 1, two, 1);
    struct frame f = frame_ip(&stream4);
    rig_send(0, &f);
    rig_step(0);
    for (unsigned p = 1; p <= 2; p++)
        for (unsigned n = p == 1 ? 2 : 1; n; n--) {
            m = rig_receive_mbuf(p);
            assert_non_null(m);
            assert_ptr_equal(m->pool, exchange_pool);
            assert_int_equal(m->nb_segs, 1);
            assert_int_equal(rte_mbuf_refcnt_read(m), 1);
            assert_true(RTE_MBUF_DIRECT(m));
            rte_pktmbuf_free(m);
        }
    nothing_left();
    assert_int_equal(rig_drops_all(), 0);
}

static void without_buffers_copies_are_dropped_by_name_and_the_last_output_has_the_packet(void **state)
{
    static struct rte_mbuf *all[4096];
    unsigned n = 0;

    interfaces();
    ROUTE(NULL, "239.129.2.3", 0, one, 1, sub, 1, two, 1);
    while ((all[n] = rte_pktmbuf_alloc(exchange_pool)))
        n++;
    struct frame f = send_one(0, &stream4);
    assert_copy(2, two, &f);
    nothing_left();
    assert_only_drop(DROP_TX_NO_BUFFER, 2);
    rte_pktmbuf_free_bulk(all, n);
}

static void a_packet_in_segments_and_one_with_options_are_copied_whole(void **state)
{
    interfaces();
    for (uint16_t i = 0; i < 3; i++)
        iface_get(i == 0 ? in : i == 1 ? one : two)->mtu = 9000;
    ROUTE(NULL, "239.129.2.3", 0, one, 1, two, 1);
    struct ip_spec s = stream4;
    s.payload = 8000;
    struct frame f = frame_ip(&s);
    rig_send_mbuf(0, 0, rig_mbuf(&f, 1000));
    rig_poll();
    assert_copy(1, one, &f);
    assert_copy(2, two, &f);
    s.payload = 10, s.options = 8;
    f = send_one(0, &s);
    assert_copy(1, one, &f);
    assert_copy(2, two, &f);
    nothing_left();
}

static void explaining_counts_nothing_and_takes_no_turn(void **state)
{
    static struct {
        struct passage p;
        uint8_t room[8192];
    } passage;
    uint64_t was = multicast_sample_cycles;

    interfaces();
    ROUTE(NULL, "239.129.2.3", MULTICAST_KERNEL, one, 1, two, 1);
    struct frame f = frame_ip(&stream4), g;
    passage_init(&passage.p, 8192, 8192);
    rig_role(ROLE_CONTROL);
    assert_int_equal(forwarder_explain(0, f.b, f.n, &passage.p), 0);
    assert_int_equal(passage.p.n_frames, 2);
    multicast_sample_cycles = 0;
    passage_init(&passage.p, 8192, 8192);
    assert_int_equal(forwarder_explain(0, f.b, f.n, &passage.p), 0);
    assert_int_equal(counter(NULL, "239.129.2.3")->packets, 0);
    rig_send(0, &f);
    rig_poll();
    assert_true(rig_punted(PUNT_MULTICAST, &g, NULL)); // the turn was not taken
    multicast_sample_cycles = was;
    rig_role(ROLE_CONTROL);
    forwarder_explain_fini();
    nothing_left();
}

static void a_burst_to_many_outputs_leaves_none_behind(void **state)
{
    uint16_t out[2 * MULTICAST_OUT_MAX + 1] = {0};
    unsigned n = 0;

    interfaces();
    for (unsigned k = 0; k < MULTICAST_OUT_MAX; k++) {
        out[2 * k] = rig_iface(1 + k % 2, (uint16_t)(100 + k), VR_DEFAULT);
        out[2 * k + 1] = 1;
    }
    route(VR_DEFAULT, NULL, "239.129.2.3", 0, out);
    struct frame f = frame_ip(&stream4);
    for (unsigned i = 0; i < 64; i++)
        rig_send(0, &f);
    rig_step(0);
    rig_poll();
    n = rig_discard(1) + rig_discard(2);
    // the rings behind the ports take less: the rest has the port's reason
    assert_int_equal(n + rig_drops(DROP_TX_FULL), 64 * MULTICAST_OUT_MAX);
    assert_int_equal(rig_drops(DROP_TX_FULL), rig_drops_all());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        path_test(a_copy_leaves_by_each_output_to_the_groups_mac),
        path_test(ipv6_too),
        path_test(tagged_in_padded_in_and_untagged_out),
        path_test(with_two_tags),
        path_test(the_route_of_the_source_goes_before_that_of_the_group),
        path_test(without_a_route_it_is_dropped),
        path_test(by_the_wrong_interface_it_is_dropped_and_counted),
        path_test(a_tree_takes_packets_by_its_outputs_and_sends_none_back),
        path_test(never_back_by_the_input),
        path_test(an_output_takes_what_has_more_hops_left_than_its_threshold),
        path_test(too_big_with_df_is_dropped_in_silence_and_without_is_cut),
        path_test(ipv6_too_big_is_told_once_by_the_smallest_mtu),
        path_test(what_concerns_one_link_is_never_forwarded),
        path_test(mld_to_the_group_itself_goes_up),
        path_test(a_group_that_the_host_has_joined_goes_up_too),
        path_test(a_daemon_is_shown_unknown_groups),
        path_test(a_flood_of_unknown_groups_fills_its_own_queue_only),
        path_test(the_kernel_sees_a_packet_of_its_routes_now_and_then),
        path_test(a_route_with_an_output_that_is_not_ours_is_the_kernels_work),
        path_test(copies_suit_ports_that_free_without_looking),
        path_test(without_buffers_copies_are_dropped_by_name_and_the_last_output_has_the_packet),
        path_test(a_packet_in_segments_and_one_with_options_are_copied_whole),
        path_test(explaining_counts_nothing_and_takes_no_turn),
        path_test(a_burst_to_many_outputs_leaves_none_behind),
    };
    return path_run(tests);
}
