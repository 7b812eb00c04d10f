// SPDX-License-Identifier: BSD-3-Clause
// acl_test.c - the effect of access list rules on packets, in and out, and counters
#include "acl_fixture.h"

#include "acl/set.h"
#include "base/checksum.h"
#include "core/rcu.h"
#include "forwarder/state.h"
#include "table/acl_meter.h"
#include "table/acl_target.h"
#include "table/packet_class.h"
#include "table/watch.h"

static uint16_t in, out;

void rig_begin(void)
{
    rig_two_sides(&in, &out);
}

static void send(const char *src, const char *dst)
{
    struct frame f = ip_frame(.src = src, .dst = dst);

    rig_send(0, &f);
}

// Rules 10 and 20 deny packets from 10.1/16 and 2001:db8:a:1::/64.
static struct list denies(enum acl_verb verb)
{
    struct list l = {.otherwise = {.verb = ACL_PERMIT}};

    side(&list_rule(&l, 10, ACL_IP4, verb)->src, "10.1.0.0/16");
    side(&list_rule(&l, 20, ACL_IP6, verb)->src, "2001:db8:a:1::/64");
    return l;
}

static void send_both(void)
{
    send("10.1.0.1", "20.0.0.1");
    send("10.2.0.1", "20.0.0.1");
    send("2001:db8:a:1::1", "2001:db8:b::1");
    send("2001:db8:a:2::1", "2001:db8:b::1");
    rig_poll();
}

path_test(the_first_rule_that_matches_decides_and_counts)
{
    struct list l = denies(ACL_DENY);
    uint16_t id = list_publish(&l, "edge");
    list_bind(in, id, 0);
    for (unsigned cached = 0; cached < 2; cached++) {
        list_cached(id, cached);
        send_both();
        assert_int_equal(rig_discard(1), 2);
    }
    assert_only_drop(DROP_ACL_DENIED, 4);
    assert_hits(id, 10, 2);
    assert_hits(id, 20, 2);
    assert_hits(id, 0, 4);
    assert_int_equal(list_hits(id, 10).bytes, 2 * 28); // layer 3 bytes
    assert_int_equal(list_hits(id, 0).bytes, 2 * 28 + 2 * 48);
}

path_test(an_output_list_is_asked_about_what_leaves_by_its_interface)
{
    struct list l = denies(ACL_DENY);
    uint16_t id = list_publish(&l, "edge");
    list_bind(out, 0, id);
    send_both();
    send("10.1.0.1", "10.0.0.9"); // leaves by another interface
    assert_int_equal(rig_poll_out(1), 2);
    assert_int_equal(rig_discard(0), 1);
    assert_only_drop(DROP_ACL_DENIED, 2);
    assert_hits(id, 10, 1);
    assert_hits(id, 0, 2);
}

path_test(an_empty_list_counts_and_its_default_decides)
{
    struct list l = {.otherwise = {.verb = ACL_PERMIT}};
    uint16_t id = list_publish(&l, "empty");
    list_bind(in, id, id);
    send_both();
    assert_int_equal(rig_discard(1), 4);
    assert_hits(id, 0, 4);
    l.otherwise.verb = ACL_DENY;
    list_replace(id, &l);
    send_both();
    assert_int_equal(rig_discard(1), 0);
    assert_only_drop(DROP_ACL_DENIED, 4);
    assert_hits(id, 0, 8);
}

// rfc: 1812 5.3.9 SHOULD
// rfc: 1812 5.2.7.1 SHOULD
// rfc: 4443 3.1 SHOULD
path_test(who_is_rejected_is_told_that_it_is_prohibited)
{
    struct frame f;

    struct list l = denies(ACL_REJECT);
    list_bind(in, list_publish(&l, "edge"), 0);
    rig_icmp_rate(1, 2);
    for (unsigned i = 0; i < 3; i++)
        send_both();
    assert_int_equal(rig_discard(1), 6);
    assert_int_equal(rig_drops(DROP_ACL_REJECTED), 6);
    unsigned four = 0, six = 0;
    while (rig_receive(0, &f)) {
        const uint8_t *ip = frame_l3(&f);
        if (ip[0] >> 4 == 4) {
            assert_int_equal(ip[20], 3);
            assert_int_equal(ip[21], 13);
            four++;
        } else {
            assert_int_equal(ip[40], 1);
            assert_int_equal(ip[41], 1);
            six++;
        }
    }
    assert_in_range(
        four + six, 2,
        3); // burst of the interface's bucket; one more if the test takes a second
    assert_in_range(four, 1, 2);
}

