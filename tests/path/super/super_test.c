// SPDX-License-Identifier: BSD-3-Clause
// super_test.c - super-packets: whole through the router, or as their segments
#include <arpa/inet.h>
#include <rte_mbuf.h>
#include <stdlib.h>

#include "harness.h"

#include "base/checksum.h"
#include "table/super.h"
#include "table/watch.h"

enum { TCP = 6, UDP = 17, MSS = 1400, PAYLOAD = 5 * MSS + 100, SEGMENTS = 6 };
enum { FIN = 1, PSH = 8, ACK = 16, CWR = 128 };

static uint16_t in, out;

void rig_begin(void)
{
    rig_two_sides(&in, &out);
    port_get(0)->watch_rx = PORT_SUPERS;
    port_get(1)->watch_rx = PORT_SUPERS;
    port_get(0)->super = port_get(1)->super = SUPER_TCP | SUPER_UDP;
    exchange_mix();
}

static unsigned header_of(uint8_t proto)
{
    return proto == TCP ? 20 : 8;
}

// A super-packet of `payload` bytes, whose checksum nobody has computed.
static struct frame super_frame(const char *src, const char *dst, uint8_t proto, unsigned payload)
{
    uint8_t l4[PAYLOAD + 20] = {0};
    unsigned header = header_of(proto);

    for (unsigned i = header; i < header + payload; i++)
        l4[i] = (uint8_t)rand();
    if (proto == TCP) {
        l4[5] = 0xff; // sequence number 0x00ff0000
        l4[12] = 0x50;
        l4[13] = FIN | PSH | ACK | CWR;
    }
    return ip_frame(.src = src, .dst = dst, .proto = proto, .l4 = l4, .l4_len = header + payload,
                    .fragment = 0x4000);
}

static void send_super(struct frame *f, uint16_t segment)
{
    struct rte_mbuf *m = rig_mbuf(f, 2048);

    m->ol_flags |= RTE_MBUF_F_RX_LRO;
    m->tso_segsz = segment;
    rig_send_mbuf(0, 0, m);
    rig_poll();
}

static bool is_four(const struct frame *f)
{
    return f->b[14] >> 4 == 4;
}

static uint8_t *l4_of(struct frame *f)
{
    return f->b + 14 + (is_four(f) ? 20 : 40);
}

static uint8_t proto_of(const struct frame *f)
{
    return f->b[14 + (is_four(f) ? 9 : 6)];
}

static bool is_sound(struct frame *f)
{
    uint8_t *ip = f->b + 14, *l4 = l4_of(f);
    unsigned len = f->n - (unsigned)(l4 - f->b);
    uint32_t sum = is_four(f) ? checksum_add(htons((uint16_t)len) + htons(proto_of(f)), ip + 12, 8)
                              : checksum_pseudo6(ip + 8, ip + 24, len, proto_of(f));

    if (is_four(f) && !frame_is_ip4_sound(f))
        return false;
    if (proto_of(f) == UDP && (unsigned)(l4[4] << 8 | l4[5]) != len)
        return false;
    return !checksum_finish(checksum_add(sum, l4, len));
}

// Are these n frames from port `from`, in order, the segments of `sent`?
static void assert_segments(unsigned from, struct frame *sent, unsigned n)
{
    uint8_t proto = proto_of(sent);
    unsigned header = (unsigned)(l4_of(sent) - sent->b) + header_of(proto), at = header;

    for (unsigned k = 0; k < n; k++) {
        struct frame got;
        assert_true(rig_receive(from, &got));
        assert_true(is_sound(&got));
        assert_in_range(got.n, header + 1, header + MSS);
        assert_memory_equal(got.b + header, sent->b + at, got.n - header);
        uint8_t *l4 = l4_of(&got);
        if (proto == TCP) {
            assert_int_equal(l4[4] << 24 | l4[5] << 16 | l4[6] << 8 | l4[7],
                             0x00ff0000 + (int)(k * MSS));
            assert_int_equal(l4[13], ACK | (k ? 0 : CWR) | (k + 1 < n ? 0 : FIN | PSH));
        }
        if (is_four(sent))
            assert_int_equal((got.b[18] << 8 | got.b[19]) - (sent->b[18] << 8 | sent->b[19]), k);
        at += got.n - header;
    }
    assert_int_equal(at, sent->n);
    assert_int_equal(rig_discard(from), 0);
}

