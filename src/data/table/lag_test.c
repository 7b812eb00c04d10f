// SPDX-License-Identifier: BSD-3-Clause
// lag_test.c - the buckets of a LAG: even shares, and minimal moves
#include "table/port.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread.h"
#include "tests/unit.h"

static struct lag *lag;

static void shares(unsigned *has)
{
    memset(has, 0, 256 * sizeof *has);
    for (unsigned b = 0; b < LAG_BUCKETS; b++)
        has[lag->bucket[b]]++;
}

static void assert_even(const uint8_t *member, unsigned n)
{
    unsigned has[256], sum = 0;

    shares(has);
    for (unsigned i = 0; i < n; i++) {
        assert_in_range(has[member[i]], LAG_BUCKETS / n, (LAG_BUCKETS + n - 1) / n);
        sum += has[member[i]];
    }
    assert_int_equal(sum, LAG_BUCKETS);
}

static int fresh(void **state)
{
    lag = lag_get(LAG_FIRST);
    memset(lag->bucket, LAG_NO_MEMBER, sizeof lag->bucket);
    return 0;
}

#define lag_test(name) unit_test_of(name, fresh, NULL)

lag_test(without_members_there_is_no_way)
{
    lag_share(lag, (const uint8_t[]){3}, 1);
    lag_share(lag, NULL, 0);
    for (unsigned b = 0; b < LAG_BUCKETS; b++)
        assert_int_equal(lag->bucket[b], LAG_NO_MEMBER);
}

lag_test(only_the_flows_of_a_member_that_goes_are_moved)
{
    uint8_t all[] = {0, 1, 2, 3, 4, 5, 6, 7}, before[LAG_BUCKETS];

    for (unsigned n = 8; n > 1; n--) {
        lag_share(lag, all, n);
        assert_even(all, n);
        memcpy(before, lag->bucket, sizeof before);
        lag_share(lag, all, n - 1);
        assert_even(all, n - 1);
        for (unsigned b = 0; b < LAG_BUCKETS; b++)
            assert_true(before[b] == all[n - 1] || before[b] == lag->bucket[b]);
    }
}

lag_test(a_member_that_comes_takes_its_share_and_no_other_flow_moves)
{
    uint8_t all[] = {9, 1, 47, 3, 0, 5, 6, 7}, before[LAG_BUCKETS];

    lag_share(lag, all, 1);
    for (unsigned n = 2; n <= 8; n++) {
        memcpy(before, lag->bucket, sizeof before);
        lag_share(lag, all, n);
        assert_even(all, n);
        for (unsigned b = 0; b < LAG_BUCKETS; b++)
            assert_true(lag->bucket[b] == all[n - 1] || before[b] == lag->bucket[b]);
    }
}

lag_test(shares_stay_even_whatever_happens)
{
    srandom(1);
    for (unsigned round = 0; round < 2000; round++) {
        uint8_t member[LAG_MEMBER_MAX];
        unsigned n = 0, set = (unsigned)random() & 0xff;
        for (unsigned i = 0; i < 8; i++)
            if (set >> i & 1)
                member[n++] = (uint8_t)(i * 5);
        lag_share(lag, member, n);
        if (n)
            assert_even(member, n);
    }
}

int main(void)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return unit_tests_run(NULL, NULL);
}
