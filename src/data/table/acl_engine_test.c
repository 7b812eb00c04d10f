// SPDX-License-Identifier: BSD-3-Clause
// acl_engine_test.c - both engines agree with the linear oracle, at the choice and after changes
#include "acl/acl_fixture.h"

#include "core/eal.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "table/acl_engine.h"
#include "table/acl_rte.h"

#define MOST 300u
#define KEYS 500u

static struct acl_rule rule[MOST];
static struct kit_key key[KEYS];

static struct acl_rule plain_rule(uint32_t number) // expressible in rte_acl
{
    struct acl_rule r;

    do
        r = kit_rule(number);
    while (!acl_rte_can(&r));
    return r;
}

static void make(uint32_t n, struct acl_rule (*one)(uint32_t))
{
    for (uint32_t i = 0; i < n; i++)
        rule[i] = one(i * 10);
    for (unsigned i = 0; i < KEYS; i++)
        key[i] = kit_key(&rule[kit_random(n)]);
}

static uint32_t number_of(const struct acl *a, uint32_t slot)
{
    return slot == ACL_MISS ? UINT32_MAX : acl_rule_of(a, slot)->number;
}

static void must_agree(const struct acl_engine *e, uint32_t n)
{
    struct acl_key4 k4[KEYS];
    struct acl_key6 k6[KEYS];
    uint32_t slot4[KEYS], slot6[KEYS];

    for (unsigned i = 0; i < KEYS; i++) {
        k4[i] = key[i].k4;
        k6[i] = key[i].k6;
    }
    acl_engine_classify4(e, k4, slot4, KEYS);
    acl_engine_classify6(e, k6, slot6, KEYS);
    for (unsigned i = 0; i < KEYS; i++)
        assert_int_equal(number_of(acl_engine_list(e), key[i].v6 ? slot6[i] : slot4[i]),
                         kit_first(rule, n, &key[i]));
}

static struct acl_engine *engine(uint32_t n, bool ours_only)
{
    struct acl_engine_config cfg = {.acl = kit_config, .ours_only = ours_only};
    struct acl_engine *e = acl_engine_new(&cfg, rule, n);

    assert_non_null(e);
    return e;
}

static void whichever_is_chosen_answers_as_the_oracle(void **state)
{
    static const uint32_t size[] = {1, 2, 10, 60, MOST};

    for (unsigned i = 0; i < 10; i++) {
        make(size[i % 5], i < 5 ? plain_rule : kit_rule);
        struct acl_engine *e = engine(size[i % 5], false);
        must_agree(e, size[i % 5]);
        acl_engine_free(e);
    }
}

static int by_number(const void *x, const void *y)
{
    const struct acl_rule *const *a = x, *const *b = y;

    return ((*a)->number > (*b)->number) - ((*a)->number < (*b)->number);
}

static void rte_acl_answers_as_the_oracle(void **state)
{
    const struct acl_rule *sorted[MOST];
    uint32_t at[MOST], got[KEYS];

    make(MOST, plain_rule);
    for (uint32_t i = 0; i < MOST; i++)
        sorted[i] = &rule[i];
    qsort(sorted, MOST, sizeof *sorted, by_number);
    for (uint32_t i = 0; i < MOST; i++)
        at[i] = (uint32_t)(sorted[i] - rule);
    struct acl_rte *t = acl_rte_new(sorted, at, MOST, 64 << 20);
    assert_non_null(t);
    assert_true(acl_rte_bytes(t) > 0);
    for (unsigned i = 0; i < KEYS; i++) {
        key[i].k4.l4.part = key[i].k6.l4.part = ACL_WHOLE;
        assert_true(key[i].v6 ? acl_rte_classify6(t, &key[i].k6, &got[i], 1)
                              : acl_rte_classify4(t, &key[i].k4, &got[i], 1));
        assert_int_equal(got[i] == ACL_MISS ? UINT32_MAX : rule[got[i]].number,
                         kit_first(rule, MOST, &key[i]));
    }
    acl_rte_free(t);
}