static const struct flow {
    const char *src, *dst, *to_us;
    uint8_t proto;
} flows[] = {{"10.0.0.2", "20.0.0.1", "10.0.0.1", TCP},
             {"10.0.0.2", "20.0.0.1", "10.0.0.1", UDP},
             {"2001:db8:a::2", "2001:db8:b::1", "2001:db8:a::1", TCP},
             {"2001:db8:a::2", "2001:db8:b::1", "2001:db8:a::1", UDP}};
#define each_flow(f)                                                                               \
    const struct flow *f = flows;                                                                  \
    f < flows + 4;                                                                                 \
    f++

static struct frame of_flow(const struct flow *f)
{
    return super_frame(f->src, f->dst, f->proto, PAYLOAD);
}

// Interface counters count segments, whether or not the super-packet was cut.
static void assert_counted(const struct frame *sent)
{
    unsigned header = (unsigned)(l4_of((struct frame *)sent) - sent->b) + header_of(proto_of(sent));

    assert_int_equal(rig_counted(in).rx_packets, SEGMENTS);
    assert_int_equal(rig_counted(in).rx_bytes, sent->n + (SEGMENTS - 1) * header);
    assert_int_equal(rig_counted(out).tx_packets, SEGMENTS);
    assert_int_equal(rig_counted(out).tx_bytes, sent->n + (SEGMENTS - 1) * header);
}

static void assert_whole(struct frame *sent)
{
    struct rte_mbuf *m = rig_receive_mbuf(1);

    assert_non_null(m);
    assert_true(m->ol_flags & (RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_UDP_SEG));
    assert_int_equal(m->tso_segsz, MSS);
    assert_int_equal(m->pkt_len, sent->n);
    const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, 14);
    assert_int_equal(ip[is_four(sent) ? 8 : 7], 63);
    rte_pktmbuf_free(m);
}

path_test(a_super_packet_passes_whole)
{
    for (each_flow(f)) {
        rig_teardown(NULL);
        rig_setup(NULL);
        struct frame sent = of_flow(f);
        send_super(&sent, MSS);
        assert_whole(&sent);
        assert_counted(&sent);
    }
}

path_test(the_sample_of_flows_takes_it_whole)
{
    router_role(ROLE_CONTROL);
    const struct watch all = {.to = WATCH_TO_SLOTS,
                              .port = PORT_NONE,
                              .snap = 128,
                              .every = 1,
                              .seed = 1,
                              .flows = true};
    assert_int_equal(watch_new(&all, 8), WATCH_FLOWS);
    watch_bit_set(&port_get(0)->watch_rx, WATCH_FLOWS, true);
    struct frame sent = of_flow(&flows[0]);
    send_super(&sent, MSS);
    assert_whole(&sent);
    router_role(ROLE_CONTROL);
    assert_int_equal(watch_sum(WATCH_FLOWS).taken, 1);
    assert_int_equal(watch_sum(WATCH_FLOWS).bytes, sent.n);
    watch_bit_set(&port_get(0)->watch_rx, WATCH_FLOWS, false);
    watch_free(WATCH_FLOWS);
}

path_test(a_port_that_cannot_send_it_sends_its_segments)
{
    for (each_flow(f)) {
        rig_teardown(NULL);
        rig_setup(NULL);
        port_get(1)->super = 0;
        struct frame sent = of_flow(f);
        send_super(&sent, MSS);
        assert_segments(1, &sent, SEGMENTS);
        assert_counted(&sent);
    }
}

path_test(an_input_check_sees_segments)
{
    for (each_flow(f)) {
        rig_teardown(NULL);
        rig_setup(NULL);
        iface_put_flags(iface_get(in), IFACE_URPF4 | IFACE_URPF6, IFACE_URPF4 | IFACE_URPF6);
        iface_get(in)->policy.urpf[0] = iface_get(in)->policy.urpf[1] = URPF_LOOSE;
        struct frame sent = of_flow(f);
        send_super(&sent, MSS);
        assert_segments(1, &sent, SEGMENTS);
        assert_counted(&sent);
    }
}

path_test(many_segments_take_several_bursts)
{
    port_get(1)->super = 0;
    iface_put_flags(iface_get(in), IFACE_URPF4, IFACE_URPF4);
    iface_get(in)->policy.urpf[0] = URPF_LOOSE;
    for (unsigned round = 0; round < 2; round++) {
        struct frame sent = super_frame("10.0.0.2", "20.0.0.1", TCP, 7000);
        send_super(&sent, 50);
        assert_int_equal(rig_discard(1), 140);
        iface_put_flags(iface_get(in), IFACE_URPF4, 0); // then at the exit
    }
}