// Sends a segment to 20.0.0.1 or 2001:db8:b::1 port 80 with these flags, sequence number
// 0x01020304, acknowledgement 0x0a0b0c0d.
static void send_segment(bool six, uint8_t flags, unsigned data)
{
    uint8_t tcp[64] = {0x30, 0x39, 0, 80, 1, 2, 3, 4, 10, 11, 12, 13, 0x50, flags};
    struct frame f = ip_frame(.src = six ? "2001:db8:a:1::1" : "10.1.0.1",
                              .dst = six ? "2001:db8:b::1" : "20.0.0.1", .proto = 6, .l4 = tcp,
                              .l4_len = 20 + data);

    rig_forward(0, &f);
}

static void assert_reset(bool six, uint8_t flags, uint32_t seq, uint32_t ack)
{
    struct frame f;
    uint32_t word;

    assert_true(rig_receive(0, &f));
    const uint8_t *ip = frame_l3(&f), *tcp = ip + (six ? 40 : 20);
    assert_int_equal(tcp[-(six ? 40 : 20) + (six ? 6 : 9)], 6);
    assert_memory_equal(tcp, "\x00\x50\x30\x39", 4);
    memcpy(&word, tcp + 4, 4);
    assert_int_equal(be32toh(word), seq);
    memcpy(&word, tcp + 8, 4);
    assert_int_equal(be32toh(word), ack);
    assert_int_equal(tcp[13], flags);
    if (six) {
        uint32_t sum = checksum_pseudo6(ip + 8, ip + 24, 20, 6);
        assert_int_equal(checksum_finish(checksum_add(sum, tcp, 20)), 0);
    } else {
        uint8_t pseudo[4] = {0, 6, 0, 20};
        assert_true(frame_is_ip4_sound(&f));
        assert_memory_equal(ip + 12, "\x14\x00\x00\x01\x0a\x01\x00\x01", 8);
        assert_int_equal(checksum_finish(checksum_add(
                             checksum_add(checksum_add(0, ip + 12, 8), pseudo, 4), tcp, 20)),
                         0);
    }
}

// rfc: 9293 3.5.2 MUST
path_test(rejected_tcp_is_reset)
{
    enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

    struct list l = denies(ACL_REJECT);
    list_bind(in, list_publish(&l, "edge"), 0);
    rig_icmp_rate(1000, 1000);
    for (unsigned six = 0; six < 2; six++) {
        send_segment(six, SYN, 0);
        assert_reset(six, RST | ACK, 0, 0x01020305);
        send_segment(six, ACK, 7);
        assert_reset(six, RST, 0x0a0b0c0d, 0);
        send_segment(six, FIN, 7);
        assert_reset(six, RST | ACK, 0, 0x0102030c);
        send_segment(six, RST, 0);
        send_segment(six, RST | ACK, 0);
        assert_int_equal(rig_discard(0), 0);
    }
    assert_only_drop(DROP_ACL_REJECTED, 10);
    rig_icmp_rate(1, 3);
    for (unsigned i = 0; i < 9; i++)
        send_segment(false, SYN, 0);
    assert_in_range(rig_discard(0), 3, 4); // ICMP error limits apply
}