// Rules with only one side, with neither, without ports: rte_acl skips fields that no rule uses.
static void rte_acl_answers_as_the_oracle_where_fields_are_left_out(void **state)
{
    for (unsigned without = 1; without < 8; without++) {
        const struct acl_rule *sorted[MOST];
        uint32_t at[MOST], got[KEYS];
        struct acl_key4 k4[KEYS];

        for (uint32_t i = 0; i < MOST; i++) {
            rule[i] = plain_rule(i);
            rule[i].src.len = without & 1 ? 0 : rule[i].src.len;
            rule[i].dst.len = without & 2 ? 0 : rule[i].dst.len;
            if (without & 4) {
                rule[i].sport[0] = rule[i].dport[0] = 0;
                rule[i].sport[1] = rule[i].dport[1] = UINT16_MAX;
            }
            if (rule[i].proto_any &&
                i % 8) { // few any-to-any rules: they would shadow the others
                rule[i].proto_any = false;
                rule[i].proto = 6;
            }
            sorted[i] = &rule[i];
            at[i] = i;
        }
        struct acl_rte *t = acl_rte_new(sorted, at, MOST, 64 << 20);
        assert_non_null(t);
        for (unsigned i = 0; i < KEYS; i++) {
            key[i] = kit_key(&rule[kit_random(MOST)]);
            key[i].k4.l4.part = key[i].k6.l4.part = ACL_WHOLE;
            k4[i] = key[i].k4;
            assert_true(acl_rte_classify6(t, &key[i].k6, &got[i], 1));
            if (key[i].v6)
                assert_int_equal(got[i] == ACL_MISS ? UINT32_MAX : rule[got[i]].number,
                                 kit_first(rule, MOST, &key[i]));
        }
        for (unsigned i = 0, n; i < KEYS; i += n) {
            n = 1 + kit_random(KEYS - i < 64 ? KEYS - i : 64);
            assert_true(acl_rte_classify4(t, k4 + i, got + i, n));
            for (unsigned j = i; j < i + n; j++)
                if (!key[j].v6)
                    assert_int_equal(got[j] == ACL_MISS ? UINT32_MAX : rule[got[j]].number,
                                     kit_first(rule, MOST, &key[j]));
            k4[i + n - 1].l4.part = ACL_LATER;
            assert_false(acl_rte_classify4(t, k4 + i, got + i, n));
        }
        acl_rte_free(t);
    }
}

static void changes_hold_at_once_and_the_choice_is_made_again_when_asked(void **state)
{
    make(MOST, plain_rule);
    struct acl_engine *e = engine(MOST, false);
    struct acl_engine_cost cost;

    for (unsigned round = 0; round < 20; round++) {
        uint32_t i = kit_random(MOST);

        if (rule[i].families) {
            assert_int_equal(acl_engine_del(e, rule[i].number), 0);
            rule[i].families = 0;
        } else {
            rule[i] = plain_rule(i * 10);
            assert_int_equal(acl_engine_add(e, &rule[i]), 0);
        }
        acl_engine_cost(e, &cost);
        assert_int_equal(cost.kind, ACL_ENGINE_OURS);
        must_agree(e, MOST);
        if (round % 5 == 0)
            acl_engine_choose(e);
        must_agree(e, MOST);
        acl_engine_reclaim(e, acl_engine_epoch(e));
    }
    assert_int_equal(acl_engine_add(e, &(struct acl_rule){0}), -EINVAL);
    acl_engine_free(e);
}

static void the_cost_names_engine_and_reason(void **state)
{
    struct acl_engine_cost cost;

    make(MOST, plain_rule);
    struct acl_engine *e = engine(MOST, false);
    acl_engine_cost(e, &cost);
    assert_true(cost.ours_cycles > 0 && cost.rte_acl_cycles > 0);
    assert_true(strstr(cost.why, "cycles per packet") != NULL);
    assert_int_equal(cost.rules, MOST);
    assert_int_equal(acl_engine_bytes(e), cost.bytes + cost.writer_bytes);
    assert_true(cost.bytes > 0 && cost.build_ns > 0 && cost.ours.tuples > 0);
    double ours, theirs; // on packets with few matches
    assert_int_equal(
        sscanf(strstr(cost.why, "with others: "), "with others: %lf, %lf", &ours, &theirs), 2);
    if (cost.rte_acl_cycles < 0.97 * cost.ours_cycles || theirs + 1 < 0.97 * (ours - 1))
        assert_int_equal(cost.kind, ACL_ENGINE_RTE_ACL);
    else if (theirs - 1 > 0.97 * (ours + 1))
        assert_int_equal(cost.kind, ACL_ENGINE_OURS);
    acl_engine_free(e);
    e = engine(MOST, true);
    acl_engine_cost(e, &cost);
    assert_int_equal(cost.kind, ACL_ENGINE_OURS);
    assert_string_equal(acl_engine_kind_name(cost.kind), "ours");
    acl_engine_free(e);
}

