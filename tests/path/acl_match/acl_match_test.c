// SPDX-License-Identifier: BSD-3-Clause
// acl_match_test.c - packets matched by rules, packets that lists apply to, and lists that change
// under traffic
#include "acl_fixture.h"


enum { UDP = 17, TCP = 6, ICMP = 1, ICMP6 = 58 };

static uint16_t in, out;

void rig_begin(void)
{
    rig_in_and_out(&in, &out);
    uint32_t on = rig_adjacency(out, 2);
    rig_routes(VR_DEFAULT, "20.0.0.0/8", "2001:db8:b::/48", on);
}

// Sends f and returns whether it passed the list.
static bool passes(const struct frame *f)
{
    rig_forward(0, f);
    return rig_discard(1) == 1;
}

static bool passes4(struct ip_spec s)
{
    s.src = s.src ? s.src : "10.0.0.1";
    s.dst = s.dst ? s.dst : "20.0.0.1";
    struct frame f = frame_ip(&s);
    return passes(&f);
}

static bool passes6(struct ip_spec s)
{
    s.src = "2001:db8:a::1";
    s.dst = "2001:db8:b::1";
    return passes4(s);
}

// Binds a list that permits only packets of one rule to `in`; the test narrows the rule first and
// then calls it.
static struct acl_rule *only(struct list *l)
{
    *l = (struct list){.otherwise = {.verb = ACL_DENY}};
    return list_rule(l, 10, ACL_BOTH, ACL_PERMIT);
}

static void in_force(const struct list *l)
{
    static unsigned n;
    char name[16];

    snprintf(name, sizeof name, "list%u", n++);
    list_bind(in, list_publish(l, name), 0);
}

static void proto(struct acl_rule *r, uint8_t proto)
{
    r->proto = proto;
    r->proto_any = false;
}

path_test(ports_match_whole_packets_and_first_fragments)
{
    struct list l;

    struct acl_rule *r = only(&l);
    proto(r, UDP);
    ports(r->dport, 2000, 2009);
    r->part = ACL_WHOLE | ACL_FIRST;
    in_force(&l);
    for (unsigned six = 0; six < 2; six++) {
        bool (*ask)(struct ip_spec) = six ? passes6 : passes4;
        assert_true(ask((struct ip_spec){.dport = 2000}));
        assert_true(ask((struct ip_spec){.dport = 2009}));
        assert_false(ask((struct ip_spec){.dport = 2010}));
        assert_false(ask((struct ip_spec){.dport = 1999}));
        assert_false(ask((struct ip_spec){.sport = 2000, .dport = 1}));
        assert_false(ask((struct ip_spec){.dport = 2000, .proto = 132}));
    }
    assert_true(passes4((struct ip_spec){.dport = 2000, .fragment = 0x2000, .payload = 64}));
    assert_false(passes4((struct ip_spec){
        .dport = 2000, .fragment = 0x2008, .payload = 64})); // later fragments have no ports
    assert_true(passes4((struct ip_spec){.dport = 2000, .options = 8}));
    assert_int_equal(rig_drops_all(), rig_drops(DROP_ACL_DENIED));
}

path_test(fragments_are_matched_by_what_they_are)
{
    static const uint8_t part[] = {ACL_WHOLE, ACL_FIRST, ACL_LATER};
    static const uint16_t field[] = {0, 0x2000, 0x2008, 0x0008}; // the last two are later fragments
    struct list l;

    for (unsigned i = 0; i < 3; i++) {
        only(&l)->part = part[i];
        in_force(&l);
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(passes4((struct ip_spec){.fragment = field[k], .payload = 64}),
                             i == (k < 2 ? k : 2));
    }
}

static struct ip_spec tcp(uint8_t *segment, uint8_t flags)
{
    memset(segment, 0, 20);
    segment[12] = 0x50;
    segment[13] = flags;
    return (struct ip_spec){.proto = TCP, .l4 = segment, .l4_len = 20};
}

