// SPDX-License-Identifier: BSD-3-Clause
// prefix_rules_test.c - prefix rules: their own properties (acl_test.c: they match like all others)
#include "acl/acl_test.h"
#include "tests/unit.h"

static uint32_t beside_tuples(const struct acl *a)
{
    struct acl_cost cost;

    acl_cost(a, &cost);
    return cost.address_only;
}

static void prefix_rule(struct acl_rule *r, uint32_t number, unsigned side, uint8_t family,
                        unsigned len)
{
    acl_rule_init(r, number, family);
    struct acl_side *s = side ? &r->dst : &r->src;
    memset(s->addr, 0x55, sizeof s->addr);
    s->addr[0] = 0x25; // also in 2000::/3
    s->len = (uint8_t)len;
}

// A chain of prefixes, each inside the one before, twice each, with random numbers.
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

unit_test(a_chain_of_prefixes_comes_and_goes)
{
    kit_config.prefix_rules_from = 1;
    for (unsigned round = 0; round < 24; round++) {
        unsigned others = round % 3 * 40;
        uint8_t family = round / 2 % 2 ? ACL_IP6 : ACL_IP4;
        uint32_t n = chain(round % 2, family, others), prefixes = family == ACL_IP4 ? 32 : 128;
        bool in[MOST];

        make_keys(n);
        struct acl *a = load(n);
        assert_true(beside_tuples(a) >= prefixes);         // one of each prefix
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
    kit_config.prefix_rules_from = 0;
}

unit_test(as_many_become_prefix_rules_as_pay)
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

unit_test(the_estimate_includes_prefix_tables)
{
    struct acl_stats s;

    for (uint32_t i = 0; i < MOST; i++) {
        acl_rule_init(&rule[i], i, ACL_IP4);
        kit_address(rule[i].src.addr, false);
        rule[i].src.len = (uint8_t)(8 + i % 25);
    }
    make_keys(MOST);
    struct acl *a = load(MOST);
    acl_stats(a, &s);
    assert_in_range(beside_tuples(a), 256, MOST);
    assert_in_range(acl_need(rule, MOST), (s.bytes + s.writer_bytes) / 2,
                    (s.bytes + s.writer_bytes) * 2);
    acl_free(a);
}

int main(void)
{
    return unit_tests_run(sets_new, sets_free);
}
