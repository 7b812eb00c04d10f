// SPDX-License-Identifier: BSD-3-Clause
// police_test.c - policer colors against a byte-counting model of the RFCs, and the effect on
// packets, in and out; also with a slow TSC, as on many arm64 machines
#include "acl_fixture.h"

#include <rte_cycles.h>
#include <stdlib.h>

#include "base/checksum.h"
#include "table/acl_meter.h"
#include "table/policer.h"

enum { AF11 = 10, AF12 = 12, AF13 = 14, EF = 46 };

static uint16_t in, out;

#define SLOW_HZ 25000000u // Ampere Altra

static uint64_t hz_said; // reported rate; 0 = the true one
uint64_t __real_rte_get_tsc_hz(void);
uint64_t __wrap_rte_get_tsc_hz(void);

uint64_t __wrap_rte_get_tsc_hz(void)
{
    return hz_said ? hz_said : __real_rte_get_tsc_hz();
}

static int end(void **state)
{
    hz_said = 0;
    return rig_teardown(state);
}

static void bind_policer(uint16_t iface, enum policer_direction d, const struct policer *p)
{
    router_role(ROLE_CONTROL);
    assert_int_equal(policer_bind(iface, d, p), 0);
}

// --- colors --------------------------------------------------------------------------------------

// RFC 2697 and 2698 in bytes: buckets C and E, or C and P, refilled before each packet.
struct model {
    bool two, aware;
    long double c, e, cbs, ebs, cir, pir; // bytes; per cycle
    uint64_t at;
    long double near; // distance of the closest decision from its threshold
};

static void model_fill(struct model *m, uint64_t now)
{
    long double t = (long double)(now - m->at), more = t * m->cir;

    m->at = now;
    m->c += more;
    if (m->two) {
        m->e += t * m->pir;
    } else if (m->c > m->cbs) {
        m->e += m->c - m->cbs;
    }
    m->c = m->c > m->cbs ? m->cbs : m->c;
    m->e = m->e > m->ebs ? m->ebs : m->e;
}

static bool has_tokens(struct model *m, long double tokens, unsigned bytes)
{
    long double left = tokens - bytes, far = left < 0 ? -left : left;

    m->near = far < m->near ? far : m->near;
    return left >= 0;
}

static enum policer_color model_color(struct model *m, unsigned bytes, enum policer_color came)
{
    m->near = 1e9L;
    came = m->aware ? came : POLICER_GREEN;
    if (m->two) {
        if (came == POLICER_RED || !has_tokens(m, m->e, bytes))
            return POLICER_RED;
        return came == POLICER_YELLOW || !has_tokens(m, m->c, bytes) ? POLICER_YELLOW
                                                                     : POLICER_GREEN;
    }
    if (came == POLICER_GREEN && has_tokens(m, m->c, bytes))
        return POLICER_GREEN;
    return came != POLICER_RED && has_tokens(m, m->e, bytes) ? POLICER_YELLOW : POLICER_RED;
}

static void model_pay(struct model *m, unsigned bytes, enum policer_color color)
{
    if (color == POLICER_GREEN)
        m->c -= bytes;
    if (color == POLICER_YELLOW || (m->two && color == POLICER_GREEN))
        m->e -= bytes;
}

static struct policer random_policer(unsigned *seed)
{
    struct policer p = {.name = "p"};

    p.kind = rand_r(seed) % 2 ? POLICER_SRTCM : POLICER_TRTCM;
    p.color_aware = rand_r(seed) % 2;
    p.cir = (1u << rand_r(seed) % 18) * (1000 + (uint64_t)rand_r(seed) % 9000);
    p.pir = p.cir + p.cir * ((uint64_t)rand_r(seed) % 300) / 100;
    p.cbs = 1600 + (uint64_t)rand_r(seed) % 20000;
    p.ebs = rand_r(seed) % 5 ? 1600 + (uint64_t)rand_r(seed) % 20000
            : p.kind == POLICER_TRTCM ? 1600
                                      : 0;
    return p;
}

