// SPDX-License-Identifier: BSD-3-Clause
// lane_test.c - rules in lanes: one bucket for few, buckets by prefix for more, tuples for others
#include "acl/key_burst.h"
#include "acl/lane_rules.h"
#include "acl/list.h"
#include "acl/acl_test.h"
#include "tests/unit.h"

static uint32_t entries_of(const struct acl *a)
{
    struct acl_cost cost;

    acl_cost(a, &cost);
    return cost.few;
}

// After building, and after each change, in place or by rebuilding.
unit_test(few_rules_are_compared_one_and_all)
{
    static const uint32_t size[] = {1, 2, 15, 16, 17, 33, 40, 48};

    for (unsigned round = 0; round < 64; round++) {
        uint32_t n = size[round % 8], apart = round % 3 == 2;

        for (uint32_t i = 0; i < n; i++)
            rule[i] = apart && !kit_random(6) ? set_rule(i * 7 % n * 3)
                                              : kit_rule_without_sets(i * 7 % n * 3);
        make_keys(n);
        struct acl *a = load(n);
        // a rule that wants flags both set and cleared has no lane
        assert_true(apart || n < 15 || entries_of(a) > n / 2);
        kernels_agree_with_the_oracle(a, n);
        kit_must_be_sound(a);
        for (uint32_t i = 0; i < n; i += 1 + kit_random(5)) {
            assert_int_equal(acl_del(a, rule[i].number), 0);
            rule[i].families = 0;
            kernels_agree_with_the_oracle(a, n);
            if (kit_random(2))
                acl_reclaim(a, acl_epoch(a));
            kit_must_be_sound(a);
            rule[i] = kit_rule_without_sets(200 + i);
            assert_int_equal(acl_add(a, &rule[i]), 0);
            kernels_agree_with_the_oracle(a, n);
        }
        acl_reclaim(a, acl_epoch(a));
        assert_true(apart || n < 15 || entries_of(a) > n / 2);
        kernels_agree_with_the_oracle(a, n);
        kit_must_be_sound(a);
        acl_free(a);
    }
}

unit_test(rules_that_are_not_few_or_name_sets_are_under_tuples)
{
    for (uint32_t i = 0; i < 70; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        rule[i].proto_any = false;
        rule[i].proto = (uint8_t)i;
    }
    rule[69].src.set = 1;
    make_keys(70);
    struct acl *a = load(64);
    assert_int_equal(entries_of(a), 64);
    assert_int_equal(acl_add(a, &rule[64]), 0);
    acl_reclaim(a, acl_epoch(a));
    assert_int_equal(entries_of(a), 0);
    kernels_agree_with_the_oracle(a, 65);
    assert_int_equal(acl_del(a, 64), 0);
    assert_int_equal(entries_of(a), 64);
    assert_int_equal(acl_del(a, 63), 0);
    acl_reclaim(a, acl_epoch(a));
    assert_int_equal(entries_of(a), 63);
    assert_int_equal(acl_add(a, &rule[69]), 0);
    acl_reclaim(a, acl_epoch(a));
    assert_int_equal(entries_of(a), 0);
    rule[63].families = rule[64].families = rule[65].families = rule[66].families =
        rule[67].families = rule[68].families = 0;
    kernels_agree_with_the_oracle(a, 70);
    acl_free(a);
}

static uint32_t in_buckets(const struct acl *a)
{
    struct acl_cost cost;

    acl_cost(a, &cost);
    return cost.shelf;
}

static void use_buckets(bool wanted)
{
    kit_config.buckets_from = wanted ? 1 : UINT32_MAX;
}