path_test(what_a_meter_does_not_let_pass_is_policed)
{
    router_role(ROLE_ACL_MANAGER);
    uint16_t meter = acl_meter_new(1, 5 * 1028); // five packets, then one in eight seconds
    struct list l = {0};
    side(&list_rule(&l, 10, ACL_IP4, ACL_PERMIT)->src, "10.1.0.0/16");
    list_action(&l)->extra = ACL_POLICE;
    list_action(&l)->meter = meter;
    uint16_t id = list_publish(&l, "edge");
    list_bind(in, id, 0);
    struct frame f = ip_frame(.src = "10.1.0.1", .dst = "20.0.0.1", .payload = 1000);
    rig_send_n(0, &f, 30);
    send("10.2.0.1", "20.0.0.1");
    assert_int_equal(rig_poll_out(1), 6);
    assert_only_drop(DROP_ACL_POLICED, 25);
    assert_hits(id, 10, 30);
    router_role(ROLE_ACL_MANAGER);
    acl_meter_free(meter);
}

path_test(a_mirror_gets_what_the_rule_matches)
{
    uint16_t third = rig_iface(2, 0, VR_DEFAULT);
    for (uint16_t p = 0; p < RIG_PORTS; p++)
        port_get(p)->mtu = 1500;
    router_role(ROLE_CONTROL);
    struct watch w = {.to = WATCH_TO_PORT, .to_port = iface_get(third)->port, .port = PORT_NONE};
    int watch = watch_new(&w, 0);
    assert_true(watch >= 0);
    struct list l = denies(ACL_DENY);
    l.action[0].extra = l.action[1].extra = ACL_MIRROR;
    router_role(ROLE_ACL_MANAGER);
    l.action[0].mirror = acl_mirror_get("ids");
    l.action[1].mirror = acl_mirror_get("other");
    router_role(ROLE_CONTROL);
    assert_int_equal(acl_mirror_lead("ids", (unsigned)watch), 0);
    l.action[1].verb = ACL_PERMIT;
    list_bind(in, list_publish(&l, "edge"), 0);
    send_both();
    assert_int_equal(rig_discard(1), 3);
    assert_int_equal(rig_discard(2), 1); // denied packets; the other session does not exist
    router_role(ROLE_CONTROL);
    assert_int_equal(acl_mirror_lead("other", (unsigned)watch), 0);
    assert_int_equal(acl_mirror_lead("ids", WATCH_MAX), 0);
    send_both();
    assert_int_equal(rig_discard(1), 3);
    assert_int_equal(rig_discard(2), 1); // permitted packets
    list_bind(in, 0, 0);
    rcu_synchronize();
    router_role(ROLE_CONTROL);
    acl_mirror_lead("other", WATCH_MAX);
    watch_free((unsigned)watch);
    router_role(ROLE_ACL_MANAGER);
    acl_mirror_put(l.action[0].mirror);
    acl_mirror_put(l.action[1].mirror);
}

static void redirect_put(uint16_t id)
{
    router_role(ROLE_ACL_MANAGER);
    acl_redirect_put(id);
}

static void assert_redirected(unsigned n, uint64_t sent, uint64_t no_way)
{
    static struct acl_redirect_row row[ACL_REDIRECT_MAX];
    uint64_t sum[2] = {0};

    assert_int_equal(acl_redirect_rows(row), n);
    for (unsigned i = 0; i < n; i++) {
        sum[0] += row[i].sent;
        sum[1] += row[i].no_way;
    }
    assert_int_equal(sum[0], sent);
    assert_int_equal(sum[1], no_way);
}