static void compare_with_model(void)
{
    unsigned seed = 5, seen[2][POLICER_COLORS] = {{0}}, unsure = 0;
    long double hz = (long double)rte_get_tsc_hz();

    rig_two_sides(&in, &out);
    for (unsigned round = 0; round < 3000; round++) {
        struct policer p = random_policer(&seed);
        uint64_t now = 1ull << 40;
        bind_policer(in, POLICER_IN, &p);
        struct policer_meter *meter = policer_meter_of(in, POLICER_IN);
        struct model m = {.two = p.kind == POLICER_TRTCM,
                          .aware = p.color_aware,
                          .cbs = p.cbs,
                          .ebs = p.ebs,
                          .c = p.cbs,
                          .e = p.ebs,
                          .cir = p.cir / hz / 8,
                          .pir = p.pir / hz / 8,
                          .at = now};
        for (unsigned i = 0; i < 200; i++) {
            unsigned bytes = 20 + (unsigned)rand_r(&seed) % 1480;
            enum policer_color came = (enum policer_color)(rand_r(&seed) % 3), want, is;
            // About the rate, sometimes with a pause that refills the buckets partly or wholly.
            now += (uint64_t)(bytes / m.cir * (rand_r(&seed) % 200) / 100);
            now += rand_r(&seed) % 40 ? 0 : (uint64_t)(bytes / m.cir * (rand_r(&seed) % 40));
            model_fill(&m, now);
            want = model_color(&m, bytes, came);
            enum policer_color as = p.color_aware ? came : POLICER_GREEN;
            enum policer_color would = policer_color_of(meter, bytes, as, now, true);
            is = policer_color_of(meter, bytes, as, now, false);
            assert_int_equal(would, is);
            if (is != want && m.near > 2) // 2 bytes
                fail_msg("round %u packet %u: %d, expected %d", round, i, is, want);
            unsure += is != want;
            model_pay(&m, bytes, is);
            seen[m.two][is]++;
        }
    }
    assert_true(unsure < 600); // of 600,000
    for (unsigned two = 0; two < 2; two++)
        for (unsigned c = 0; c < POLICER_COLORS; c++)
            assert_true(seen[two][c] > 10000);
}

// rfc: 2697 3 MUST
// rfc: 2698 3 MUST
path_test(colors_agree_with_a_naive_model)
{
    compare_with_model();
}

unit_test_of(colors_do_so_by_a_slow_counter, rig_setup, end)
{
    hz_said = SLOW_HZ;
    compare_with_model();
}

// Packets whose time at the rate is a fraction of a cycle.
unit_test_of(small_packets_at_a_high_rate_count_by_a_slow_counter, rig_setup, end)
{
    uint64_t now = 1ull << 40, passed = 0;

    hz_said = SLOW_HZ;
    router_role(ROLE_ACL_MANAGER);
    uint16_t id = acl_meter_new(100000000, 1000000); // 100 Gbit/s
    assert_int_not_equal(id, 0);
    for (unsigned i = 0; i < 5000000; i++) // eight times the rate, for 3.2 ms
        passed += acl_meter_passes(id, 64, now + i / 64, false);
    assert_in_range(passed * 64, 40000000, 42500000);
    acl_meter_free(id);
}

unit_test_of(a_rate_beyond_a_slow_counter_is_not_none, rig_setup, end)
{
    struct token_bucket_rate r;
    uint64_t bucket = 0, passed = 0;

    hz_said = SLOW_HZ;
    token_bucket_rate_set(&r, 100 * SLOW_HZ, 1000);
    for (unsigned i = 0; i < 1000000; i++)
        passed += token_bucket_take(&bucket, &r, 1000 + i / 200);
    assert_in_range(passed, 490000, 530000); // 100 a cycle
}

