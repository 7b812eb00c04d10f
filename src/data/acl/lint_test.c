// SPDX-License-Identifier: BSD-3-Clause
// lint_test.c - lint's findings, against the comparison of all pairs
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "acl/lint.h"
#include "acl/set.h"
#include "tests/unit.h"

static struct acl_set *sets[ACL_SETS_MAX];

static uint32_t pick(unsigned *seed, uint32_t n)
{
    return (uint32_t)rand_r(seed) % n;
}

static void random_side(unsigned *seed, struct acl_side *s)
{
    static const uint8_t lens[] = {0, 8, 9, 16, 24, 32};

    s->len = lens[pick(seed, 6)];
    s->addr[0] = 10;
    s->addr[1] = (uint8_t)(pick(seed, 3) << 6);
    s->addr[2] = (uint8_t)pick(seed, 2);
    if (!pick(seed, 5))
        s->set = (uint16_t)pick(seed, 2);
}

static void random_ports(unsigned *seed, uint16_t p[2])
{
    unsigned kind = pick(seed, 4);

    if (kind == 1)
        p[0] = p[1] = (uint16_t)(80 + pick(seed, 3));
    else if (kind == 2)
        p[0] = (uint16_t)pick(seed, 82), p[1] = (uint16_t)(82 + pick(seed, 4));
}

static struct acl_rule random_rule(unsigned *seed, uint32_t number)
{
    struct acl_rule r;

    acl_rule_init(&r, number, ACL_IP4);
    random_side(seed, &r.src);
    random_side(seed, &r.dst);
    r.proto_any = !pick(seed, 3);
    r.proto = r.proto_any ? 0 : (uint8_t)(pick(seed, 2) ? 6 : 17);
    if (!r.proto_any) {
        random_ports(seed, r.sport);
        random_ports(seed, r.dport);
    }
    if (!r.proto_any && r.proto == 6 && !pick(seed, 4))
        r.tcp_any = 0x14;
    if (!pick(seed, 6))
        r.dscp = (uint8_t)pick(seed, 2);
    return r;
}

unit_test(findings_are_those_of_the_comparison_of_all_pairs)
{
    enum { N = 400 };
    struct acl_rule r[N];
    uint32_t does[N];
    unsigned found_all = 0;

    for (unsigned seed = 1; seed <= 12; seed++) {
        unsigned s = seed;
        size_t n, at = 0;

        for (uint32_t i = 0; i < N; i++) {
            r[i] = random_rule(&s, i + 1);
            does[i] = pick(&s, 2);
        }
        struct acl_lint *l = acl_lint_new(r, does, N, sets);
        assert_non_null(l);
        while (!acl_lint_step(l, 7))
            ;
        const struct acl_finding *f = acl_lint_findings(l, &n);
        for (uint32_t j = 0; j < N; j++) {
            uint32_t i = 0;
            while (i < j && !acl_rule_covers(&r[i], &r[j], sets))
                i++;
            if (i == j)
                continue;
            assert_true(at < n);
            assert_int_equal(f[at].rule, j);
            assert_int_equal(f[at].by, i);
            assert_int_equal(f[at].kind == ACL_REDUNDANT, does[i] == does[j]);
            at++;
        }
        assert_int_equal(at, n);
        assert_true(acl_lint_complete(l));
        found_all += (unsigned)n;
        acl_lint_free(l);
    }
    assert_true(found_all > 100);
}

// Tests covering with packets: a packet that the second rule matches must match the first.
unit_test(covering_rule_matches_every_packet_of_the_covered_one)
{
    unsigned seed = 99, pairs = 0;

    while (pairs < 300) {
        struct acl_rule a = random_rule(&seed, 1), b = random_rule(&seed, 2);

        if (!acl_rule_covers(&a, &b, sets))
            continue;
        pairs++;
        for (unsigned i = 0; i < 2000; i++) {
            struct acl_key4 k = {.l4 = {.proto = pick(&seed, 2) ? 6 : 17,
                                        .part = (uint8_t)(1 << pick(&seed, 3)),
                                        .dscp = (uint8_t)pick(&seed, 3)}};
            uint8_t src[4] = {10, (uint8_t)(pick(&seed, 3) << 6), (uint8_t)pick(&seed, 2), 0},
                    dst[4] = {10, (uint8_t)(pick(&seed, 3) << 6), 0, 0};

            memcpy(&k.src_be, src, 4);
            memcpy(&k.dst_be, dst, 4);
            if (k.l4.part != ACL_LATER) {
                k.l4.sport = (uint16_t)(78 + pick(&seed, 8));
                k.l4.dport = (uint16_t)(78 + pick(&seed, 8));
                k.l4.tcp_flags = k.l4.proto == 6 ? (uint8_t)pick(&seed, 32) : 0;
            }
            if (acl_rule_matches4(&b, &k, sets))
                assert_true(acl_rule_matches4(&a, &k, sets));
        }
    }
}

unit_test(contradiction_is_told_from_shadow)
{
    struct acl_rule r[3];
    uint32_t does[3] = {0, 1, 1};
    size_t n;

    for (uint32_t i = 0; i < 3; i++)
        acl_rule_init(&r[i], i + 1, ACL_IP4);
    r[2].src.len = 8;
    struct acl_lint *l = acl_lint_new(r, does, 3, sets);
    assert_true(acl_lint_step(l, 100));
    const struct acl_finding *f = acl_lint_findings(l, &n);
    assert_int_equal(n, 2);
    assert_int_equal(f[0].kind, ACL_CONTRADICTING);
    assert_int_equal(f[1].kind, ACL_SHADOWED);
    acl_lint_free(l);
}

int unit_begin(void **state)
{
    static const struct prefix members[] = {{.family = IP4, .len = 16, .b = {10, 0}},
                                            {.family = IP4, .len = 9, .b = {10, 128}},
                                            {.family = IP4, .len = 24, .b = {10, 64, 1}}};

    for (unsigned i = 0; i < 2; i++) {
        sets[i] = acl_set_new(0);
        if (!sets[i] || acl_set_change(sets[i], NULL, 0, members + i, 2, NULL))
            return -1;
    }
    return 0;
}

int unit_end(void **state)
{
    acl_set_free(sets[0]);
    acl_set_free(sets[1]);
    return 0;
}