path_test(tcp_flags_and_established)
{
    uint8_t s[20];
    struct list l;

    struct acl_rule *r = only(&l);
    proto(r, TCP);
    r->tcp_any = 0x14;
    r->part = ACL_WHOLE | ACL_FIRST;
    in_force(&l);
    assert_false(passes4(tcp(s, 2)));
    assert_true(passes4(tcp(s, 0x12)));
    assert_true(passes6(tcp(s, 4)));
    assert_false(passes6(tcp(s, 1)));
    r->tcp_any = 0;
    r->tcp_mask = 0x12;
    r->tcp_value = 2; // SYN without ACK
    in_force(&l);
    assert_true(passes4(tcp(s, 2)));
    assert_false(passes4(tcp(s, 0x12)));
    assert_false(passes4(tcp(s, 0x10)));
}

path_test(icmp_type_and_code_and_dscp)
{
    const uint8_t echo[8] = {8, 0}, too_big[8] = {3, 4}, echo6[8] = {128, 0};
    struct list l;

    struct acl_rule *r = only(&l);
    r->families = ACL_IP4;
    proto(r, ICMP);
    r->part = ACL_WHOLE | ACL_FIRST;
    ports(r->sport, 3, 3);
    ports(r->dport, 4, 4);
    in_force(&l);
    assert_true(passes4((struct ip_spec){.proto = ICMP, .l4 = too_big, .l4_len = 8}));
    assert_false(passes4((struct ip_spec){.proto = ICMP, .l4 = echo, .l4_len = 8}));
    r = only(&l);
    r->families = ACL_IP6;
    proto(r, ICMP6);
    r->part = ACL_WHOLE | ACL_FIRST;
    ports(r->sport, 128, 128);
    in_force(&l);
    assert_true(passes6((struct ip_spec){.proto = ICMP6, .l4 = echo6, .l4_len = 8}));
    assert_false(passes6((struct ip_spec){.proto = ICMP6, .l4 = echo, .l4_len = 8}));
    only(&l)->dscp = 46;
    in_force(&l);
    assert_true(passes4((struct ip_spec){.tos = 0xb8}));
    assert_true(passes4((struct ip_spec){.tos = 0xbb})); // the other two bits are ECN
    assert_false(passes4((struct ip_spec){.tos = 0xb4}));
    assert_true(passes6((struct ip_spec){.tos = 0xb8}));
    assert_false(passes6((struct ip_spec){0}));
}

// An IPv6 packet of n destination options headers of 8 bytes each, then UDP to port 2000;
// `fragment`: this header before UDP.
static struct frame chained(unsigned n, const uint8_t *fragment)
{
    uint8_t l4[256] = {0};
    unsigned at = 0;

    for (unsigned i = 0; i < n; i++, at += 8) {
        l4[at] = i + 1 < n ? 60 : fragment ? 44 : UDP;
        memcpy(l4 + at + 2, (uint8_t[6]){1, 4}, 6);
    }
    if (fragment) {
        memcpy(l4 + at, fragment, 8);
        at += 8;
    }
    memcpy(l4 + at, (uint8_t[8]){0x03, 0xe8, 0x07, 0xd0, 0, 8, 0, 0}, 8);
    return ip_frame(.src = "2001:db8:a::1", .dst = "2001:db8:b::1",
                    .proto = n          ? 60
                             : fragment ? 44
                                        : UDP,
                    .l4 = l4, .l4_len = at + 8);
}

// rfc: 7112 5 SHOULD
path_test(the_upper_layer_is_found_behind_extension_headers)
{
    static const uint8_t first[8] = {UDP, 0, 0, 1}, later[8] = {UDP, 0, 0x01, 1}, atomic[8] = {UDP};
    struct list l;
    struct frame f;

    struct acl_rule *r = only(&l);
    proto(r, UDP);
    ports(r->dport, 2000, 2000);
    r->part = ACL_WHOLE | ACL_FIRST;
    in_force(&l);
    for (unsigned n = 0; n <= 8; n++) {
        f = chained(n, NULL);
        assert_true(passes(&f));
        rig_send_mbuf(0, 0, rig_mbuf(&f, 60)); // segments cut the chain
        assert_int_equal(rig_poll_out(1), 1);
    }
    f = chained(3, first);
    assert_true(passes(&f));
    f = chained(3, atomic);
    assert_true(passes(&f));
    f = chained(3, later);
    assert_false(passes(&f));
    assert_only_drop(DROP_ACL_DENIED, 1);
    f = chained(9, NULL); // more than any code searches
    assert_false(passes(&f));
    f = chained(2, NULL);
    f.b[14 + 4] = 0;
    f.b[14 + 5] = 18; // ends within the second header
    f.n = 14 + 40 + 18;
    assert_false(passes(&f));
    assert_int_equal(rig_drops(DROP_ACL_UNREADABLE), 2);
}

