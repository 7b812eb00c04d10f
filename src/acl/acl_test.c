// SPDX-License-Identifier: BSD-3-Clause
// acl_test.c - lists against the linear oracle, and changes in place against lists made anew
#include "acl/acl_kit.h"
#include "acl/list.h"

#define KEYS 600u
#define MOST 700u

static struct acl_rule rule[MOST];
static struct kit_key key[KEYS];

static void make_keys(uint32_t n)
{
    for (unsigned i = 0; i < KEYS; i++) {
        struct acl_rule none;
        acl_rule_init(&none, 0, ACL_BOTH);
        const struct acl_rule *r = &rule[kit_random(n + !n)];
        key[i] = kit_key(n && r->families ? r : &none);
    }
}

static struct acl *load(uint32_t n)
{
    struct acl *a = acl_new(&kit_config);

    assert_non_null(a);
    assert_int_equal(acl_load(a, rule, n), 0);
    return a;
}

static void kernels_agree_with_the_oracle(const struct acl *a, uint32_t n)
{
    for (unsigned s = 0; s < ACL_SIMDS; s++)
        if (acl_use_simd(s))
            kit_compare(a, rule, n, key, KEYS);
}

static void random_lists_match_as_the_oracle_says(void **state)
{
    static const uint32_t size[] = {0, 1, 2, 3, 10, 40, 150, 700};

    for (unsigned i = 0; i < 8 * 4; i++) {
        uint32_t n = size[i % 8];

        for (uint32_t j = 0; j < n; j++)
            rule[j] = kit_rule(j * 7 % n * 10); // n is no multiple of 7, or numbers come twice
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

static void changed_lists_are_as_lists_made_anew(void **state)
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

static void each_change_is_seen_at_once(void **state)
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

static void many_ranges_of_the_same_prefixes_are_told_apart(void **state)
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

static void the_first_of_rules_that_all_match_wins(void **state)
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

static void a_list_of_all_lengths_stays_within_its_tuples(void **state)
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

static struct acl_rule set_rule(uint32_t number)
{
    struct acl_rule r;

    acl_rule_init(&r, number, kit_random(3) ? ACL_BOTH : kit_random(2) ? ACL_IP4 : ACL_IP6);
    if (kit_random(4))
        r.src.set = (uint16_t)kit_random(KIT_SETS);
    if (!kit_random(3))
        r.dst.set = (uint16_t)kit_random(KIT_SETS);
    return r;
}

static unsigned meanwhile_calls;

static void count_meanwhile(void *ctx)
{
    meanwhile_calls++;
}

static void read_nothing(void *ctx, uint64_t which, struct acl_key_l4 *l4)
{
    memset(l4, 0, 64 * sizeof *l4);
}

// A burst of 64 whose first ones come from the set, and as many from beside its only member.
static void assert_meanwhile(const struct acl *a, unsigned listed, unsigned calls)
{
    uint32_t src[64], dst[64] = {0}, slot[64];
    const struct acl_late p = {src, dst, read_nothing, count_meanwhile, NULL};

    for (unsigned i = 0; i < 64; i++)
        src[i] = __builtin_bswap32(i < listed ? 0xcb007101 : i < 2 * listed ? 0xcb007102 : 0x01000001);
    for (unsigned s = 0; s < ACL_SIMDS; s++) {
        if (!acl_use_simd(s))
            continue;
        meanwhile_calls = 0;
        acl_classify_late(a, ACL_IP4, &p, slot, 64);
        assert_int_equal(meanwhile_calls, calls);
        for (unsigned i = 0; i < 64; i++)
            assert_int_equal(slot[i], i < listed ? 0 : ACL_MISS);
    }
}

// Beside rules under tuples or alone: some addresses are to be looked for, none, or so many that most packets may end.
static void the_caller_works_while_a_set_waits_for_memory(void **state)
{
    struct acl_prefix host = {.addr = {203, 0, 113, 1}, .len = 32, .family = 4};
    struct acl_config cfg = {.shelve_from = UINT32_MAX, .set = {acl_set_new(0)}};

    assert_int_equal(acl_set_add(cfg.set[0], &host), 0);
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
        assert_meanwhile(a, 4, 1);
        assert_meanwhile(a, 0, 0);
        assert_meanwhile(a, 32, 0);
        acl_free(a);
    }
    acl_set_free(cfg.set[0]);
}

// Of 1 to 40 rules by sets, alone or among others: more of them than stand apart.
static void rules_by_sets_alone_decide_without_the_rest_of_a_packet(void **state)
{
    for (unsigned round = 0; round < 60; round++) {
        uint32_t n = 1 + kit_random(40), others = round % 3 ? 0 : kit_random(40);

        for (uint32_t i = 0; i < n + others; i++)
            rule[i] = i < n ? set_rule(i * 11 % 449) : kit_rule(500 - i);
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

static uint32_t entries_of(const struct acl *a)
{
    struct acl_cost cost;

    acl_cost(a, &cost);
    return cost.few;
}

// Laid out to be compared one and all: as they are made, after each change, and again when nobody reads what was there before it.
static void few_rules_are_compared_one_and_all(void **state)
{
    static const uint32_t size[] = {1, 2, 15, 16, 17, 33, 40, 48};

    for (unsigned round = 0; round < 64; round++) {
        uint32_t n = size[round % 8], apart = round % 3 == 2;

        for (uint32_t i = 0; i < n; i++)
            rule[i] = apart && !kit_random(6) ? set_rule(i * 7 % n * 3) : kit_rule_without_sets(i * 7 % n * 3);
        make_keys(n);
        struct acl *a = load(n);
        assert_true(apart || n < 15 || entries_of(a) > n / 2); // a rule that asks for flags both set and not has none
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
        assert_true(apart || n < 15 || entries_of(a) > n / 2); // a rule that asks for flags both set and not has none
        kernels_agree_with_the_oracle(a, n);
        kit_must_be_sound(a);
        acl_free(a);
    }
}

static void rules_that_are_not_few_or_name_sets_are_under_tuples(void **state)
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
    assert_int_equal(entries_of(a), 0);
    uint64_t epoch = acl_epoch(a);
    assert_int_equal(acl_del(a, 63), 0);
    acl_reclaim(a, epoch); // readers may still be where the second change found them
    assert_int_equal(entries_of(a), 0);
    acl_reclaim(a, acl_epoch(a));
    assert_int_equal(entries_of(a), 63);
    assert_int_equal(acl_add(a, &rule[69]), 0);
    acl_reclaim(a, acl_epoch(a));
    assert_int_equal(entries_of(a), 0);
    rule[63].families = rule[64].families = rule[65].families = rule[66].families = rule[67].families = rule[68].families = 0;
    kernels_agree_with_the_oracle(a, 70);
    acl_free(a);
}

static uint32_t on_shelves(const struct acl *a)
{
    struct acl_cost cost;

    acl_cost(a, &cost);
    return cost.shelf;
}

static void shelves_are_asked(bool wanted)
{
    kit_config.shelve_from = wanted ? 1 : UINT32_MAX;
}

// As they are made, and after each change, made in place or anew.
static void shelved_rules_are_as_all_others(void **state)
{
    static const uint32_t size[] = {70, 90, 150, 300, 700};

    shelves_are_asked(true);
    for (unsigned round = 0; round < 10; round++) {
        uint32_t n = size[round % 5];

        for (uint32_t i = 0; i < n; i++)
            rule[i] = kit_rule_without_sets(i * 11 % n * 3);
        make_keys(n);
        struct acl *a = load(n);
        assert_true(on_shelves(a) > 0);
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
    shelves_are_asked(false);
}

// --- fences ---

// Bit 0 of `wide`: some rules say nothing of the source, or little; bit 1: of the destination; never of both.
static struct acl_rule fenced_rule(uint32_t number, unsigned wide)
{
    unsigned open = wide ? 1 + kit_random(2) : 0; // side + 1
    struct acl_rule r;

    do
        r = kit_rule_without_sets(number);
    while (r.families != ACL_IP4);
    for (unsigned s = 0; s < 2; s++) {
        struct acl_side *side = s ? &r.dst : &r.src;
        bool is_open = open == s + 1 && wide >> s & 1 && kit_random(2);
        side->len = (uint8_t)(is_open ? kit_random(2) * kit_random(8) : side->len < 8 ? 8 + kit_random(25) : side->len);
    }
    return r;
}

static void fences_keep_out_only_what_no_rule_matches(void **state)
{
    const uint32_t n = 200;

    kit_config.promote_from = UINT32_MAX;
    for (unsigned i = 0; i < 16; i++) {
        unsigned wide = i % 4;

        kit_config.shelve_from = i & 4 ? 1 : UINT32_MAX;
        for (uint32_t j = 0; j < n; j++)
            rule[j] = fenced_rule(j * 7 % n * 10, wide);
        make_keys(n);
        struct acl *a = load(n);
        assert_non_null(a->core[0]->fence[0].bits);
        kit_must_be_sound(a);
        kernels_agree_with_the_oracle(a, n);
        for (uint32_t j = 0; j < n; j += 1 + kit_random(8)) {
            assert_int_equal(acl_del(a, rule[j].number), 0);
            rule[j].families = 0;
            if (kit_random(2))
                kernels_agree_with_the_oracle(a, n);
            rule[j] = fenced_rule(n * 10 + j, kit_random(8) ? wide : 3); // kinds that were not there when it was made, too
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
    kit_config.promote_from = kit_config.shelve_from = 0;
}

// Only those that have many rules, where no burst is full.
static void shelves_stand_behind_gates_in_long_lists(void **state)
{
    static struct acl_rule many[2200];
    const uint32_t n = sizeof many / sizeof *many;

    shelves_are_asked(true);
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
    assert_true(on_shelves(a) > 0);
    kit_must_be_sound(a);
    for (unsigned s = 0; s < ACL_SIMDS; s++)
        if (acl_use_simd(s))
            kit_compare(a, many, n, key, KEYS);
    acl_free(a);
    shelves_are_asked(false);
}

// A shelf of one rule too many, or a rule that names a set: tuples serve from then on.
static void what_no_shelf_takes_is_under_tuples(void **state)
{
    shelves_are_asked(true);
    for (uint32_t i = 0; i < 300; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        rule[i].proto_any = false;
        rule[i].proto = (uint8_t)(i % 250);
        rule[i].dscp = (uint8_t)(i / 250);
    }
    make_keys(300);
    struct acl *a = load(240);
    assert_int_equal(on_shelves(a), 0); // 15 blocks are more than pay
    acl_free(a);
    for (uint32_t i = 0; i < 300; i++) {
        rule[i].dst.len = i < 270 ? 24 : 0; // most of them are alone with few
        rule[i].dst.addr[1] = (uint8_t)i;
    }
    make_keys(300);
    a = load(300);
    assert_int_equal(on_shelves(a), 30 + 2);
    kernels_agree_with_the_oracle(a, 300);
    for (uint32_t i = 300; i < 540; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        rule[i].dst.len = 16;
        rule[i].proto_any = false;
        rule[i].proto = (uint8_t)(i % 250);
        rule[i].dscp = 2;
        assert_int_equal(acl_add(a, &rule[i]), 0);
    }
    assert_int_equal(on_shelves(a), 0);
    kernels_agree_with_the_oracle(a, 540);
    kit_must_be_sound(a);
    acl_free(a);
    a = load(300);
    assert_true(on_shelves(a) > 0);
    rule[300].dst.len = 0;
    rule[300].src.set = 1;
    assert_int_equal(acl_add(a, &rule[300]), 0);
    assert_int_equal(on_shelves(a), 0);
    kernels_agree_with_the_oracle(a, 301);
    acl_free(a);
    shelves_are_asked(false);
}

static void numbers_lead_to_slots(void **state)
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

static void a_slot_waits_for_its_grace_period(void **state)
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

static void a_list_that_is_too_large_is_refused_and_the_old_one_stays(void **state)
{
    struct acl_config cfg = kit_config;
    uint32_t n = 0;

    cfg.max_bytes = 64 << 10;
    for (uint32_t i = 0; i < MOST; i++)
        rule[i] = kit_rule(i);
    struct acl *a = acl_new(&cfg);
    assert_int_equal(acl_load(a, rule, MOST), -ENOSPC);
    assert_true(acl_need(rule, MOST) > cfg.max_bytes);
    assert_int_equal(acl_load(a, rule, 50), 0);
    for (n = 50; n < MOST && acl_add(a, &rule[n]) == 0; n++)
        acl_reclaim(a, acl_epoch(a));
    assert_in_range(n, 60, MOST - 1);
    assert_int_equal(acl_add(a, &rule[n]), -ENOSPC);
    make_keys(n);
    kernels_agree_with_the_oracle(a, n);
    kit_must_be_sound(a);
    acl_free(a);
}

static void what_a_list_needs_is_known_before(void **state)
{
    for (uint32_t i = 0; i < MOST; i++)
        rule[i] = kit_rule(i);
    for (uint32_t n = 1; n <= MOST; n += 23) {
        struct acl *a = load(n);
        struct acl_stats s;

        acl_stats(a, &s);
        assert_in_range(acl_need(rule, n), (s.bytes + s.writer_bytes) / 2, (s.bytes + s.writer_bytes) * 2);
        acl_free(a);
    }
}

// --- rules that are promoted: the same, and what is their own ---

static uint32_t beside_tuples(const struct acl *a)
{
    struct acl_cost cost;

    acl_cost(a, &cost);
    return cost.address_only;
}

static void promoted_rules_are_as_all_others(void **state)
{
    kit_config.promote_from = 1;
    random_lists_match_as_the_oracle_says(state);
    changed_lists_are_as_lists_made_anew(state);
    each_change_is_seen_at_once(state);
    rules_by_sets_alone_decide_without_the_rest_of_a_packet(state);
    numbers_lead_to_slots(state);
    a_slot_waits_for_its_grace_period(state);
    kit_config.promote_from = 0;
}

static void prefix_rule(struct acl_rule *r, uint32_t number, unsigned side, uint8_t family, unsigned len)
{
    acl_rule_init(r, number, family);
    struct acl_side *s = side ? &r->dst : &r->src;
    memset(s->addr, 0x55, sizeof s->addr);
    s->addr[0] = 0x25; // 2000::/3, too
    s->len = (uint8_t)len;
}

// A chain of prefixes, each inside the one before, twice each; their numbers at random.
static uint32_t chain(unsigned side, uint8_t family, unsigned others)
{
    uint32_t n = 0, most = family == ACL_IP4 ? 32 : 128, by[2 * 128 + 100];

    for (unsigned twice = 0; twice < 2; twice++)
        for (unsigned len = 1; len <= most; len++)
            prefix_rule(&rule[n++], 0, side, family, len);
    for (unsigned i = 0; i < others; i++)
        rule[n++] = kit_rule_without_sets(0);
    for (uint32_t i = 0; i < n; i++)
        by[i] = i;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t j = kit_random(i + 1), number = by[j];
        by[j] = by[i];
        rule[i].number = number;
    }
    return n;
}

static void a_chain_of_prefixes_comes_and_goes(void **state)
{
    kit_config.promote_from = 1;
    for (unsigned round = 0; round < 24; round++) {
        unsigned others = round % 3 * 40;
        uint8_t family = round / 2 % 2 ? ACL_IP6 : ACL_IP4;
        uint32_t n = chain(round % 2, family, others), prefixes = family == ACL_IP4 ? 32 : 128;
        bool in[MOST];

        make_keys(n);
        struct acl *a = load(n);
        assert_true(beside_tuples(a) >= prefixes); // one of each prefix
        assert_true(others || !acl_is_by_sets(a, family)); // the other one is under a tuple
        kernels_agree_with_the_oracle(a, n);
        kit_must_be_sound(a);
        memset(in, true, sizeof in);
        for (unsigned step = 0; step < 60; step++) {
            uint32_t i = kit_random(n);
            struct acl_rule was = rule[i];

            if (in[i]) {
                assert_int_equal(acl_del(a, was.number), 0);
                rule[i].families = 0;
            } else {
                rule[i].families = rule[i].src.len + rule[i].dst.len ? family : ACL_BOTH;
                if (i >= 2 * prefixes)
                    rule[i] = kit_rule_without_sets(was.number);
                assert_int_equal(acl_add(a, &rule[i]), 0);
            }
            in[i] = !in[i];
            if (!kit_random(4))
                acl_reclaim(a, acl_epoch(a));
            kit_must_be_sound(a);
            if (step % 6 == 5) {
                make_keys(n);
                kernels_agree_with_the_oracle(a, n);
            }
        }
        acl_free(a);
    }
    kit_config.promote_from = 0;
}

static void as_many_are_promoted_as_pay(void **state)
{
    for (uint32_t i = 0; i < MOST; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        rule[i].src.addr[0] = 10;
        rule[i].src.addr[1] = (uint8_t)(i >> 8);
        rule[i].src.addr[2] = (uint8_t)i;
        rule[i].src.len = 24;
    }
    make_keys(MOST);
    struct acl *a = load(200);
    assert_int_equal(beside_tuples(a), 0);
    kernels_agree_with_the_oracle(a, 200);
    acl_free(a);
    a = load(MOST - 1);
    assert_int_equal(beside_tuples(a), MOST - 1);
    assert_true(acl_is_by_sets(a, ACL_IP4));
    kernels_agree_with_the_oracle(a, MOST - 1);
    assert_int_equal(acl_add(a, &rule[MOST - 1]), 0);
    assert_int_equal(beside_tuples(a), MOST);
    kit_must_be_sound(a);
    kernels_agree_with_the_oracle(a, MOST);
    acl_free(a);
}

// Where a Poptrie does not fit, its rules are under tuples, and what a list needs with one is known, too.
static void promoted_rules_keep_to_the_budget(void **state)
{
    struct acl_stats s;

    struct acl_config cfg = kit_config;
    for (uint32_t i = 0; i < MOST; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        kit_address(rule[i].src.addr, false);
        rule[i].src.len = (uint8_t)(8 + i % 25);
    }
    make_keys(MOST);
    struct acl *a = load(MOST);
    acl_stats(a, &s);
    assert_in_range(beside_tuples(a), 256, MOST);
    assert_in_range(acl_need(rule, MOST), (s.bytes + s.writer_bytes) / 2, (s.bytes + s.writer_bytes) * 2);
    acl_free(a);
    cfg.max_bytes = (s.bytes + s.writer_bytes) / 2;
    a = acl_new(&cfg);
    assert_int_equal(acl_load(a, rule, MOST), 0);
    acl_stats(a, &s);
    assert_in_range(s.bytes + s.writer_bytes, 1, cfg.max_bytes);
    assert_int_equal(beside_tuples(a), 0);
    kernels_agree_with_the_oracle(a, MOST);
    acl_free(a);
}

static int sets_new(void **state)
{
    kit_sets_new();
    return 0;
}

static int sets_free(void **state)
{
    kit_sets_free();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lists_match_as_the_oracle_says),
        cmocka_unit_test(changed_lists_are_as_lists_made_anew),
        cmocka_unit_test(each_change_is_seen_at_once),
        cmocka_unit_test(many_ranges_of_the_same_prefixes_are_told_apart),
        cmocka_unit_test(the_first_of_rules_that_all_match_wins),
        cmocka_unit_test(a_list_of_all_lengths_stays_within_its_tuples),
        cmocka_unit_test(the_caller_works_while_a_set_waits_for_memory),
        cmocka_unit_test(rules_by_sets_alone_decide_without_the_rest_of_a_packet),
        cmocka_unit_test(few_rules_are_compared_one_and_all),
        cmocka_unit_test(rules_that_are_not_few_or_name_sets_are_under_tuples),
        cmocka_unit_test(shelved_rules_are_as_all_others),
        cmocka_unit_test(shelves_stand_behind_gates_in_long_lists),
        cmocka_unit_test(fences_keep_out_only_what_no_rule_matches),
        cmocka_unit_test(what_no_shelf_takes_is_under_tuples),
        cmocka_unit_test(numbers_lead_to_slots),
        cmocka_unit_test(a_slot_waits_for_its_grace_period),
        cmocka_unit_test(a_list_that_is_too_large_is_refused_and_the_old_one_stays),
        cmocka_unit_test(what_a_list_needs_is_known_before),
        cmocka_unit_test(promoted_rules_are_as_all_others),
        cmocka_unit_test(a_chain_of_prefixes_comes_and_goes),
        cmocka_unit_test(as_many_are_promoted_as_pay),
        cmocka_unit_test(promoted_rules_keep_to_the_budget),
    };

    return cmocka_run_group_tests(tests, sets_new, sets_free);
}
