// SPDX-License-Identifier: BSD-3-Clause
// acl_test.c - compares lists with the linear oracle, and changes in place with new lists
#include "acl/list.h"
#include "acl/acl_test.h"
#include "tests/unit.h"

unit_test(random_lists_match_as_the_oracle_says)
{
    static const uint32_t size[] = {0, 1, 2, 3, 10, 40, 150, 700};

    for (unsigned i = 0; i < 8 * 4; i++) {
        uint32_t n = size[i % 8];

        // n is no multiple of 7, else numbers would repeat
        for (uint32_t j = 0; j < n; j++)
            rule[j] = kit_rule(j * 7 % n * 10);
        if (n == 700)
            for (uint32_t j = 0; j < n; j++)
                rule[j].number = n - j;
        make_keys(n);
        struct acl *a = load(n);
        kit_must_be_sound(a);
        kernels_agree_with_the_oracle(a, n);
        acl_free(a);
    }
}

static uint32_t changes(struct acl *a, uint32_t ops)
{
    uint32_t rules = 0;

    for (uint32_t op = 0; op < ops; op++) {
        uint32_t i = kit_random(MOST);

        if (rule[i].families && kit_random(2)) {
            assert_int_equal(acl_del(a, rule[i].number), 0);
            assert_int_equal(acl_del(a, rule[i].number), -ENOENT);
            rule[i].families = 0;
        } else if (!rule[i].families) {
            rule[i] = kit_rule(i * 3 + 1);
            assert_int_equal(acl_add(a, &rule[i]), 0);
            assert_int_equal(acl_add(a, &rule[i]), -EEXIST);
        }
        if (!kit_random(10))
            acl_reclaim(a, acl_epoch(a));
    }
    for (uint32_t i = 0; i < MOST; i++)
        rules += rule[i].families != 0;
    return rules;
}

unit_test(changed_lists_are_as_lists_made_anew)
{
    struct acl *a = acl_new(&kit_config);
    struct acl_stats s;

    memset(rule, 0, sizeof rule);
    for (unsigned round = 0; round < 40; round++) {
        uint32_t rules = changes(a, round % 4 ? 50 : 1500);

        kit_must_be_sound(a);
        acl_stats(a, &s);
        assert_int_equal(s.rules, rules);
        make_keys(MOST);
        kernels_agree_with_the_oracle(a, MOST);
    }
    acl_free(a);
}

unit_test(each_change_is_seen_at_once)
{
    struct acl *a = acl_new(&kit_config);

    memset(rule, 0, sizeof rule);
    for (unsigned i = 0; i < 60; i++) {
        uint32_t at = kit_random(12);

        if (rule[at].families) {
            assert_int_equal(acl_del(a, rule[at].number), 0);
            rule[at].families = 0;
        } else {
            rule[at] = kit_rule(at);
            assert_int_equal(acl_add(a, &rule[at]), 0);
        }
        make_keys(12);
        kernels_agree_with_the_oracle(a, 12);
    }
    acl_free(a);
}

static void same_prefixes(uint32_t n) // thousands of port ranges between two networks
{
    for (uint32_t i = 0; i < n; i++) {
        struct acl_rule r;

        acl_rule_init(&r, i, ACL_IP4);
        r.src = (struct acl_side){{10, 1}, 16, ACL_NO_SET};
        r.dst = (struct acl_side){{10, 2}, 16, ACL_NO_SET};
        r.proto_any = false;
        r.proto = i % 2 ? 6 : 17;
        r.dport[0] = (uint16_t)(kit_random(30) * 1000);
        r.dport[1] = (uint16_t)(r.dport[0] + kit_random(1000));
        rule[i] = r;
    }
}

unit_test(many_ranges_of_the_same_prefixes_are_told_apart)
{
    struct acl_cost cost;

    same_prefixes(MOST);
    make_keys(MOST);
    struct acl *a = load(MOST);
    acl_cost(a, &cost);
    assert_in_range(cost.block_max, 4, MOST);
    kernels_agree_with_the_oracle(a, MOST);
    assert_int_equal(acl_del(a, rule[3].number), 0);
    rule[3].families = 0;
    kernels_agree_with_the_oracle(a, MOST);
    kit_must_be_sound(a);
    acl_free(a);
}

unit_test(the_first_of_rules_that_all_match_wins)
{
    struct acl_rule all;
    struct kit_key k;

    acl_rule_init(&all, 0, ACL_BOTH);
    k = kit_key(&all);
    for (uint32_t i = 0; i < MOST; i++) {
        rule[i] = all;
        rule[i].number = 1000 - i;
        if (!k.v6 && i % 3 == 0) {
            rule[i].families = ACL_IP4;
            rule[i].src.len = (uint8_t)(i % 33);
            memcpy(rule[i].src.addr, &k.k4.src_be, 4);
        }
    }
    for (unsigned i = 0; i < KEYS; i++)
        key[i] = k;
    struct acl *a = load(MOST);
    kernels_agree_with_the_oracle(a, MOST);
    acl_free(a);
}

