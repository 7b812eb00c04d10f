// SPDX-License-Identifier: BSD-3-Clause
// flow_test.c - sFlow and IPFIX datagrams byte by byte; the flow cache against a naive model;
// frames cut at any length
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "export/flow_cache.h"
#include "export/ipfix_write.h"
#include "export/sample_packet.h"
#include "export/sflow_write.h"
#include "tests/unit.h"

static void assert_bytes(const struct text *t, const uint8_t *wanted, size_t n)
{
    assert_int_equal(t->n, n);
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)t->s[i] != wanted[i])
            fail_msg("byte %zu is %02x, expected %02x", i, (uint8_t)t->s[i], wanted[i]);
}

unit_test(an_sflow_packet_is_written_as_specified)
{
    static const uint8_t wanted[] = {
        0, 0, 0, 5,    0, 0, 0,    1,    192, 0, 2, 1,    0,  0, 0, 0,
        0, 0, 0, 7,    0, 0, 0x30, 0x39, 0,   0, 0, 1, // version … uptime, one sample
        0, 0, 0, 1,    0, 0, 0,    112,                // flow sample, length
        0, 0, 0, 9,    0, 0, 0,    3,    0,   0, 3, 0xe8, 0,  1, 0, 0,
        0, 0, 0, 2,    0, 0, 0,    3,    0,   0, 0, 4,    0,  0, 0, 3, // sequence … records
        0, 0, 0, 1,    0, 0, 0,    24,   0,   0, 0, 1,    0,  0, 0, 64,
        0, 0, 0, 4,    0, 0, 0,    5,    1,   2, 3, 4,    5,  0, 0, 0, // raw header, padded
        0, 0, 3, 0xe9, 0, 0, 0,    16,   0,   0, 0, 40,   0,  0, 0, 5,
        0, 0, 0, 0,    0, 0, 0,    0, // extended switch
        0, 0, 3, 0xea, 0, 0, 0,    16,   0,   0, 0, 1,    10, 0, 0, 2,
        0, 0, 0, 24,   0, 0, 0,    8}; // extended router
    const struct ip_addr agent = {.family = IP4, .b = {192, 0, 2, 1}};
    struct text t = {0};

    sflow_begin(&t, &agent, 7, 12345);
    assert_int_equal(sflow_samples(&t), 0);
    sflow_packet(&t, &(struct sflow_packet){.sequence = 9,
                                            .source = 3,
                                            .rate = 1000,
                                            .pool = 65536,
                                            .drops = 2,
                                            .input = 3,
                                            .output = 4,
                                            .length = 60,
                                            .frame = (const uint8_t[]){1, 2, 3, 4, 5},
                                            .kept = 5,
                                            .vlan = 40,
                                            .priority = 5,
                                            .gateway = {.family = IP4, .b = {10, 0, 0, 2}},
                                            .src_len = 24,
                                            .dst_len = 8});
    assert_int_equal(sflow_samples(&t), 1);
    assert_bytes(&t, wanted, sizeof wanted);
    text_free(&t);
}

unit_test(the_largest_sflow_sample_is_not_larger_than_promised)
{
    const struct ip_addr agent = {.family = IP6};
    uint8_t frame[SFLOW_HEADER_MAX + 50] = {0};
    struct text t = {0};

    sflow_begin(&t, &agent, 0, 0);
    size_t head = t.n;
    sflow_packet(&t, &(struct sflow_packet){
                         .frame = frame, .kept = sizeof frame, .gateway = {.family = IP6}});
    assert_in_range(t.n - head, SFLOW_HEADER_MAX, SFLOW_SAMPLE_MAX);
    sflow_counters(&t, &(struct sflow_counters){
                           .speed_bps = 100000000000, .up = true, .in_bytes = 1ull << 40});
    assert_int_equal(sflow_samples(&t), 2);
    assert_int_equal(t.n % 4, 0);
    assert_in_range(t.n, head, head + 2 * SFLOW_SAMPLE_MAX);
    text_free(&t);
}

static const struct flow flow6 = {.key = {.src = {.family = IP6, .b = {0x20, 1}},
                                          .dst = {.family = IP6, .b = {0x20, 2}},
                                          .sport = 1,
                                          .dport = 2,
                                          .proto = 6,
                                          .tos = 0xb8,
                                          .in = 3,
                                          .out = 4},
                                  .tcp_flags = 0x12,
                                  .packets = 5,
                                  .bytes = 600,
                                  .first_ms = 1000,
                                  .last_ms = 2000};

