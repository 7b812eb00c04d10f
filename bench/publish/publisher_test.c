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
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "publish/publisher.h"
#include "tests/unit.h"

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

static const struct publisher *publisher;
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

static void *stay(void *arg)
{
    struct timespec begun;

    publisher->begin(0);
    publisher->read_lock(0);
    const struct version *v = __atomic_load_n(&root, __ATOMIC_CONSUME);
    look(v);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (inside = true; !ms_passed(&begun, STAY_MS);)
        look(v);
    publisher->read_unlock(0);
    publisher->quiescent();
    publisher->end(0);
    return NULL;
}

// One publication while a reader stays in its section.
static void held_round(void)
{
    pthread_t id;

    version[0].word = version[1].word = ALIVE;
    root = &version[0];
    inside = false;
    assert_int_equal(pthread_create(&id, NULL, stay, NULL), 0);
    while (!inside)
        usleep(10);
    publisher->publish(&root, &version[1], 1);
    version[0].word = POISON;
    pthread_join(id, NULL);
}

// --- torture ---

static void *read_fast(void *arg)
{
    unsigned index = (unsigned)(uintptr_t)arg;

    publisher->begin(index);
    for (n_ready++; !stop;) {
        publisher->read_lock(index);
        const struct version *v = __atomic_load_n(&root, __ATOMIC_CONSUME);
        for (unsigned i = 0; i < 50; i++)
            look(v);
        publisher->read_unlock(index);
        publisher->quiescent();
    }
    publisher->end(index);
    return NULL;
}

static void torture(void)
{
    pthread_t id[READERS];

    for (unsigned i = 0; i <= PUBLICATIONS; i++)
        version[i].word = ALIVE;
    root = &version[0];
    stop = false;
    n_ready = 0;
    for (uintptr_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&id[i], NULL, read_fast, (void *)i), 0);
    while (n_ready < READERS)
        usleep(10);
    struct timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    // With fewer cores than threads a publication may take a time slice: stop after two seconds.
    for (unsigned i = 1; i <= PUBLICATIONS && !ms_passed(&begun, 2000); i++) {
        publisher->publish(&root, &version[i], READERS);
        version[i - 1].word = POISON;
    }
    stop = true;
    for (unsigned i = 0; i < READERS; i++)
        pthread_join(id[i], NULL);
}

// --- the publishers ---

static void protects_its_readers(void **state)
{
    publisher = *state;
    seen_poison = false;
    for (unsigned i = 0; i < HELD_ROUNDS; i++)
        held_round();
    torture();
    assert_false(seen_poison);
}

unit_test(a_publisher_that_waits_for_nobody_is_caught)
{
    publisher = &publisher_none;
    seen_poison = false;
    for (unsigned i = 0; i < HELD_ROUNDS_MAX && !seen_poison; i++)
        held_round();
    assert_true(seen_poison);
}

int main(void)
{
#define ADD(p)                                                                                     \
    unit_test_add(&(struct CMUnitTest){#p, protects_its_readers, NULL, NULL,                       \
                                       (void *)(uintptr_t)&publisher_##p});
    PUBLISHERS(ADD)
    return unit_tests_run(NULL, NULL);
}