unit_test(a_list_of_all_lengths_stays_within_its_tuples)
{
    struct acl_cost cost;

    for (uint32_t i = 0; i < MOST; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        kit_address(rule[i].src.addr, false);
        kit_address(rule[i].dst.addr, false);
        rule[i].src.len = (uint8_t)(i % 33);
        rule[i].dst.len = (uint8_t)(i / 33 % 33);
    }
    make_keys(MOST);
    struct acl *a = load(MOST);
    acl_cost(a, &cost);
    assert_in_range(cost.tuples, 1, 32);
    assert_in_range(cost.probes_max, 1, 32 + 4);
    assert_true(cost.probes_mean >= 1 && cost.probes_mean <= cost.probes_max);
    kernels_agree_with_the_oracle(a, MOST);
    kit_must_be_sound(a);
    acl_free(a);
}

// A burst of 64 whose first packets are in the set, and as many beside its only member.
static void assert_waits(const struct acl *a, unsigned listed, bool waits)
{
    uint32_t src[64], dst[64] = {0}, slot[64];
    uint8_t empty[40] = {0}, *ip[64];
    const struct acl_late p = {src, dst, ip, true}, alone = {src, dst, ip, false};
    struct acl_search search;

    for (unsigned i = 0; i < 64; i++)
        ip[i] = empty;
    for (unsigned i = 0; i < 64; i++)
        src[i] = __builtin_bswap32(i < listed       ? 0xcb007101
                                   : i < 2 * listed ? 0xcb007102
                                                    : 0x01000001);
    for (unsigned s = 0; s < ACL_SIMDS; s++) {
        if (!acl_use_simd(s))
            continue;
        assert_false(acl_late_begin(&search, a, ACL_IP4, &alone, slot, 64));
        acl_late_end(&search);
        assert_int_equal(acl_late_begin(&search, a, ACL_IP4, &p, slot, 64), waits);
        acl_late_end(&search);
        for (unsigned i = 0; i < 64; i++)
            assert_int_equal(slot[i], i < listed ? 0 : ACL_MISS);
    }
}

// With rules under tuples or alone: some addresses need a lookup, none, or so many that most
// packets may be decided.
unit_test(the_caller_works_while_a_set_waits_for_memory)
{
    struct prefix host = {.b = {203, 0, 113, 1}, .len = 32, .family = 4};
    struct acl_config cfg = {.buckets_from = UINT32_MAX, .set = {acl_set_new(0)}};

    assert_int_equal(acl_set_change(cfg.set[0], NULL, 0, &host, 1, NULL), 0);
    for (uint32_t n = 1; n < 200; n += 150) {
        struct acl *a = acl_new(&cfg);
        for (uint32_t i = 0; i < n; i++) {
            acl_rule_init(&rule[i], i, ACL_IP4);
            rule[i].src = (struct acl_side){.addr = {10, (uint8_t)i}, .len = 16, .set = ACL_NO_SET};
            rule[i].dst = (struct acl_side){.addr = {10, (uint8_t)i}, .len = 16, .set = ACL_NO_SET};
        }
        rule[0].src.set = 0;
        rule[0].src.len = rule[0].dst.len = 0;
        memset(rule[0].src.addr, 0, 16);
        memset(rule[0].dst.addr, 0, 16);
        assert_int_equal(acl_load(a, rule, n), 0);
        assert_int_equal(acl_slot_of(a, 0), 0);
        assert_waits(a, 4, true);
        assert_waits(a, 0, false);
        assert_waits(a, 32, false);
        acl_free(a);
    }
    acl_set_free(cfg.set[0]);
}

// 1 to 40 set rules, alone or among others: more than fit into set_rule[].
unit_test(rules_by_sets_alone_decide_without_the_rest_of_a_packet)
{
    for (unsigned round = 0; round < 60; round++) {
        uint32_t n = 1 + kit_random(40), others = round % 3 ? 0 : kit_random(40);

        for (uint32_t i = 0; i < n + others; i++)
            rule[i] = i < n ? set_rule(i * 11 % 449) : kit_rule(599 - i);
        make_keys(n + others);
        struct acl *a = load(n + others);
        if (!others && n <= 16)
            assert_true(acl_is_by_sets(a, ACL_IP4) && acl_is_by_sets(a, ACL_IP6));
        kernels_agree_with_the_oracle(a, n + others);
        kit_must_be_sound(a);
        for (uint32_t i = 0; i < n; i += 3) {
            assert_int_equal(acl_del(a, rule[i].number), 0);
            rule[i].families = 0;
        }
        kernels_agree_with_the_oracle(a, n + others);
        kit_must_be_sound(a);
        for (uint32_t i = 0; i < n; i += 3) {
            rule[i] = set_rule(600 + i);
            assert_int_equal(acl_add(a, &rule[i]), 0);
        }
        kernels_agree_with_the_oracle(a, n + others);
        kit_must_be_sound(a);
        acl_free(a);
    }
}