unit_test(an_ipfix_message_is_written_as_the_rfc_has_it)
{
    static const uint8_t head[] = {0, 10, 1, 95, 1,  2, 3, 4, 0,  0, 0, 9,  0, 0, 0,
                                   1, 0,  2, 1,  44, 1, 0, 0, 15, 0, 8, 0,  4, 0, 12,
                                   0, 4,  0, 15, 0,  4, 0, 7, 0,  2, 0, 11, 0, 2};
    static const uint8_t options[] = {
        0, 3, 0,  22, 1, 2, 0,  3, 0, 1, 0, 149,  0,
        4, 0, 34, 0,  4, 0, 35, 0, 1,                 // options template 258
        1, 2, 0,  13, 0, 0, 0,  1, 0, 0, 3, 0xe8, 2}; // 1 in 1000, at random
    static const uint8_t record[] = {0, 1, 0, 2, 6, 0xb8, 0x12, 2,    0, 0, 0, 3, 0, 0, 0,    4,
                                     0, 0, 0, 0, 0, 0,    2,    0x58, 0, 0, 0, 0, 0, 0, 0,    5,
                                     0, 0, 0, 0, 0, 0,    0x13, 0x88, 0, 0, 0, 0, 0, 0, 0x17, 0x70};
    struct ipfix_message m = {0};

    ipfix_begin(&m, 0x01020304, 9, 1);
    ipfix_templates(&m, 1, 1000);
    ipfix_end(&m);
    assert_int_equal(m.t.n, 183 + 2 * (4 + 20 * 4));
    assert_memory_equal(m.t.s, head, sizeof head);
    assert_memory_equal(m.t.s + m.t.n - sizeof options, options, sizeof options);
    assert_int_equal(m.records, 1);
    ipfix_begin(&m, 0, 10, 1);
    ipfix_flow(&m, &flow6, FLOW_END_ACTIVE, 4000);
    ipfix_flow(&m, &flow6, FLOW_END_ACTIVE, 4000);
    ipfix_end(&m);
    assert_int_equal(m.records, 2);
    assert_int_equal(m.t.n, 16 + 4 + 2 * (48 + sizeof record));
    assert_memory_equal(m.t.s + 16, ((uint8_t[]){1, 1, 0, 4 + 2 * (48 + sizeof record)}),
                        4); // one set, of template 257
    assert_memory_equal(m.t.s + 20 + 48, record, sizeof record);
    assert_in_range(4 + 48 + sizeof record, 1, IPFIX_RECORD_MAX);
    struct flow labeled = flow6;
    labeled.key.labels = (struct sample_stack){5, {{0, 1, 0x0a}, {0, 2, 0}, {0, 3, 0}, {0, 4, 0}}};
    ipfix_begin(&m, 0, 12, 1);
    ipfix_flow(&m, &labeled, FLOW_END_ACTIVE, 4000);
    ipfix_end(&m);
    assert_memory_equal(m.t.s + 16, ((uint8_t[]){1, 4, 0, 4 + 48 + sizeof record + 16}), 4);
    assert_memory_equal(m.t.s + m.t.n - 16,
                        ((uint8_t[]){0, 0, 0, 5, 0, 1, 0x0a, 0, 2, 0, 0, 3, 0, 0, 4, 0}), 16);
    assert_in_range(m.t.n - 16, 1, IPFIX_RECORD_MAX);
    text_free(&m.t);
}

// --- the flow cache -----------------------------------------------------------------------------

#define KEYS 64
#define ROOM 16
static struct naive {
    bool there;
    uint64_t packets, bytes, first, last, order;
} naive[KEYS];
static uint64_t told_packets[KEYS], told_bytes[KEYS], ends[8], expect_packets[KEYS],
    expect_bytes[KEYS], expect_ends[8];

static void tell(const struct flow *f, enum flow_end why)
{
    told_packets[f->key.sport] += f->packets;
    told_bytes[f->key.sport] += f->bytes;
    assert_true(f->packets > 0 && f->first_ms <= f->last_ms);
    ends[why]++;
}

static void naive_end(unsigned k, enum flow_end why)
{
    expect_packets[k] += naive[k].packets;
    expect_bytes[k] += naive[k].bytes;
    expect_ends[why]++;
    naive[k].packets = naive[k].bytes = 0;
    naive[k].there = why == FLOW_END_ACTIVE;
}

static int naive_oldest(void)
{
    int oldest = -1;

    for (int k = 0; k < KEYS; k++)
        if (naive[k].there && (oldest < 0 || naive[k].order < naive[oldest].order))
            oldest = k;
    return oldest;
}

static unsigned naive_used(void)
{
    unsigned n = 0;

    for (unsigned k = 0; k < KEYS; k++)
        n += naive[k].there;
    return n;
}