// After building, and after each change, in place or by rebuilding.
unit_test(rules_in_buckets_are_as_all_others)
{
    static const uint32_t size[] = {150, 170, 200, 300, 700};
    unsigned bucketed = 0;

    use_buckets(true);
    for (unsigned round = 0; round < 10; round++) {
        uint32_t n = size[round % 5];

        for (uint32_t i = 0; i < n; i++)
            rule[i] = kit_rule_without_sets(i * 11 % n * 3);
        make_keys(n);
        struct acl *a = load(n);
        bucketed += in_buckets(a) > 0;
        kit_must_be_sound(a);
        kernels_agree_with_the_oracle(a, n);
        for (uint32_t i = 0; i < n; i += 1 + kit_random(n / 4)) {
            assert_int_equal(acl_del(a, rule[i].number), 0);
            rule[i].families = 0;
            kit_must_be_sound(a);
            kernels_agree_with_the_oracle(a, n);
            rule[i] = kit_rule_without_sets(kit_random(2) ? i * 11 % n * 3 : 3 * MOST + i);
            assert_int_equal(acl_add(a, &rule[i]), 0);
            kit_must_be_sound(a);
            kernels_agree_with_the_oracle(a, n);
            if (!kit_random(4))
                acl_reclaim(a, acl_epoch(a));
        }
        acl_free(a);
    }
    assert_true(bucketed > 5); // one family may have few rules, or a bucket may be too long
    use_buckets(false);
}

// Only in lists with many rules, in which no burst is full.
unit_test(buckets_stand_behind_the_prefilter_in_long_lists)
{
    static struct acl_rule many[2200];
    const uint32_t n = sizeof many / sizeof *many;

    use_buckets(true);
    for (uint32_t i = 0; i < n; i++) {
        do
            many[i] = kit_rule_without_sets(i);
        while (many[i].families != ACL_IP4);
        many[i].src.len = (uint8_t)(many[i].src.len < 16 ? 16 : many[i].src.len);
        many[i].dst.len = (uint8_t)(many[i].dst.len < 16 ? 16 : many[i].dst.len);
        many[i].src.addr[1] = (uint8_t)(i % 64);
        many[i].dst.addr[1] = (uint8_t)(i % 61);
    }
    for (unsigned i = 0; i < KEYS; i++)
        key[i] = kit_key(&many[kit_random(n)]);
    struct acl *a = acl_new(&kit_config);
    assert_int_equal(acl_load(a, many, n), 0);
    assert_true(in_buckets(a) > 0);
    kit_must_be_sound(a);
    for (unsigned s = 0; s < ACL_SIMDS; s++)
        if (acl_use_simd(s))
            kit_compare(a, many, n, key, KEYS);
    acl_free(a);
    use_buckets(false);
}

// A bucket with one rule too many, or a rule that names a set: tuples are used from then on.
unit_test(what_no_bucket_takes_is_under_tuples)
{
    use_buckets(true);
    for (uint32_t i = 0; i < 300; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        rule[i].proto_any = false;
        rule[i].proto = (uint8_t)(i % 250);
        rule[i].dscp = (uint8_t)(i / 250);
    }
    make_keys(300);
    struct acl *a = load(240);
    assert_int_equal(in_buckets(a), 0); // 15 blocks are too many to pay
    acl_free(a);
    for (uint32_t i = 0; i < 300; i++) {
        rule[i].dst.len = i < 270 ? 24 : 0; // most of them share a bucket with few
        rule[i].dst.addr[1] = (uint8_t)i;
    }
    make_keys(300);
    a = load(300);
    assert_int_equal(in_buckets(a), 30 + 2);
    kernels_agree_with_the_oracle(a, 300);
    for (uint32_t i = 300; i < 540; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        rule[i].dst.len = 16;
        rule[i].proto_any = false;
        rule[i].proto = (uint8_t)(i % 250);
        rule[i].dscp = 2;
        assert_int_equal(acl_add(a, &rule[i]), 0);
    }
    assert_int_equal(in_buckets(a), 0);
    kernels_agree_with_the_oracle(a, 540);
    kit_must_be_sound(a);
    acl_free(a);
    a = load(300);
    assert_true(in_buckets(a) > 0);
    rule[300].dst.len = 0;
    rule[300].src.set = 1;
    assert_int_equal(acl_add(a, &rule[300]), 0);
    assert_int_equal(in_buckets(a), 0);
    kernels_agree_with_the_oracle(a, 301);
    acl_free(a);
    use_buckets(false);
}

