// SPDX-License-Identifier: BSD-3-Clause
// table_gen_test.c - a generated table: no prefix twice, lengths as in a full table, one for a seed
#include "base/table_gen.h"
#include "tests/unit.h"

#include <stdlib.h>

#define N 50000

static int by_prefix(const void *a, const void *b)
{
    return prefix_compare(a, b);
}

unit_test(all_prefixes_differ_and_are_canonical)
{
    struct prefix *p = calloc(N, sizeof(*p));

    for (unsigned family = 4; family <= 6; family += 2) {
        assert_int_equal(table_gen(p, N, 7, family), N);
        qsort(p, N, sizeof(*p), by_prefix);
        for (unsigned i = 0; i < N; i++) {
            struct prefix c = p[i];

            prefix_canon(&c);
            assert_true(prefix_equal(&c, &p[i]));
            assert_int_equal(p[i].family, family);
            if (i > 0)
                assert_false(prefix_equal(&p[i - 1], &p[i]));
        }
    }
    free(p);
}

unit_test(same_seed_gives_same_table_and_another_seed_another)
{
    struct prefix *p = calloc(2 * N, sizeof(*p));
    unsigned same = 0;

    assert_int_equal(table_gen(p, N, 1, 4), N);
    assert_int_equal(table_gen(p + N, N, 1, 4), N);
    for (unsigned i = 0; i < N; i++)
        assert_true(prefix_equal(&p[i], &p[N + i]));
    assert_int_equal(table_gen(p + N, N, 2, 4), N);
    for (unsigned i = 0; i < N; i++)
        same += prefix_equal(&p[i], &p[N + i]);
    assert_true(same < N / 100);
    free(p);
}

unit_test(lengths_follow_the_real_table)
{
    struct prefix *p = calloc(N, sizeof(*p));
    unsigned n24 = 0, n48 = 0;

    table_gen(p, N, 3, 4);
    for (unsigned i = 0; i < N; i++)
        n24 += p[i].len == 24;
    assert_in_range(n24, N * 57 / 100, N * 62 / 100); // 59.6 %
    table_gen(p, N, 3, 6);
    for (unsigned i = 0; i < N; i++)
        n48 += p[i].len == 48;
    assert_in_range(n48, N * 44 / 100, N * 52 / 100); // 47.1 %
    free(p);
}