static void naive_add(unsigned k, uint32_t bytes, uint64_t now, uint64_t active)
{
    static uint64_t order;

    if (!naive[k].there && naive_used() == ROOM)
        naive_end((unsigned)naive_oldest(), FLOW_END_NO_ROOM);
    if (naive[k].there && now - naive[k].first >= active)
        naive_end(k, FLOW_END_ACTIVE);
    if (!naive[k].packets)
        naive[k].first = now;
    naive[k].there = true;
    naive[k].packets++;
    naive[k].bytes += bytes;
    naive[k].last = now;
    naive[k].order = ++order;
}

unit_test(the_flow_cache_does_what_a_naive_one_does)
{
    struct flow_cache *c = flow_cache_new(ROOM, tell);
    uint64_t dice = 1, now = 5;

    assert_non_null(c);
    for (unsigned i = 0; i < 50000; i++) {
        uint64_t d = hash_mix64(++dice);
        unsigned k = d >> 8 & (d & 1 ? KEYS - 1 : 7);
        struct flow_key key;
        memset(&key, 0, sizeof key);
        key.src.family = key.dst.family = IP4;
        key.sport = (uint16_t)k;
        now += d >> 20 & 15;
        flow_cache_add(c, &key, &(struct flow_packet){.packets = 1, .bytes = 100 + k}, now, 500);
        naive_add(k, 100 + k, now, 500);
        if (d >> 40 & 7)
            continue;
        unsigned n = flow_cache_end(c, now - 80, 3, FLOW_END_INACTIVE);
        for (int o = naive_oldest(); o >= 0 && naive[o].last < now - 80 && n;
             o = naive_oldest(), n--)
            naive_end((unsigned)o, FLOW_END_INACTIVE);
        assert_int_equal(n, 0);
        assert_int_equal(flow_cache_used(c), naive_used());
    }
    flow_cache_end(c, UINT64_MAX, UINT32_MAX, FLOW_END_FORCED);
    for (int o = naive_oldest(); o >= 0; o = naive_oldest())
        naive_end((unsigned)o, FLOW_END_FORCED);
    assert_int_equal(flow_cache_used(c), 0);
    assert_memory_equal(told_packets, expect_packets, sizeof told_packets);
    assert_memory_equal(told_bytes, expect_bytes, sizeof told_bytes);
    assert_memory_equal(ends, expect_ends, sizeof ends);
    assert_true(ends[FLOW_END_ACTIVE] && ends[FLOW_END_INACTIVE] && ends[FLOW_END_NO_ROOM]);
    flow_cache_free(c);
}

static void add_up(void *ctx, const struct flow *f)
{
    uint64_t *sum = ctx;

    sum[0] += f->packets;
    sum[1] += f->bytes;
    sum[2] += f->packets_before;
    sum[3] += f->bytes_before;
}

unit_test(a_flow_keeps_the_counts_of_the_period_before)
{
    const struct flow_packet sixteen = {.packets = 16, .bytes = 1600};
    struct flow_cache *c = flow_cache_new(ROOM, NULL); // nobody is told
    struct flow_key key;
    uint64_t sum[4] = {0};

    memset(&key, 0, sizeof key);
    for (uint64_t now = 0; now <= 1000; now += 100)
        flow_cache_add(c, &key, &sixteen, now, 500);
    flow_cache_each(c, add_up, sum); // periods begin at 0, 500 and 1000
    assert_int_equal(sum[0], 16);
    assert_int_equal(sum[1], 1600);
    assert_int_equal(sum[2], 5 * 16);
    assert_int_equal(sum[3], 5 * 1600);
    assert_int_equal(flow_cache_end(c, UINT64_MAX, UINT32_MAX, FLOW_END_FORCED), 1);
    flow_cache_free(c);
}

// --- frames -------------------------------------------------------------------------------------

unit_test(frames_cut_anywhere_are_read_as_far_as_they_go)
{
    uint8_t frame[200] = {[12] = 0x88, 0xa8, 0, 9,   0x81, 0, 0, 5,  8, 0, 0x45, 0x10, 0,    60,  0,
                          0,           0x40, 0, 64,  6,    0, 0, 10, 0, 0, 1,    10,   0,    0,   2,
                          0,           80,   1, 187, 0,    0, 0, 0,  0, 0, 0,    0,    0x50, 0x12};
    struct sample_packet p;

    for (unsigned n = 0; n <= sizeof frame; n++) {
        uint8_t *cut = malloc(n ? n : 1); // exact size: AddressSanitizer sees reads beyond it
        memcpy(cut, frame, n);
        sample_packet_read(cut, n, &p);
        assert_int_equal(p.src.family, n >= 22 + 20 ? IP4 : IP_NONE);
        assert_int_equal(p.dport, n >= 42 + 4 ? 443 : 0);
        assert_int_equal(p.tcp_flags, n >= 42 + 14 ? 0x12 : 0);
        free(cut);
    }
    assert_true(p.sport == 80 && p.proto == 6 && p.tos == 0x10 && p.length == 60 &&
                p.dst.b[3] == 2);
    frame[29] = 1; // a later fragment
    sample_packet_read(frame, sizeof frame, &p);
    assert_true(p.src.family == IP4 && !p.sport && !p.dport && !p.tcp_flags);
}

