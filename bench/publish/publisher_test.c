// SPDX-License-Identifier: BSD-3-Clause
// publisher_test.c - each publisher keeps the old version alive while a reader is in its section
//
// Two tests of each. Held: a reader loads the version, signals that, and stays in its section for a
// while; meanwhile the writer publishes and poisons the old version as soon as it may. Torture:
// readers read as fast as they can while the writer publishes and poisons. Readers must never see
// poison.
//
// The reader of the first test stays for a fixed time regardless of the writer, so a correct
// publisher passes on any machine. "none", which never waits, must be caught: rounds are repeated
// until the writer was fast enough once.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "publish/publisher.h"

#define ALIVE 0x600dc0deu
#define POISON 0xdeadbeefu
#define STAY_MS 5
#define HELD_ROUNDS 20
#define HELD_ROUNDS_MAX 20000 // of "none": 100 s, but the first rounds catch it
#define READERS 2u
#define PUBLICATIONS 3000u

struct version {
    _Atomic uint32_t word;
};

static void *root;
static struct version version[PUBLICATIONS + 1];
static _Atomic bool inside, stop, seen_poison;
static _Atomic unsigned n_ready;

static bool ms_passed(const struct timespec *since, long ms)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000 >= ms;
}

static void look(const struct version *v)
{
    if (v->word != ALIVE)
        seen_poison = true;
}

// --- held ---

INLINE void stay_with(struct publisher p)
{
    struct timespec begun;

    p.begin(0);
    p.read_lock(0);
    const struct version *v = __atomic_load_n(&root, __ATOMIC_CONSUME);
    look(v);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (inside = true; !ms_passed(&begun, STAY_MS);)
        look(v);
    p.read_unlock(0);
    p.quiescent();
    p.end(0);
}

// One publication while a reader stays in its section.
static void held_round(void *(*reader)(void *), void (*publish)(void *next, unsigned n_readers))
{
    pthread_t id;

    version[0].word = version[1].word = ALIVE;
    root = &version[0];
    inside = false;
    assert_int_equal(pthread_create(&id, NULL, reader, NULL), 0);
    while (!inside)
        usleep(10);
    publish(&version[1], 1);
    version[0].word = POISON;
    pthread_join(id, NULL);
}

// --- torture ---

INLINE void read_with(struct publisher p, unsigned index)
{
    p.begin(index);
    for (n_ready++; !stop;) {
        p.read_lock(index);
        const struct version *v = __atomic_load_n(&root, __ATOMIC_CONSUME);
        for (unsigned i = 0; i < 50; i++)
            look(v);
        p.read_unlock(index);
        p.quiescent();
    }
    p.end(index);
}

static void torture(void *(*reader)(void *), void (*publish)(void *next, unsigned n_readers))
{
    pthread_t id[READERS];

    for (unsigned i = 0; i <= PUBLICATIONS; i++)
        version[i].word = ALIVE;
    root = &version[0];
    stop = false;
    n_ready = 0;
    for (uintptr_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&id[i], NULL, reader, (void *)i), 0);
    while (n_ready < READERS)
        usleep(10);
    struct timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    // With fewer cores than threads a publication may take a time slice: stop after two seconds.
    for (unsigned i = 1; i <= PUBLICATIONS && !ms_passed(&begun, 2000); i++) {
        publish(&version[i], READERS);
        version[i - 1].word = POISON;
    }
    stop = true;
    for (unsigned i = 0; i < READERS; i++)
        pthread_join(id[i], NULL);
}

// --- the publishers ---

#define TEST(p)                                                                                    \
    static void *stay_##p(void *arg)                                                               \
    {                                                                                              \
        stay_with(publisher_##p);                                                                  \
        return NULL;                                                                               \
    }                                                                                              \
    static void *read_##p(void *arg)                                                               \
    {                                                                                              \
        read_with(publisher_##p, (unsigned)(uintptr_t)arg);                                        \
        return NULL;                                                                               \
    }                                                                                              \
    static void publish_##p(void *next, unsigned n)                                                \
    {                                                                                              \
        publisher_##p.publish(&root, next, n);                                                     \
    }                                                                                              \
    static void p##_protects_its_readers(void **state)                                             \
    {                                                                                              \
        seen_poison = false;                                                                       \
        for (unsigned i = 0; i < HELD_ROUNDS; i++)                                                 \
            held_round(stay_##p, publish_##p);                                                     \
        torture(read_##p, publish_##p);                                                            \
        assert_false(seen_poison);                                                                 \
    }
PUBLISHERS(TEST)

static void *stay_none(void *arg)
{
    stay_with(publisher_none);
    return NULL;
}

static void publish_none(void *next, unsigned n)
{
    publisher_none.publish(&root, next, n);
}

static void a_publisher_that_waits_for_nobody_is_caught(void **state)
{
    seen_poison = false;
    for (unsigned i = 0; i < HELD_ROUNDS_MAX && !seen_poison; i++)
        held_round(stay_none, publish_none);
    assert_true(seen_poison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ENTRY(p) cmocka_unit_test(p##_protects_its_readers),
        PUBLISHERS(ENTRY)
        cmocka_unit_test(a_publisher_that_waits_for_nobody_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