// --- bitmaps ---

// Bit 0 of `wide`: some rules have no source prefix, or a short one; bit 1: destination; never
// both.
static struct acl_rule bitmap_rule(uint32_t number, unsigned wide)
{
    unsigned open = wide ? 1 + kit_random(2) : 0; // side + 1
    struct acl_rule r;

    do
        r = kit_rule_without_sets(number);
    while (r.families != ACL_IP4);
    for (unsigned s = 0; s < 2; s++) {
        struct acl_side *side = s ? &r.dst : &r.src;
        bool is_open = open == s + 1 && wide >> s & 1 && kit_random(2);
        side->len = (uint8_t)(is_open         ? kit_random(2) * kit_random(8)
                              : side->len < 8 ? 8 + kit_random(25)
                                              : side->len);
    }
    return r;
}

unit_test(bitmaps_keep_out_only_what_no_rule_matches)
{
    const uint32_t n = 200;

    kit_config.prefix_rules_from = UINT32_MAX;
    for (unsigned i = 0; i < 16; i++) {
        unsigned wide = i % 4;

        kit_config.buckets_from = i & 4 ? 1 : UINT32_MAX;
        for (uint32_t j = 0; j < n; j++)
            rule[j] = bitmap_rule(j * 7 % n * 10, wide);
        make_keys(n);
        struct acl *a = load(n);
        assert_non_null(a->classifier[0]->bitmap[0].bits);
        kit_must_be_sound(a);
        kernels_agree_with_the_oracle(a, n);
        for (uint32_t j = 0; j < n; j += 1 + kit_random(8)) {
            assert_int_equal(acl_del(a, rule[j].number), 0);
            rule[j].families = 0;
            if (kit_random(2))
                kernels_agree_with_the_oracle(a, n);
            // also kinds of rules that the list did not have when it was built
            rule[j] = bitmap_rule(n * 10 + j, kit_random(8) ? wide : 3);
            assert_int_equal(acl_add(a, &rule[j]), 0);
            kit_must_be_sound(a);
            make_keys(n);
            kernels_agree_with_the_oracle(a, n);
        }
        assert_int_equal(acl_del(a, rule[0].number), 0);
        acl_rule_init(&rule[0], n * 20, ACL_IP4); // matches everything
        assert_int_equal(acl_add(a, &rule[0]), 0);
        kernels_agree_with_the_oracle(a, n);
        acl_free(a);
    }
    kit_config.prefix_rules_from = kit_config.buckets_from = 0;
}

unit_test(numbers_lead_to_slots)
{
    for (uint32_t i = 0; i < 100; i++)
        rule[i] = kit_rule(i * 5);
    struct acl *a = load(100);
    for (uint32_t i = 0; i < 100; i++)
        assert_memory_equal(acl_rule_of(a, acl_slot_of(a, i * 5)), &rule[i], sizeof *rule);
    assert_int_equal(acl_slot_of(a, 3), ACL_MISS);
    assert_null(acl_rule_of(a, 100));
    assert_int_equal(acl_load(a, rule, 100), -EBUSY);
    acl_free(a);
}

unit_test(a_slot_waits_for_its_grace_period)
{
    for (uint32_t i = 0; i < 3; i++)
        rule[i] = kit_rule(i);
    struct acl *a = load(2);
    uint32_t slot = acl_slot_of(a, 1);
    assert_int_equal(acl_del(a, 1), 0);
    assert_null(acl_rule_of(a, slot));
    assert_int_equal(acl_add(a, &rule[2]), 0);
    assert_int_not_equal(acl_slot_of(a, 2), slot);
    acl_reclaim(a, acl_epoch(a));
    assert_int_equal(acl_add(a, &rule[1]), 0);
    assert_int_equal(acl_slot_of(a, 1), slot);
    acl_free(a);
}

unit_test(what_a_list_needs_is_known_before)
{
    for (uint32_t i = 0; i < MOST; i++)
        rule[i] = kit_rule(i);
    for (uint32_t n = 1; n <= MOST; n += 23) {
        struct acl *a = load(n);
        struct acl_stats s;

        acl_stats(a, &s);
        assert_in_range(acl_need(rule, n), (s.bytes + s.writer_bytes) / 2,
                        (s.bytes + s.writer_bytes) * 2);
        acl_free(a);
    }
}

unit_test(prefix_rules_are_as_all_others)
{
    kit_config.prefix_rules_from = 1;
    random_lists_match_as_the_oracle_says(state);
    changed_lists_are_as_lists_made_anew(state);
    each_change_is_seen_at_once(state);
    rules_by_sets_alone_decide_without_the_rest_of_a_packet(state);
    numbers_lead_to_slots(state);
    a_slot_waits_for_its_grace_period(state);
    kit_config.prefix_rules_from = 0;
}

int main(void)
{
    return unit_tests_run(sets_new, sets_free);
}