// rfc: 2597 6 SHOULD
path_test(codepoints_come_in_the_color_of_their_drop_precedence)
{
    for (uint8_t dscp = 0; dscp < 64; dscp++) {
        enum policer_color want = POLICER_GREEN;
        for (uint8_t class = 1; class <= 4; class++)
            for (uint8_t precedence = 1; precedence <= 3; precedence++)
                if (dscp == class * 8 + precedence * 2)
                    want = (enum policer_color)(precedence - 1);
        assert_int_equal(policer_color_of_dscp(dscp), want);
    }
}

// --- packets -------------------------------------------------------------------------------------

// 1 and 2 kbit/s: three packets of 1028 bytes are green and two more yellow, then one in eight or
// four seconds; a slow test may see one more.
static struct policer slow(void)
{
    return (struct policer){.name = "slow",
                            .kind = POLICER_TRTCM,
                            .cir = 1000,
                            .pir = 2000,
                            .cbs = 3 * 1048 + 500,
                            .ebs = 5 * 1048 + 500,
                            .action = {POLICER_PASS, POLICER_REMARK, POLICER_DROP},
                            .dscp = {0, AF12, 0}};
}

// ECN 1, packets of 1028 bytes or 1048.
static void send(const char *src, const char *dst, uint8_t dscp, unsigned n)
{
    struct frame f =
        ip_frame(.src = src, .dst = dst, .tos = (uint8_t)(dscp << 2 | 1), .payload = 1000);

    rig_send_n(0, &f, n);
    rig_poll();
}

// Counts frames that left by port 1 by codepoint; all are valid, with ECN bits 1.
static void take_dscp(unsigned n[64])
{
    struct frame f;

    memset(n, 0, 64 * sizeof *n);
    while (rig_receive(1, &f)) {
        const uint8_t *ip = frame_l3(&f);
        uint8_t tos = ip[0] >> 4 == 4 ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4);
        if (ip[0] >> 4 == 4)
            assert_true(frame_is_ip4_sound(&f));
        assert_int_equal(tos & 3, 1);
        n[tos >> 2]++;
    }
}

static void assert_counts(uint16_t iface, enum policer_direction d, unsigned green,
                          unsigned yellow, unsigned red)
{
    struct policer_count c = policer_sum(iface, d);

    assert_int_equal(c.packets[POLICER_GREEN], green);
    assert_int_equal(c.packets[POLICER_YELLOW], yellow);
    assert_int_equal(c.packets[POLICER_RED], red);
}

path_test(a_policer_colors_what_comes_in_by_its_interface)
{
    unsigned n[64];

    rig_two_sides(&in, &out);
    struct policer p = slow();
    bind_policer(in, POLICER_IN, &p);
    send("10.1.0.1", "20.0.0.1", EF, 20);
    take_dscp(n);
    assert_int_equal(n[EF], 3);
    assert_int_equal(n[AF12], 2);
    assert_only_drop(DROP_POLICED_IN, 15);
    assert_counts(in, POLICER_IN, 3, 2, 15);
    assert_int_equal(policer_sum(in, POLICER_IN).bytes[POLICER_YELLOW], 2 * 1028);
    bind_policer(in, POLICER_IN, &p); // full again; counters stay
    send("2001:db8:a::1", "2001:db8:b::1", EF, 20);
    take_dscp(n);
    assert_int_equal(n[EF], 3);
    assert_int_equal(n[AF12], 2);
    assert_counts(in, POLICER_IN, 6, 4, 30);
    strcpy(p.name, "other");
    bind_policer(in, POLICER_IN, &p);
    assert_counts(in, POLICER_IN, 0, 0, 0);
    bind_policer(in, POLICER_IN, NULL);
    send("10.1.0.1", "20.0.0.1", EF, 20);
    assert_int_equal(rig_discard(1), 20);
    assert_int_equal(rig_drops_all(), 30);
    assert_null(policer_of(in, POLICER_IN));
}