// Former lanes wait for readers: meanwhile tuples serve, and the list builds no new lanes.
unit_test(changes_that_readers_still_see_wait_for_their_lanes)
{
    unsigned full = 0;

    for (uint32_t i = 0; i < 60; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        rule[i].dst.len = 16; // so that tuples have room for all
        rule[i].dst.addr[1] = (uint8_t)i;
    }
    make_keys(60);
    struct acl *a = load(40);
    const struct classifier *c = a->classifier[0];
    uint64_t before = acl_epoch(a);

    for (uint32_t i = 40; i < 60; i++) {
        assert_int_equal(acl_add(a, &rule[i]), 0);
        kernels_agree_with_the_oracle(a, i + 1);
        kit_must_be_sound(a);
        full += !entries_of(a);
    }
    assert_true(full > 0 && full < 20);
    acl_reclaim(a, before);
    assert_int_equal(entries_of(a), 0); // readers may still see them
    acl_reclaim(a, acl_epoch(a));
    assert_int_equal(entries_of(a), 60);
    assert_ptr_equal(a->classifier[0], c);
    kernels_agree_with_the_oracle(a, 60);
    kit_must_be_sound(a);
    acl_free(a);
}

// A list of hosts in a prefix table; then follow rules under tuples.
static void make_hosts(uint32_t hosts, uint32_t n)
{
    kit_config.prefix_rules_from = 1;
    for (uint32_t i = 0; i < n; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        rule[i].proto_any = i < hosts;
        rule[i].proto = (uint8_t)i;
        rule[i].dst.len = i < hosts ? 32 : 24;
        rule[i].dst.addr[2] = (uint8_t)i;
        rule[i].dst.addr[3] = (uint8_t)(i >> 8);
    }
    make_keys(n);
}

// They come and go.
unit_test(few_rules_beside_many_leave_these_alone)
{
    const uint32_t hosts = 300, n = hosts + 20;

    make_hosts(hosts, n);
    struct acl *a = load(hosts + 1);
    const struct classifier *c = a->classifier[0];
    assert_int_equal(entries_of(a), 1);
    for (uint32_t i = hosts + 1; i < n; i++)
        assert_int_equal(acl_add(a, &rule[i]), 0);
    assert_int_equal(entries_of(a), 0); // former lanes wait for readers
    for (uint32_t i = hosts; i < n; i++)
        assert_int_equal(acl_del(a, i), 0);
    acl_reclaim(a, acl_epoch(a));
    assert_ptr_equal(a->classifier[0], c);
    kernels_agree_with_the_oracle(a, hosts);
    kit_must_be_sound(a);
    acl_free(a);
    kit_config.prefix_rules_from = 0;
}

unit_test(a_list_that_began_without_lanes_gets_them)
{
    const uint32_t hosts = 300;

    make_hosts(hosts, hosts + 1);
    struct acl *a = load(hosts);
    assert_int_equal(entries_of(a), 0);
    assert_int_equal(acl_add(a, &rule[hosts]), 0);
    assert_int_equal(entries_of(a), 1);
    kernels_agree_with_the_oracle(a, hosts + 1);
    kit_must_be_sound(a);
    acl_free(a);
    kit_config.prefix_rules_from = 0;
}

