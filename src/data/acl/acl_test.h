// SPDX-License-Identifier: BSD-3-Clause
// acl_test.h - shared by tests of lists: some hundred rules, packets to classify, all kernels
// against the oracle
#ifndef ACL_TEST_H
#define ACL_TEST_H

#include "acl/acl_fixture.h"

#define KEYS 600u
#define MOST 700u

static struct acl_rule rule[MOST];
static struct kit_key key[KEYS];

static inline void make_keys(uint32_t n)
{
    for (unsigned i = 0; i < KEYS; i++) {
        struct acl_rule none;
        acl_rule_init(&none, 0, ACL_BOTH);
        const struct acl_rule *r = &rule[kit_random(n + !n)];
        key[i] = kit_key(n && r->families ? r : &none);
    }
}

static inline struct acl *load(uint32_t n)
{
    struct acl *a = acl_new(&kit_config);

    assert_non_null(a);
    assert_int_equal(acl_load(a, rule, n), 0);
    return a;
}

static inline void kernels_agree_with_the_oracle(const struct acl *a, uint32_t n)
{
    for (unsigned s = 0; s < ACL_SIMDS; s++)
        if (acl_use_simd(s))
            kit_compare(a, rule, n, key, KEYS);
}

// A rule that checks only sets.
static inline struct acl_rule set_rule(uint32_t number)
{
    struct acl_rule r;

    acl_rule_init(&r, number, kit_random(3) ? ACL_BOTH : kit_random(2) ? ACL_IP4 : ACL_IP6);
    if (kit_random(4))
        r.src.set = (uint16_t)kit_random(KIT_SETS);
    if (!kit_random(3))
        r.dst.set = (uint16_t)kit_random(KIT_SETS);
    return r;
}

#endif