path_test(the_mtu_is_that_of_a_segment)
{
    struct frame sent = of_flow(&flows[0]), error;

    rig_icmp_rate(1000, 1000);
    iface_get(out)->mtu = 1440; // 20 + 20 + 1400
    rig_route(VR_DEFAULT, "20.0.0.0/8", rig_adjacency(out, 3));
    send_super(&sent, MSS);
    assert_whole(&sent);
    iface_get(out)->mtu = 1439;
    rig_route(VR_DEFAULT, "20.0.0.0/8", rig_adjacency(out, 4));
    send_super(&sent, MSS);
    assert_int_equal(rig_drops(DROP_IP4_TOO_BIG), SEGMENTS - 1); // the last one fits
    assert_int_equal(rig_discard(1), 1);
    assert_true(rig_receive(0, &error));
    assert_int_equal(error.b[14 + 20], 3);
    assert_int_equal(error.b[14 + 20 + 6] << 8 | error.b[14 + 20 + 7], 1439);
}

path_test(what_is_for_us_comes_as_segments)
{
    for (each_flow(f)) {
        struct frame sent = super_frame(f->src, f->to_us, f->proto, PAYLOAD), got;
        uint16_t iface;
        unsigned n = 0;
        rig_routes(VR_DEFAULT, "10.0.0.1/32", "2001:db8:a::1/128", rig_nexthop(NEXTHOP_LOCAL, in));
        send_super(&sent, MSS);
        for (unsigned c = 0; c < PUNT_CLASS_N; c++)
            while (rig_punted(c, &got, &iface))
                n += is_sound(&got);
        assert_int_equal(n, SEGMENTS);
    }
}

path_test(a_ttl_that_ends_here_is_answered)
{
    struct frame sent = of_flow(&flows[0]), error;

    rig_icmp_rate(1000, 1000);
    sent.b[14 + 8] = 1;
    ip4_fix_checksum(&sent);
    send_super(&sent, MSS);
    assert_only_drop(DROP_IP4_TTL, SEGMENTS);
    assert_true(rig_receive(0, &error));
    assert_int_equal(error.b[14 + 20], 11);
}

path_test(one_that_cannot_be_read_is_dropped)
{
    struct frame sent = of_flow(&flows[0]);

    send_super(&sent, 0);
    assert_only_drop(DROP_OFFLOAD_CUT, 1);
    sent.b[14 + 9] = 47; // GRE
    ip4_fix_checksum(&sent);
    send_super(&sent, MSS);
    assert_only_drop(DROP_OFFLOAD_CUT, 2);
}

// --- segments that become a super-packet ---

static void fix_checksums(struct frame *f)
{
    uint8_t *ip = f->b + 14, *l4 = l4_of(f);
    unsigned len = f->n - (unsigned)(l4 - f->b);
    uint32_t sum = is_four(f) ? checksum_add(htons((uint16_t)len) + htons(proto_of(f)), ip + 12, 8)
                              : checksum_pseudo6(ip + 8, ip + 24, len, proto_of(f));

    memset(l4 + 16, 0, 2);
    uint16_t right = checksum_finish(checksum_add(sum, l4, len));
    memcpy(l4 + 16, &right, 2);
    if (is_four(f))
        ip4_fix_checksum(f);
}

static void set_sequence(struct frame *f, uint32_t v)
{
    v = htonl(v);
    memcpy(l4_of(f) + 4, &v, 4);
}

// Segment k of a flow, as a host sends it that cuts its data itself.
static struct frame segment_of(const struct flow *flow, unsigned k, unsigned payload, uint8_t flags)
{
    struct frame f = super_frame(flow->src, flow->dst, TCP, payload);

    l4_of(&f)[13] = flags;
    set_sequence(&f, 0x00ff0000 + k * MSS);
    fix_checksums(&f);
    return f;
}

static const struct flow *const tcp_flows[] = {&flows[0], &flows[2]};
#define each_tcp_flow(f)                                                                           \
    const struct flow *const *f = tcp_flows;                                                       \
    f < tcp_flows + 2;                                                                             \
    f++