// Lists of any length that has a whole bucket.
unit_test(what_few_rules_need_includes_their_lanes)
{
    for (uint32_t n = 1; n <= 64; n++)
        for (unsigned v6 = 0; v6 < 2; v6++) {
            for (uint32_t i = 0; i < n; i++) {
                acl_rule_init(&rule[i], i, v6 ? ACL_IP6 : ACL_IP4);
                rule[i].proto_any = false;
                rule[i].proto = (uint8_t)i;
            }
            struct acl *a = load(n);
            struct acl_stats s;
            acl_stats(a, &s);
            assert_in_range(s.bytes + s.writer_bytes, 1, acl_need(rule, n));
            assert_int_equal(entries_of(a), n);
            assert_int_equal(a->classifier[v6]->lanes->bytes,
                             lane_rules_need(v6 ? ACL_IP6 : ACL_IP4));
            acl_free(a);
        }
}

// It wants ACK set and cleared: a whole bucket without a lane decides no packet.
unit_test(a_rule_that_never_matches_has_no_lane)
{
    acl_rule_init(&rule[0], 0, ACL_BOTH);
    rule[0].proto_any = false;
    rule[0].proto = 6;
    rule[0].tcp_any = rule[0].tcp_mask = 0x10;
    make_keys(1);
    struct acl *a = load(1);
    assert_int_equal(entries_of(a), 0);
    kernels_agree_with_the_oracle(a, 1);
    kit_must_be_sound(a);
    acl_rule_init(&rule[1], 1, ACL_BOTH);
    assert_int_equal(acl_add(a, &rule[1]), 0);
    kernels_agree_with_the_oracle(a, 2);
    kit_must_be_sound(a);
    acl_free(a);
}

static const struct acl_kernel *const kernel[ACL_SIMDS] = {
    [ACL_PLAIN] = &acl_kernel_scalar,
#ifdef ACL_X86
    [ACL_AVX2] = &acl_kernel_avx2,
    [ACL_AVX512] = &acl_kernel_avx512,
#endif
};

static void only_packets_left_get_a_verdict(
    const struct classifier *c, const struct lane_rules *lanes,
    void (*step)(const struct classifier *c, struct key_burst *b))
{
    uint32_t src[KEY_BURST] = {0}, dst[KEY_BURST] = {0}, slot[KEY_BURST];
    struct key_burst b = {.addr4 = {src, dst}, .tuples = true};

    for (unsigned i = 0; i < KEY_BURST; i++)
        b.l4[i].part = ACL_WHOLE;
    key_burst_begin(&b, c, slot, KEY_BURST);
    b.lanes = lanes;
    b.left = 0x5a5a5a5a5a5a5a5a;
    step(c, &b);
    for (unsigned i = 0; i < KEY_BURST; i++)
        assert_int_equal(slot[i], b.left >> i & 1 ? 0 : ACL_MISS);
}

// A reader may combine an earlier step's view of the rules with newer lanes: these have a rule that
// seems to match a decided packet, of which no header was read.
unit_test(packets_that_are_decided_stay_so)
{
    use_buckets(true);
    kit_config.prefix_rules_from = UINT32_MAX;
    for (uint32_t n = 1; n <= 100; n += 99) {
        for (uint32_t i = 0; i < n; i++) {
            acl_rule_init(&rule[i], i, ACL_IP4);
            rule[i].dst.len = 16;
            rule[i].dst.addr[1] = (uint8_t)i;
        }
        struct acl *a = load(n);
        const struct classifier *c = a->classifier[0];
        assert_int_equal(c->lanes->whole, n == 1);
        for (unsigned s = 0; s < ACL_SIMDS; s++) {
            if (!acl_use_simd(s))
                continue;
            only_packets_left_get_a_verdict(c, NULL, kernel[s]->classify4);
            if (n > 1)
                only_packets_left_get_a_verdict(c, c->lanes, kernel[s]->lanes_near);
            else if (kernel[s]->lanes_all)
                only_packets_left_get_a_verdict(c, c->lanes, kernel[s]->lanes_all);
        }
        acl_free(a);
    }
    kit_config.prefix_rules_from = 0;
    use_buckets(false);
}

int main(void)
{
    return unit_tests_run(sets_new, sets_free);
}