path_test(a_redirected_packet_goes_to_the_address_of_its_rule_while_it_can)
{
    uint16_t third = rig_iface(2, 0, VR_DEFAULT);
    uint32_t way = rig_adjacency(third, 3);
    struct list l = denies(ACL_PERMIT);
    l.action[0].extra = l.action[1].extra = ACL_REDIRECT;
    l.action[0].redirect = redirect_to("30.0.0.9");
    l.action[1].redirect = redirect_to("2001:db8:c::9");
    rig_route(VR_DEFAULT, "20.0.0.99/32", rig_nexthop(NEXTHOP_LOCAL, out));
    list_bind(in, list_publish(&l, "edge"), 0);
    send_both(); // no route to it yet
    assert_int_equal(rig_discard(1), 4);
    assert_redirected(2, 0, 2);
    rig_routes(VR_DEFAULT, "30.0.0.9/32", "2001:db8:c::/64", way);
    send_both();
    send("10.1.0.1", "20.0.0.99"); // to the router itself
    send("10.1.0.1", "99.0.0.1"); // no route needed
    assert_int_equal(rig_poll_out(1), 2);
    assert_int_equal(rig_discard(2), 3);
    assert_redirected(2, 3, 2);
    assert_true(rig_punted(PUNT_OTHER, &(struct frame){0}, NULL));
    router_role(ROLE_RIB_MANAGER);
    nexthop_set_kind(way, NEXTHOP_HOLD);
    send_both();
    assert_int_equal(rig_discard(1), 4); // by the FIB
    rig_route(VR_DEFAULT, "30.0.0.9/32",
              rig_group((uint32_t[]){rig_adjacency(third, 4), rig_adjacency(third, 5)}, 2));
    rig_route(VR_DEFAULT, "2001:db8:c::/64", rig_nexthop(NEXTHOP_BLACKHOLE, 0));
    send_both();
    assert_int_equal(rig_discard(1), 3);
    assert_int_equal(rig_discard(2), 1); // by some member
    assert_int_equal(rig_drops_all(), 0);
    assert_redirected(2, 4, 5);
    list_bind(in, 0, 0);
    redirect_put(l.action[0].redirect);
    redirect_put(l.action[1].redirect);
    assert_redirected(0, 0, 0);
    redirect_put((uint16_t[]){redirect_to("30.0.0.10")}[0]);
    uint16_t again = redirect_to("30.0.0.11"); // in the same slot: starts at 0
    assert_redirected(1, 0, 0);
    redirect_put(again);
}

path_test(a_redirect_of_the_other_family_changes_nothing)
{
    struct list l = denies(ACL_PERMIT);
    l.action[0].extra = l.action[1].extra = ACL_REDIRECT;
    l.action[0].redirect = l.action[1].redirect = redirect_to("2001:db8::9");
    list_bind(in, list_publish(&l, "edge"), 0);
    send_both();
    assert_int_equal(rig_discard(1), 4);
    assert_int_equal(rig_drops_all(), 0);
    list_bind(in, 0, 0);
    redirect_put(l.action[0].redirect);
}

path_test(redirected_packets_move_up_when_others_end)
{
    uint16_t third = rig_iface(2, 0, VR_DEFAULT);
    struct list l = denies(ACL_DENY);
    side(&list_rule(&l, 30, ACL_IP4, ACL_PERMIT)->src, "10.3.0.0/16");
    list_action(&l)->extra = ACL_REDIRECT;
    list_action(&l)->redirect = redirect_to("30.0.0.9");
    rig_route(VR_DEFAULT, "30.0.0.0/24", rig_adjacency(third, 3));
    list_bind(in, list_publish(&l, "edge"), 0);
    for (unsigned i = 0; i < 10; i++) {
        send("10.1.0.1", "20.0.0.1");
        send("10.2.0.1", "20.0.0.1");
        send("10.3.0.1", "20.0.0.1");
        send("10.1.0.1", "20.0.0.1");
    }
    assert_int_equal(rig_poll_out(1), 10);
    struct frame f;
    for (unsigned i = 0; i < 10; i++) {
        assert_true(rig_receive(2, &f));
        assert_memory_equal(frame_l3(&f) + 12, "\x0a\x03\x00\x01", 4);
    }
    assert_false(rig_receive(2, &f));
    assert_only_drop(DROP_ACL_DENIED, 20);
}

static struct acl_set *set_of(const char *const *address)
{
    struct acl_set *set = acl_set_new(0);
    struct acl_side s;

    assert_non_null(set);
    for (; *address; address++) {
        side(&s, *address);
        struct prefix p = {.family = 4, .len = s.len};
        memcpy(p.b, s.addr, 4);
        assert_int_equal(acl_set_change(set, NULL, 0, &p, 1, NULL), 0);
    }
    return set;
}

