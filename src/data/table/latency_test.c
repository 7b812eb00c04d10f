// SPDX-License-Identifier: BSD-3-Clause
// latency_test.c - buckets cover every value, quantiles are within a bucket's width, pairs are
// separate
#include <stdint.h>
#include <stdlib.h>

#include "core/thread.h"
#include "table/latency.h"
#include "tests/unit.h"

unit_test(every_value_lies_in_its_bucket_and_buckets_follow_each_other)
{
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        assert_int_equal(latency_bucket(latency_floor(i)), i);
        if (i + 1 < LATENCY_BUCKETS)
            assert_int_equal(latency_bucket(latency_floor(i + 1) - 1), i);
        if (i >= LATENCY_SUB && i + 1 < LATENCY_BUCKETS) // accurate to a 16th
            assert_true((latency_floor(i + 1) - latency_floor(i)) * LATENCY_SUB <=
                        latency_floor(i));
    }
    assert_int_equal(latency_bucket(UINT64_MAX), LATENCY_BUCKETS - 1);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

struct seen {
    unsigned n;
    struct latency_pair pair[8];
    uint16_t in[8], out[8];
};

static void note(void *ctx, uint16_t in, uint16_t out, const struct latency_pair *sum)
{
    struct seen *s = ctx;

    s->in[s->n] = in;
    s->out[s->n] = out;
    s->pair[s->n++] = *sum;
}

unit_test(quantiles_are_those_of_the_values_to_a_16th)
{
    static const double parts[] = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    enum { N = 100000 };
    uint64_t *value = calloc(N, sizeof *value), sum = 0;
    static struct seen s;

    srandom(7);
    assert_int_equal(latency_start(61), 0);
    assert_int_equal(latency_every, 1);
    for (unsigned i = 0; i < N; i++) {
        value[i] = (uint64_t)random() >> (random() % 30);
        sum += value[i];
        latency_add(i % 3, 1, 2, value[i], 1);
    }
    latency_add(0, 2, 1, 1000, 64);
    qsort(value, N, sizeof *value, compare);
    s.n = 0;
    latency_each(note, &s);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.in[0] * 10 + s.out[0], 12);
    assert_int_equal(s.pair[0].packets, N);
    assert_int_equal(s.pair[0].cycles, sum);
    assert_int_equal(s.pair[0].max, value[N - 1]);
    assert_int_equal(s.pair[1].packets, 64);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t is = value[(size_t)(parts[i] * N) - (parts[i] > 0.0005)],
                 told = latency_quantile(&s.pair[0], parts[i]);
        assert_true(told >= is && told <= is + is / 15 + 1);
    }
    free(value);
    latency_fini();
}

static void count_pair(void *ctx, uint16_t in, uint16_t out, const struct latency_pair *sum)
{
    assert_int_equal(sum->packets, 3);
    ++*(unsigned *)ctx;
}

unit_test(more_pairs_than_there_is_room_for_are_not_measured)
{
    assert_int_equal(latency_start(1000), 0);
    assert_int_equal(latency_every, 17);
    for (unsigned i = 0; i < LATENCY_PAIRS + 2; i++)
        latency_add(0, (uint16_t)(i % PORT_MAX), (uint16_t)(i / PORT_MAX), 5, 3);
    unsigned n = 0;
    latency_each(count_pair, &n);
    assert_int_equal(n, LATENCY_PAIRS);
    assert_int_equal(latency_start(0), 0);
    assert_int_equal(latency_every, 0);
    latency_fini();
}

int main(void)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return unit_tests_run(NULL, NULL);
}
