// SPDX-License-Identifier: BSD-3-Clause
// token_bucket_test.c - exactly as many tokens as rate and burst allow, also when threads share
#include "table/token_bucket.h"
#include "tests/unit.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define INTERVAL 1000u

// Five at once.
static const struct token_bucket_rate five = {.interval = INTERVAL, .tolerance = 4 * INTERVAL};

static unsigned take_all(uint64_t *bucket, const struct token_bucket_rate *r, uint64_t now)
{
    unsigned n = 0;

    while (n < 1000 && token_bucket_take(bucket, r, now))
        n++;
    return n;
}

unit_test(a_full_bucket_has_its_burst)
{
    uint64_t bucket = 0;

    assert_int_equal(take_all(&bucket, &five, 1000000), 5);
    assert_int_equal(take_all(&bucket, &five, 1000000), 0);
}

unit_test(it_fills_by_a_token_in_each_interval_up_to_the_burst)
{
    uint64_t bucket = 0, now = 1000000;

    assert_int_equal(take_all(&bucket, &five, now), 5);
    assert_int_equal(take_all(&bucket, &five, now + INTERVAL - 1), 0);
    assert_int_equal(take_all(&bucket, &five, now + INTERVAL), 1);
    assert_int_equal(take_all(&bucket, &five, now + 3 * INTERVAL), 2);
    assert_int_equal(take_all(&bucket, &five, now + 1000 * INTERVAL), 5);
}

unit_test(any_times_give_no_more_than_burst_and_rate)
{
    uint64_t bucket = 0, now = 5000;
    unsigned n = 0;

    srandom(4);
    for (unsigned i = 0; i < 100000; i++) {
        now += (uint64_t)random() % 600;
        n += token_bucket_take(&bucket, &five, now);
    }
    assert_true(n <= 5 + (now - 5000) / INTERVAL);
    // Under constant demand, it gives all its tokens.
    assert_true(n >= (now - 5000) / INTERVAL * 99 / 100);
}

unit_test(a_rate_or_burst_of_zero_gives_none)
{
    struct token_bucket_rate r;
    uint64_t bucket = 0;

    token_bucket_rate_set(&r, 0, 100);
    assert_int_equal(take_all(&bucket, &r, ~0ull / 2), 0);
    token_bucket_rate_set(&r, 100, 0);
    assert_int_equal(take_all(&bucket, &r, ~0ull / 2), 0);
}

unit_test(bucket_fill_makes_it_full)
{
    uint64_t bucket = 0;

    assert_int_equal(take_all(&bucket, &five, 9000), 5);
    token_bucket_fill(&bucket);
    assert_int_equal(take_all(&bucket, &five, 9000), 5);
}

static uint64_t shared;
static const struct token_bucket_rate thousand = {.interval = INTERVAL,
                                                  .tolerance = 999 * INTERVAL};

static void *taker(void *arg)
{
    unsigned *n = arg;

    for (unsigned i = 0; i < 100000; i++)
        *n += token_bucket_take(&shared, &thousand, 7000000);
    return NULL;
}

unit_test(threads_that_share_a_bucket_get_its_tokens_and_no_more)
{
    pthread_t thread[4];
    unsigned n[4] = {0};

    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, taker, &n[i]), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(n[0] + n[1] + n[2] + n[3], 1000);
}