// Of 40 packets, the first ones are in the set and the last four come from an address next to a
// member; every second one is tagged, in another virtual router.
static void send_forty(uint16_t tagged, unsigned listed)
{
    for (unsigned i = 0; i < 40; i++) {
        struct frame f =
            ip_frame(.src = i < listed ? "10.9.0.1"
                            : i >= 36  ? "10.9.0.77"
                                       : "10.2.0.1",
                     .dst = "20.0.0.1", .vlan = i % 2 ? 7 : 0, .to_iface = i % 2 ? tagged : in);
        rig_send(0, &f);
    }
    assert_int_equal(rig_poll_out(1), (40 - listed) / 2);
    assert_int_equal(rig_discard(2), (40 - listed) / 2);
}

// The filter leaves eight of 40 packets open; while the set is searched for these, next hops are
// looked up, also for packets that are denied.
path_test(next_hops_are_looked_up_while_a_set_waits)
{
    uint16_t red = rig_vr("red"), tagged = rig_iface(0, 7, red), third = rig_iface(2, 0, red);
    struct list l = {.otherwise = {.verb = ACL_PERMIT},
                     .set = set_of((const char *const[]){"10.9.0.1", "10.9.0.2", NULL})};
    const struct forwarder *f = rig_forwarder(0);
    rig_route(red, "20.0.0.0/8", rig_adjacency(third, 3));
    list_rule(&l, 10, ACL_IP4, ACL_DENY)->src.set = 0;
    uint16_t id = list_publish(&l, "edge");
    list_bind(in, id, 0);
    list_bind(tagged, id, 0);
    send_forty(tagged, 4);
    assert_true(f->in4.decided.looked_up);
    send_forty(tagged, 36); // most are denied: no next hops are looked up
    assert_false(f->in4.decided.looked_up);
    iface_put_flags(iface_get(in), IFACE_REDIRECT, IFACE_REDIRECT);
    send_forty(tagged, 4);
    assert_false(f->in4.decided.looked_up);
    iface_put_flags(iface_get(in), IFACE_REDIRECT, 0);
    assert_hits(id, 10, 44);
    assert_hits(id, 0, 76);
    assert_only_drop(DROP_ACL_DENIED, 44);
    list_bind(in, 0, 0);
    list_bind(tagged, 0, 0);
    list_bind(out, 0, id); // after the lookup
    list_bind(third, 0, id);
    send_forty(tagged, 4);
    assert_false(f->in4.decided.looked_up);
    assert_hits(id, 10, 48);
    list_bind(out, 0, 0);
    list_bind(third, 0, 0);
    acl_set_free(l.set);
}

path_test(what_is_logged_is_told_with_rule_and_addresses)
{
    struct acl_log_entry e[4];

    struct list l = denies(ACL_DENY);
    l.action[0].extra = ACL_LOG;
    l.otherwise.extra = ACL_LOG;
    l.otherwise.log_every = UINT16_MAX;
    uint16_t id = list_publish(&l, "edge");
    list_bind(in, id, 0);
    send("10.1.0.1", "20.0.0.1");
    rig_poll();
    for (unsigned i = 0; i < 200; i++) {
        send("10.2.0.1", "20.0.0.1");
        rig_poll();
    }
    assert_int_equal(rig_discard(1), 200);
    router_role(ROLE_CONTROL);
    unsigned n = acl_log_take(e, 4);
    assert_in_range(n, 1, 2); // one in 65535
    assert_int_equal(e[0].rule, 10);
    assert_int_equal(e[0].list, id);
    assert_int_equal(e[0].iface, in);
    assert_int_equal(e[0].verb, ACL_DENY);
    assert_int_equal(e[0].len, 28);
    assert_false(e[0].out);
    assert_memory_equal(e[0].key.src, "\x0a\x01\x00\x01", 4);
    assert_memory_equal(e[0].key.dst, "\x14\x00\x00\x01", 4);
    assert_int_equal(e[0].key.l4.sport, 1000);
    assert_int_equal(e[0].key.l4.dport, 2000);
    assert_int_equal(e[0].key.l4.proto, 17);
}