// Sends SEGMENTS in one burst, the last one short and pushed.
static void send_segments(const struct flow *flow, struct frame sent[SEGMENTS])
{
    for (unsigned k = 0; k < SEGMENTS; k++) {
        bool last = k + 1 == SEGMENTS;
        sent[k] = segment_of(flow, k, last ? 100 : MSS, last ? ACK | PSH : ACK);
        rig_send_mbuf(0, 0, rig_mbuf(&sent[k], 1000 + 2 * k));
    }
    rig_poll();
}

path_test(segments_of_a_burst_leave_as_one)
{
    for (each_tcp_flow(f)) {
        struct frame sent[SEGMENTS];
        rig_teardown(NULL);
        rig_setup(NULL);
        send_segments(*f, sent);
        struct rte_mbuf *m = rig_receive_mbuf(1);
        assert_non_null(m);
        const unsigned header = sent[0].n - MSS;
        uint8_t all[PAYLOAD + 100];
        assert_int_equal(m->pkt_len, header + PAYLOAD);
        const uint8_t *got = rte_pktmbuf_read(m, 0, m->pkt_len, all);
        assert_int_equal(m->tso_segsz, MSS);
        assert_true(m->ol_flags & RTE_MBUF_F_TX_TCP_SEG);
        for (unsigned k = 0; k < SEGMENTS; k++)
            assert_memory_equal(got + header + k * MSS, sent[k].b + header, sent[k].n - header);
        assert_int_equal(got[header - 20 + 13], ACK | PSH);
        assert_int_equal(is_four(&sent[0]) ? got[16] << 8 | got[17] : 40 + (got[18] << 8 | got[19]),
                         m->pkt_len - 14);
        rte_pktmbuf_free(m);
        assert_int_equal(rig_discard(1), 0);
        assert_int_equal(rig_counted(in).rx_packets, SEGMENTS);
        assert_int_equal(rig_counted(in).rx_bytes, header * SEGMENTS + PAYLOAD);
        assert_int_equal(rig_counted(out).tx_packets, SEGMENTS);
        assert_int_equal(rig_counted(out).tx_bytes, header * SEGMENTS + PAYLOAD);
    }
}

path_test(joined_segments_leave_as_they_came)
{
    for (each_tcp_flow(f)) {
        struct frame sent[SEGMENTS], got;
        rig_teardown(NULL);
        rig_setup(NULL);
        port_get(1)->super = 0;
        for (unsigned round = 0; round < 2; round++) { // joined and cut, then not joined
            send_segments(*f, sent);
            for (unsigned k = 0; k < SEGMENTS; k++) {
                assert_true(rig_receive(1, &got));
                assert_true(is_sound(&got));
                assert_int_equal(got.n, sent[k].n);
                assert_memory_equal(l4_of(&got), l4_of(&sent[k]), got.n - (l4_of(&got) - got.b));
            }
            assert_int_equal(rig_discard(1), 0);
        }
    }
}

// Changes one thing in the second of three segments.
static void set_window(struct frame *f)
{
    l4_of(f)[15]++;
}
static void set_acknowledged(struct frame *f)
{
    l4_of(f)[11]++;
}
static void set_urgent(struct frame *f)
{
    l4_of(f)[13] |= 32;
}
static void set_fin(struct frame *f)
{
    l4_of(f)[13] |= FIN;
}
static void set_cwr(struct frame *f)
{
    l4_of(f)[13] |= CWR;
}
static void set_no_ack(struct frame *f)
{
    l4_of(f)[13] &= (uint8_t)~ACK;
}
static void set_gap(struct frame *f)
{
    set_sequence(f, 0x00ff0000 + MSS + 1);
}
static void set_again(struct frame *f)
{
    set_sequence(f, 0x00ff0000);
}
static void set_ttl(struct frame *f)
{
    f->b[14 + (is_four(f) ? 8 : 7)]--;
}
static void set_ecn(struct frame *f)
{
    f->b[15] ^= is_four(f) ? 1 : 16;
}
static void set_options(struct frame *f)
{
    l4_of(f)[12] = 0x60;
}
static void set_larger(struct frame *f)
{
    f->n++;
    f->b[14 + (is_four(f) ? 3 : 5)]++;
    f->b[f->n - 1] = 0;
}
static void set_other_mac(struct frame *f)
{
    f->b[11]++;
}
static void set_fragmentable(struct frame *f)
{
    if (is_four(f))
        f->b[20] = 0;
    else
        f->b[17]++; // flow label
}