path_test(what_cuts_its_own_headers_is_dropped_by_name)
{
    uint8_t s[20];
    struct list l;

    only(&l);
    in_force(&l);
    struct ip_spec t = tcp(s, 2);
    t.l4_len = 13; // without flags (RFC 1858)
    assert_false(passes4(t));
    t.l4_len = 20;
    t.fragment = 1; // starts within the TCP header (RFC 3128)
    assert_false(passes4(t));
    t.fragment = 2;
    assert_true(passes4(t));
    assert_false(passes4((struct ip_spec){.proto = ICMP, .l4 = s, .l4_len = 1}));
    assert_only_drop(DROP_ACL_UNREADABLE, 3);
    assert_hits(iface_get(in)->acl_in, 10, 1);
}

path_test(a_burst_of_several_lists_is_sorted_out)
{
    struct list l = {.otherwise = {.verb = ACL_PERMIT}}, other = {.otherwise = {.verb = ACL_DENY}};
    uint16_t vlan[3];

    side(&list_rule(&l, 10, ACL_IP4, ACL_DENY)->src, "10.1.0.0/16");
    side(&list_rule(&other, 20, ACL_IP4, ACL_PERMIT)->src, "10.1.0.0/16");
    uint16_t a = list_publish(&l, "a"), b = list_publish(&other, "b");
    for (unsigned i = 0; i < 3; i++)
        vlan[i] = rig_iface(0, (uint16_t)(10 + i), VR_DEFAULT);
    list_bind(vlan[0], a, 0);
    list_bind(vlan[1], b, 0);
    for (unsigned i = 0; i < 60; i++) {
        struct frame f = ip_frame(.src = i % 2 ? "10.1.0.1" : "10.2.0.1", .dst = "20.0.0.1",
                                  .vlan = (uint16_t)(10 + i % 3), .to_iface = vlan[i % 3],
                                  .sport = (uint16_t)(1000 + i));
        rig_send(0, &f);
    }
    assert_int_equal(rig_poll_out(1), 10 + 10 + 20);
    assert_only_drop(DROP_ACL_DENIED, 20);
    assert_hits(a, 10, 10);
    assert_hits(a, 0, 10);
    assert_hits(b, 20, 10);
    assert_hits(b, 0, 10);
}

path_test(what_is_for_us_is_asked_about_too)
{
    struct list l = {.otherwise = {.verb = ACL_DENY}};
    struct frame f;

    rig_route(VR_DEFAULT, "20.0.0.99/32", rig_nexthop(NEXTHOP_LOCAL, in));
    proto(list_rule(&l, 10, ACL_IP4, ACL_PERMIT), 89);
    in_force(&l);
    uint16_t id = iface_get(in)->acl_in;
    passes4((struct ip_spec){.dst = "20.0.0.99"});
    passes4((struct ip_spec){.dst = "20.0.0.99", .proto = 89});
    passes4((struct ip_spec){.dst = "224.0.0.5", .proto = 89});
    passes4((struct ip_spec){.dst = "224.0.0.2"});
    passes4((struct ip_spec){.src = "0.0.0.0", .dst = "255.255.255.255", .dst_mac = broadcast_mac});
    assert_only_drop(DROP_ACL_DENIED, 3);
    assert_hits(id, 10, 2);
    assert_true(rig_punted(PUNT_ROUTING, &f, NULL));
    assert_true(rig_punted(PUNT_ROUTING, &f, NULL));
}

