// SPDX-License-Identifier: BSD-3-Clause
// program_test.c - tables of packet programs behave like a map, also with several writers and
// through an instance
#include <pthread.h>

#include "base/hash.h"
#include "program/set.h"
#include "tests/unit.h"

#define KEYS 500u

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t n)
{
    random_state = hash_mix64(random_state + 0x9e3779b97f4a7c15u);
    return random_state % n;
}

// Keys far apart, including 0 and the largest valid one.
static uint64_t key_of(uint64_t k)
{
    return k == 1 ? UINT64_MAX - 1 : k * 0x123456789abcdu;
}

unit_test(hash_is_what_was_put)
{
    struct program_table *t = program_table_new("t", false, KEYS);
    uint64_t want[KEYS];

    memset(want, 0xff, sizeof want);
    for (unsigned round = 0; round < 200000; round++) {
        uint64_t k = random_below(KEYS);
        assert_int_equal(program_table_get(t, key_of(k)), want[k]);
        want[k] = random_below(4) ? random_below(UINT64_MAX) : PROGRAM_NOT_THERE;
        assert_int_equal(program_table_put(t, key_of(k), want[k]), 0);
    }
    unsigned there = 0;
    for (unsigned k = 0; k < KEYS; k++)
        there += want[k] != PROGRAM_NOT_THERE;
    uint64_t at = 0, key, value;
    for (; program_table_next(t, &at, &key, &value); there--)
        assert_int_equal(program_table_get(t, key), value);
    assert_int_equal(there, 0);
    program_table_free(t);
}

unit_test(full_hash_refuses_new_keys_only)
{
    struct program_table *t = program_table_new("t", false, 100);

    for (uint64_t k = 0; k < 100; k++)
        assert_int_equal(program_table_put(t, key_of(k), k), 0);
    assert_int_equal(program_table_put(t, key_of(100), 1), -1);
    assert_int_equal(program_table_get(t, key_of(100)), PROGRAM_NOT_THERE);
    assert_int_equal(program_table_put(t, key_of(7), 8), 0);
    assert_int_equal(program_table_get(t, key_of(7)), 8);
    assert_int_equal(program_table_put(t, UINT64_MAX, 1), -1);
    assert_int_equal(program_table_get(t, UINT64_MAX), PROGRAM_NOT_THERE);
    program_table_free(t);
}

// A million keys at half load: hardly any is refused.
unit_test(large_hash_takes_nearly_all)
{
    struct program_table *t = program_table_new("t", false, 1000000);
    unsigned refused = 0;

    for (uint64_t k = 0; k < 1000000; k++)
        refused += program_table_put(t, k, k) != 0;
    assert_in_range(refused, 0, 1000);
    program_table_free(t);
}

unit_test(array_has_its_entries)
{
    struct program_table *t = program_table_new("t", true, 10);

    assert_int_equal(program_table_get(t, 9), 0);
    assert_int_equal(program_table_get(t, 10), PROGRAM_NOT_THERE);
    assert_int_equal(program_table_put(t, 10, 1), -1);
    assert_int_equal(program_table_put(t, 9, 5), 0);
    uint64_t at = 0, key, value;
    assert_true(program_table_next(t, &at, &key, &value));
    assert_int_equal(key, 9);
    assert_int_equal(value, 5);
    assert_false(program_table_next(t, &at, &key, &value));
    program_table_free(t);
}

#define WRITERS 4
#define SHARED 20000u

static struct program_table *shared;

// All writers put the same new keys, each with its own values.
static void *put_all(void *arg)
{
    for (uint64_t k = 0; k < SHARED; k++)
        program_table_put(shared, k, k * WRITERS + (uintptr_t)arg);
    return NULL;
}

unit_test(writers_of_one_key_agree_on_its_slot)
{
    pthread_t thread[WRITERS];
    uint64_t at = 0, key, value, n = 0;

    shared = program_table_new("t", false, 2 * SHARED);
    for (uintptr_t w = 0; w < WRITERS; w++)
        pthread_create(&thread[w], NULL, put_all, (void *)w);
    for (unsigned w = 0; w < WRITERS; w++)
        pthread_join(thread[w], NULL);
    for (; program_table_next(shared, &at, &key, &value); n++)
        assert_int_equal(value / WRITERS, key);
    assert_int_equal(n, SHARED); // no duplicate key
    assert_int_equal(shared->taken, SHARED);
    program_table_free(shared);
}

// The `get` that an instance remembers is valid only for its table and key, and while the key
// exists.
unit_test(calls_of_an_instance_are_what_was_put)
{
    struct program p = {0};
    struct program_instance in[PROGRAM_INSTANCES] = {{.program = &p}};
    uint64_t want[2][16];

    p.instance = in;
    memset(want, 0xff, sizeof want);
    for (unsigned t = 0; t < 2; t++)
        p.table[t] = program_table_new("t", false, 16);
    for (unsigned round = 0; round < 100000; round++) {
        unsigned t = (unsigned)random_below(2), k = (unsigned)random_below(16);
        if (random_below(2)) {
            assert_int_equal(program_get(in, t, k), want[t][k]);
            continue;
        }
        want[t][k] = random_below(3) ? random_below(UINT64_MAX) : PROGRAM_NOT_THERE;
        if (random_below(4))
            assert_int_equal(program_put(in, t, k, want[t][k]), 0);
        else // by another forwarder, or by control
            assert_int_equal(program_table_put(p.table[t], k, want[t][k]), 0);
    }
    assert_int_equal(program_put(in, 2, 0, 1), -1);
    assert_int_equal(program_put(in, KAMUEE_TABLES, 0, 1), -1);
    for (unsigned t = 0; t < 2; t++)
        program_table_free(p.table[t]);
}