#define LONG 1500u

// Rules between two hosts; or alternately from anywhere to a host and from another host to
// anywhere, which multiplies nodes in rte_acl.
static void long_list(struct acl_rule *r, bool wide)
{
    for (uint32_t i = 0; i < LONG; i++) {
        acl_rule_init(&r[i], i, ACL_IP4);
        r[i].src = (struct acl_side){
            {10, (uint8_t)(i >> 8), (uint8_t)i, 1}, wide && i % 2 ? 0 : 32, ACL_NO_SET};
        r[i].dst = (struct acl_side){
            {20, (uint8_t)(i >> 8), (uint8_t)i, 1}, wide && i % 2 == 0 ? 0 : 32, ACL_NO_SET};
        r[i].proto_any = false;
        r[i].proto = 6;
        r[i].dport[0] = (uint16_t)(1 + kit_random(30000));
        r[i].dport[1] = (uint16_t)(r[i].dport[0] + (wide ? kit_random(30000) : 0));
    }
}

static void must_find_its_rules(const struct acl_engine *e, const struct acl_rule *r)
{
    for (uint32_t i = 0; i < LONG; i++) {
        struct acl_key4 k = {.l4 = {.dport = r[i].dport[0], .proto = 6, .part = ACL_WHOLE}};
        struct kit_key both;
        uint32_t slot;

        memset(&both, 0, sizeof both);
        memcpy(&k.src_be, r[i].src.addr, 4);
        memcpy(&k.dst_be, r[i].dst.addr, 4);
        both.k4 = k;
        acl_engine_classify4(e, &k, &slot, 1);
        assert_int_equal(number_of(acl_engine_list(e), slot), kit_first(r, LONG, &both));
    }
}

// rte_acl is measured only if growing samples of the rules predict that all of them fit.
static void long_lists_are_compiled_in_part_first(void **state)
{
    static struct acl_rule r[LONG];
    struct acl_engine_cost cost;

    for (unsigned round = 0; round < 3; round++) {
        const struct acl_engine_config cfg = {.acl.max_bytes = round == 2 ? 4 << 20 : 0};

        long_list(r, round > 0);
        struct acl_engine *e = acl_engine_new(&cfg, r, LONG);
        assert_non_null(e);
        acl_engine_cost(e, &cost);
        assert_int_equal(cost.rte_acl_cycles > 0, round == 0);
        if (round)
            assert_non_null(strstr(cost.why, round == 1 ? "more than 64 MiB" : "more than 1 MiB"));
        must_find_its_rules(e, r);
        acl_engine_free(e);
    }
}

static void wrong_rules_are_refused(void **state)
{
    struct acl_engine_config cfg = {.acl = kit_config};

    make(2, plain_rule);
    rule[1].number = rule[0].number;
    assert_null(acl_engine_new(&cfg, rule, 2));
    assert_int_equal(errno, EEXIST);
    cfg.acl.max_bytes = 1000;
    assert_null(acl_engine_new(&cfg, rule, 1));
    assert_int_equal(errno, ENOSPC);
}

static int begin(void **state)
{
    char err[200];

    rcu_init();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    if (eal_init(
            &(struct eal_config){.name = "acl_engine_test", .memory_mib = 256, .no_huge = true},
            err, sizeof err))
        fail_msg("%s", err);
    kit_sets_new();
    return 0;
}

static int end(void **state)
{
    kit_sets_free();
    eal_fini();
    rcu_fini();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whichever_is_chosen_answers_as_the_oracle),
        cmocka_unit_test(rte_acl_answers_as_the_oracle),
        cmocka_unit_test(rte_acl_answers_as_the_oracle_where_fields_are_left_out),
        cmocka_unit_test(changes_hold_at_once_and_the_choice_is_made_again_when_asked),
        cmocka_unit_test(the_cost_names_engine_and_reason),
        cmocka_unit_test(long_lists_are_compiled_in_part_first),
        cmocka_unit_test(wrong_rules_are_refused),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