unit_test(ports_of_ipv6_and_the_type_of_icmp_are_read)
{
    uint8_t frame[100] = {[12] = 0x86, 0xdd, 0x6b, 0x80,        0, 0,        0,  16, 17,
                          64,          0x20, 1,    [38] = 0x20, 2, [54] = 0, 53, 1,  0};
    struct sample_packet p;

    sample_packet_read(frame, sizeof frame, &p);
    assert_true(p.src.family == IP6 && p.src.b[0] == 0x20 && p.dst.b[1] == 2 && p.sport == 53 &&
                p.dport == 256 && p.tos == 0xb8 && p.length == 56);
    frame[20] = 58;
    frame[54] = 128;
    frame[55] = 3;
    sample_packet_read(frame, sizeof frame, &p);
    assert_true(p.proto == 58 && p.sport == 0 && p.dport == 0x8003);
}

unit_test(the_packet_below_labels_is_read)
{
    uint8_t frame[100] = {[12] = 0x88, 0x47,        0, 0x40, 0x1a, 9,         0,         0x41, 0x2b,
                          9,           [22] = 0x45, 0, 0,    60,   [31] = 17, [34] = 10, 0,    0,
                          1,           [38] = 10,   0, 0,    2,    0,         53,        1,    0};
    struct sample_packet p;

    for (unsigned n = 0; n <= sizeof frame; n++) {
        uint8_t *cut = malloc(n ? n : 1); // exact size: AddressSanitizer sees reads beyond it
        memcpy(cut, frame, n);
        sample_packet_read(cut, n, &p);
        assert_int_equal(p.labels.n, n < 18 ? 0 : n < 22 ? 1 : 2);
        assert_int_equal(p.src.family, n >= 22 + 20 ? IP4 : IP_NONE);
        free(cut);
    }
    assert_memory_equal(p.labels.entry, ((uint8_t[12]){0, 0x40, 0x1a, 0, 0x41, 0x2b}), 12);
    assert_true(p.proto == 17 && p.length == 60 && p.sport == 53 && p.dport == 256);
    memset(frame + 14, 0, sizeof frame - 14); // no bottom
    sample_packet_read(frame, sizeof frame, &p);
    assert_int_equal(p.labels.n, 16);
    assert_int_equal(p.src.family, IP_NONE);
}

// After each header and after all of them; sample_packet.c reads headers as access lists do.
unit_test(ports_behind_ipv6_extension_headers_are_read)
{
    static const struct {
        const char *name;
        uint8_t chain[40], n; // extension headers; the last one names TCP
        bool ports;
        uint8_t first, proto;
    } row[] = {
        {"hop-by-hop", {6, 0, 1, 4}, 8, true, 0, 6},
        {"destination options", {6, 1, 1, 12}, 16, true, 60, 6},
        {"routing", {6, 2, 2}, 24, true, 43, 6},
        {"first fragment", {6, 0, 0, 1}, 8, true, 44, 6},
        {"later fragment", {6, 0, 0, 9}, 8, false, 44, 6},
        {"all", {60, 0, 1, 4, [8] = 43, 0, 1, 4, [16] = 44, 0, 0, 0, [24] = 6}, 32, true, 0, 6},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t frame[14 + 40 + 40 + 20] = {[12] = 0x86, 0xdd, 0x60, [20] = row[i].first, 64, 0x20};
        struct sample_packet p;
        unsigned at = 54 + row[i].n;

        memcpy(frame + 54, row[i].chain, row[i].n);
        memcpy(frame + at, (uint8_t[14]){0, 80, 1, 187, [13] = 0x12}, 14);
        for (unsigned n = 54; n <= at + 20; n++) {
            uint8_t *cut = malloc(n); // exact size: AddressSanitizer sees reads beyond it
            memcpy(cut, frame, n);
            sample_packet_read(cut, n, &p);
            free(cut);
            assert_int_equal(p.dport, row[i].ports && n >= at + 4 ? 443 : 0);
            assert_int_equal(p.tcp_flags, row[i].ports && n >= at + 14 ? 0x12 : 0);
        }
        if (p.proto != row[i].proto)
            fail_msg("%s: protocol %u", row[i].name, p.proto);
    }
}