// Checks class, DSCP and ECN bits of the next packet from port 1.
static void assert_leaves(int class, uint8_t tos)
{
    struct rte_mbuf *m = rig_receive_mbuf(1);

    assert_non_null(m);
    assert_int_equal(packet_class_get(m), class);
    struct frame f = frame_raw(rte_pktmbuf_mtod(m, void *), m->data_len);
    const uint8_t *ip = frame_l3(&f);
    if (ip[0] >> 4 == 4) {
        assert_true(frame_is_ip4_sound(&f));
        assert_int_equal(ip[1], tos);
    } else {
        assert_int_equal((uint8_t)(ip[0] << 4 | ip[1] >> 4), tos);
        assert_int_equal(ip[0] >> 4, 6);
        assert_memory_equal(ip + 1, ((uint8_t[]){(uint8_t)(tos << 4 | 0xa), 0xbc, 0xde}), 3);
    }
    rte_pktmbuf_free(m);
}

// With ECN 3, codepoint 10.
static void send_marked(const char *src, const char *dst, unsigned payload)
{
    struct frame f =
        ip_frame(.src = src, .dst = dst, .tos = 0x2b, .flow_label = 0xabcde, .payload = payload);

    rig_forward(0, &f);
}

static struct list marks(uint8_t class, uint8_t dscp)
{
    struct list l = denies(ACL_PERMIT);

    for (unsigned i = 0; i < 2; i++) {
        l.action[i].extra = ACL_CLASS | ACL_REMARK;
        l.action[i].class = class;
        l.action[i].dscp = dscp;
    }
    return l;
}

// rfc: 1624 3 MUST
path_test(a_packet_leaves_with_the_class_and_the_dscp_of_its_rule)
{
    struct list l = marks(3, 46), other = marks(0, 63);
    uint16_t id = list_publish(&l, "in"), last = list_publish(&other, "out");
    for (unsigned way = 0; way < 4; way++) { // cached or not; in or out
        list_cached(id, way & 1);
        list_bind(in, way & 2 ? 0 : id, 0);
        list_bind(out, 0, way & 2 ? id : 0);
        send_marked("10.1.0.1", "20.0.0.1", 0);
        assert_leaves(3, 46 << 2 | 3);
        send_marked("2001:db8:a:1::1", "2001:db8:b::1", 0);
        assert_leaves(3, 46 << 2 | 3);
        send_marked("10.2.0.1", "20.0.0.1", 0);
        assert_leaves(PACKET_CLASS_NONE, 0x2b);
        send_marked("2001:db8:a:2::1", "2001:db8:b::1", 0);
        assert_leaves(PACKET_CLASS_NONE, 0x2b);
    }
    list_bind(in, id, 0); // the last list decides
    list_bind(out, 0, last);
    send_marked("10.1.0.1", "20.0.0.1", 0);
    assert_leaves(0, 63 << 2 | 3);
    send_marked("2001:db8:a:1::1", "2001:db8:b::1", 0);
    assert_leaves(0, 63 << 2 | 3);
    assert_int_equal(rig_drops_all(), 0);
}

path_test(a_remarked_checksum_is_right_for_all_codepoints)
{
    struct list l = marks(7, 0);
    uint16_t id = list_publish(&l, "in");
    list_bind(in, id, 0);
    for (unsigned dscp = 0; dscp < 64; dscp++) {
        char dst[16];
        l = marks(7, (uint8_t)dscp);
        list_replace(id, &l);
        for (unsigned i = 0; i < 64; i++) {
            snprintf(dst, sizeof dst, "20.0.%u.%u", dscp * 4 + i % 4, i * 4);
            send_marked("10.1.0.1", dst, 0);
            assert_leaves(7, (uint8_t)(dscp << 2 | 3));
        }
    }
}

path_test(pieces_have_the_class_and_the_dscp_of_the_whole)
{
    struct list l = marks(5, 10);
    list_bind(in, list_publish(&l, "in"), 0);
    iface_get(out)->mtu = 600;
    router_role(ROLE_RIB_MANAGER);
    rig_route(VR_DEFAULT, "20.0.0.0/8", rig_adjacency(out, 7));
    send_marked("10.1.0.1", "20.0.0.1", 1000);
    assert_leaves(5, 0x2b);
    assert_leaves(5, 0x2b);
    assert_int_equal(rig_discard(1), 0);
}