// Packets that do not leave by its interface do not count.
path_test(a_policer_colors_what_leaves_by_its_interface)
{
    unsigned n[64];

    rig_two_sides(&in, &out);
    struct policer p = slow();
    bind_policer(out, POLICER_OUT, &p);
    send("10.1.0.1", "20.0.0.1", EF, 20);
    send("20.1.0.1", "10.0.0.1", EF, 20);
    take_dscp(n);
    assert_int_equal(n[EF], 3);
    assert_int_equal(n[AF12], 2);
    assert_int_equal(rig_discard(0), 20);
    assert_only_drop(DROP_POLICED_OUT, 15);
    assert_counts(out, POLICER_OUT, 3, 2, 15);
    bind_policer(out, POLICER_OUT, &p);
    send("2001:db8:a::1", "2001:db8:b::1", EF, 20);
    take_dscp(n);
    assert_int_equal(n[EF], 3);
    assert_int_equal(n[AF12], 2);
    bind_policer(out, POLICER_OUT, NULL);
    assert_false(iface_get(in)->flags & IFACE_ACL_OUT);
}

path_test(packets_with_a_color_keep_it_where_the_policer_looks)
{
    unsigned n[64];

    rig_two_sides(&in, &out);
    struct policer p = slow();
    p.color_aware = true;
    bind_policer(in, POLICER_IN, &p);
    send("10.1.0.1", "20.0.0.1", AF13, 5);
    assert_counts(in, POLICER_IN, 0, 0, 5);
    send("10.1.0.1", "20.0.0.1", AF12, 2);
    assert_counts(in, POLICER_IN, 0, 2, 5);
    send("10.1.0.1", "20.0.0.1", AF11, 4);
    assert_counts(in, POLICER_IN, 3, 2, 6);
    take_dscp(n);
    assert_int_equal(n[AF12], 2);
    assert_int_equal(n[AF11], 3);
    assert_only_drop(DROP_POLICED_IN, 6);
}

// Fragments, and an access list next to the policer.
path_test(what_leaves_otherwise_is_policed_too)
{
    rig_two_sides(&in, &out);
    struct policer p = slow();
    struct list l = {.otherwise = {.verb = ACL_PERMIT}};

    side(&list_rule(&l, 10, ACL_IP4, ACL_DENY)->src, "10.1.0.0/16");
    iface_get(out)->mtu = 600;
    rig_route(VR_DEFAULT, "20.0.0.0/8", rig_adjacency(out, 7));
    list_bind(out, 0, list_publish(&l, "edge"));
    bind_policer(out, POLICER_OUT, &p);
    send("10.2.0.1", "20.0.0.1", EF, 4);
    assert_int_equal(rig_discard(1), 8);
    send("10.1.0.1", "20.0.0.1", EF, 9); // denied before policing
    send("10.2.0.1", "20.0.0.1", EF, 9);
    assert_int_equal(rig_discard(1), 2);
    assert_int_equal(rig_drops(DROP_ACL_DENIED), 9);
    assert_int_equal(rig_drops(DROP_POLICED_OUT), 8);
    assert_counts(out, POLICER_OUT, 3, 2, 8);
    bind_policer(out, POLICER_OUT, NULL);
    assert_true(iface_get(in)->flags & IFACE_ACL_OUT); // the list is still there
    send("10.2.0.1", "20.0.0.1", EF, 9);
    assert_int_equal(rig_discard(1), 18);
}

path_test(neighbor_discovery_passes_and_is_counted)
{
    uint8_t solicit[24] = {135};

    rig_two_sides(&in, &out);
    rig_route(VR_DEFAULT, "2001:db8:a::99/128", rig_nexthop(NEXTHOP_LOCAL, in));
    struct policer p = slow();
    p.cbs = p.ebs = 60;
    bind_policer(in, POLICER_IN, &p);
    struct frame f = ip_frame(.src = "2001:db8:a::1", .dst = "2001:db8:a::99", .ttl = 255,
                              .proto = 58, .l4 = solicit, .l4_len = sizeof solicit);
    rig_send_n(0, &f, 3);
    rig_poll();
    for (unsigned i = 0; i < 3; i++)
        assert_true(rig_punted(PUNT_NEIGH, &f, NULL));
    assert_counts(in, POLICER_IN, 0, 0, 3);
    assert_int_equal(rig_drops_all(), 0);
}