path_test(neighbors_of_the_link_are_found_whatever_a_list_says)
{
    const uint8_t solicit[24] = {135}, router[24] = {133};
    struct list l = {.otherwise = {.verb = ACL_DENY}};
    struct frame f;

    in_force(&l);
    uint16_t id = iface_get(in)->acl_in;
    for (unsigned i = 0; i < 3; i++) {
        f = ip_frame(.src = "fe80::1", .dst = "ff02::1:ff00:1", .proto = ICMP6,
                     .ttl = i == 2 ? 254 : 255, .l4 = i ? i == 1 ? router : solicit : solicit,
                     .l4_len = 24);
        rig_forward(0, &f);
    }
    assert_only_drop(DROP_ACL_DENIED, 2); // router solicitation; packet from farther away
    assert_hits(id, 0, 2);
    assert_true(rig_punted(PUNT_NEIGH, &f, NULL));
}

path_test(what_was_held_or_must_be_cut_is_asked_about_before_it_leaves)
{
    struct list l = {.otherwise = {.verb = ACL_PERMIT}};

    iface_get(out)->mtu = 600;
    uint32_t narrow = rig_adjacency(out, 5), waits = rig_nexthop(NEXTHOP_HOLD, out);
    rig_route(VR_DEFAULT, "30.0.0.0/8", narrow);
    rig_route(VR_DEFAULT, "40.0.0.0/8", waits);
    side(&list_rule(&l, 10, ACL_IP4, ACL_DENY)->src, "10.1.0.0/16");
    uint16_t id = list_publish(&l, "out");
    list_bind(out, 0, id);
    assert_false(passes4((struct ip_spec){.src = "10.1.0.1", .dst = "30.0.0.1", .payload = 1000}));
    assert_hits(id, 10, 1); // once, not per fragment
    assert_false(passes4(
        (struct ip_spec){.src = "10.2.0.1", .dst = "30.0.0.1", .payload = 1000})); // two fragments
    assert_hits(id, 0, 1);
    passes4((struct ip_spec){.src = "10.1.0.1", .dst = "40.0.0.1"});
    passes4((struct ip_spec){.src = "10.2.0.1", .dst = "40.0.0.1"});
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_adjacency(waits, out, neighbor_mac(7));
    for (struct rte_mbuf *m; (m = rig_held());)
        rig_inject(0, m);
    assert_int_equal(rig_poll_out(1), 1);
    assert_only_drop(DROP_ACL_DENIED, 2);
    assert_hits(id, 10, 2);
    assert_hits(id, 0, 2);
}

path_test(counters_are_exact_while_the_list_changes)
{
    struct list l = {.otherwise = {.verb = ACL_PERMIT}};
    struct plan_rx all[RIG_PORTS];

    for (uint16_t p = 0; p < RIG_PORTS; p++)
        all[p] = (struct plan_rx){p, 1};
    rig_plan_set(1, rig_plan_new(1, all, RIG_PORTS));
    side(&list_rule(&l, 10, ACL_IP4, ACL_DENY)->src, "10.1.0.0/16");
    side(&list_rule(&l, 20, ACL_IP4, ACL_PERMIT)->src, "10.2.0.0/16");
    uint16_t id = list_publish(&l, "edge");
    list_bind(in, id, id);
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned i = 0; i < 30; i++) {
            struct frame f = ip_frame(.src = i % 3 == 0   ? "10.1.0.1"
                                             : i % 3 == 1 ? "10.2.0.1"
                                                          : "10.3.0.1",
                                      .dst = "20.0.0.1", .sport = (uint16_t)(i + round % 2 * 100));
            rig_send_queue(0, i % 2, &f); // two forwarders
        }
        rig_step(round % 2);
        list_cached(id, round % 3);
        l.n = round % 2 ? 2 : 3; // one more rule, so that the first rules get other slots
        if (l.n == 3) {
            l.rule[2] = l.rule[1];
            l.rule[2].number = 5;
            l.rule[2].src.addr[1] = 9;
            l.action[2] = l.action[1];
        }
        list_replace(id, &l);
        rig_step(!(round % 2));
    }
    for (unsigned f = 0; f < 2; f++)
        rig_step(f);
    assert_hits(id, 10, 500);
    assert_hits(id, 20, 500);
    assert_hits(id, 0, 500);
    assert_int_equal(list_hits(id, 20).bytes, 500 * 28);
    assert_only_drop(DROP_ACL_DENIED, 500);
    assert_int_equal(rig_discard(1), 1000);
}