static void (*const changes[])(struct frame *f) = {
    set_window,  set_acknowledged, set_urgent,    set_fin,         set_cwr,
    set_no_ack,  set_gap,          set_again,     set_ttl,         set_ecn,
    set_options, set_larger,       set_other_mac, set_fragmentable};

// Sends three segments, the second one changed; returns how many packets leave, in order of
// sending.
static unsigned leave_with(const struct flow *flow, void (*change)(struct frame *), bool is_right)
{
    static const char *const order = "abc";
    unsigned n = 0;
    struct rte_mbuf *m;

    for (unsigned k = 0; k < 3; k++) {
        struct frame f = segment_of(flow, k, MSS, ACK);
        f.b[f.n - 1] = (uint8_t)order[k];
        if (k == 1)
            change(&f);
        fix_checksums(&f);
        if (k == 1 && !is_right)
            l4_of(&f)[16]++;
        rig_send_mbuf(0, 0, rig_mbuf(&f, 100 + 2 * k));
    }
    rig_poll();
    while ((m = rig_receive_mbuf(1))) {
        assert_false(super_is_sent(m));
        rte_pktmbuf_free(m);
        n++;
    }
    return n;
}

path_test(segments_that_differ_are_not_joined)
{
    for (each_tcp_flow(f))
        for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
            rig_teardown(NULL);
            rig_setup(NULL);
            assert_int_equal(leave_with(*f, changes[i], true), 3);
        }
}

static void change_nothing(struct frame *f)
{
    (void)f;
}

path_test(a_wrong_checksum_stays_wrong)
{
    for (each_tcp_flow(f)) {
        rig_teardown(NULL);
        rig_setup(NULL);
        assert_int_equal(leave_with(*f, change_nothing, false), 3);
    }
}

path_test(headers_stay_in_one_buffer)
{
    for (each_tcp_flow(f)) {
        struct frame got;
        unsigned n = 0;
        rig_teardown(NULL);
        rig_setup(NULL);
        for (unsigned k = 0; k < 8; k++) {
            struct frame s = segment_of(*f, 0, 50, ACK);
            set_sequence(&s, 50 * k);
            fix_checksums(&s);
            rig_send_mbuf(0, 0, rig_mbuf(&s, 2048));
        }
        rig_poll();
        while (rig_receive(1, &got))
            n++;
        assert_int_equal(n, 8);
    }
}

path_test(flows_are_joined_by_themselves)
{
    unsigned wholes = 0, n = 0;
    struct rte_mbuf *m;

    for (unsigned k = 0; k < 4; k++)
        for (unsigned flow = 0; flow < 3; flow++) {
            struct frame f = segment_of(tcp_flows[flow % 2], k, MSS, ACK);
            if (flow == 2)
                l4_of(&f)[1] = 7; // source port
            fix_checksums(&f);
            rig_send_mbuf(0, 0, rig_mbuf(&f, 400 + 2 * k));
        }
    rig_poll();
    for (; (m = rig_receive_mbuf(1)); n++) {
        wholes += super_is_sent(m);
        assert_in_range(m->pkt_len, 54 + 4 * MSS, 74 + 4 * MSS);
        rte_pktmbuf_free(m);
    }
    assert_int_equal(n, 3);
    assert_int_equal(wholes, 3);
}

// Nothing that a sender writes may break anything: the ledger ends at 0, and no buffer is missing.
path_test(mutated_super_packets_end_somewhere)
{
    for (unsigned i = 0; i < 20000; i++) {
        struct frame f = of_flow(&flows[i % 4]);
        uint16_t segment = (uint16_t[]){MSS, 1, 3, 48, 65535, (uint16_t)rand()}[rand() % 6];
        for (unsigned k = (unsigned)rand() % 4; k; k--)
            f.b[rand() % 80] = (uint8_t)rand();
        if (rand() % 2 && is_four(&f))
            ip4_fix_checksum(&f);
        if (rand() % 8 == 0)
            f.n = 14 + (unsigned)rand() % (f.n - 14);
        port_get(1)->super = i % 4;
        send_super(&f, segment);
        rig_discard(0);
        rig_discard(1);
        if (i % 64)
            continue;
        struct rte_mbuf *m;
        struct frame got;
        uint16_t iface;
        for (unsigned c = 0; c < PUNT_CLASS_N; c++)
            while (rig_punted(c, &got, &iface))
                continue;
        while ((m = rig_held()))
            rig_release(m);
    }
}
