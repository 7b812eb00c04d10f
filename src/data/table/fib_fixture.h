// SPDX-License-Identifier: BSD-3-Clause
// fib_fixture.h - test fixture: one FIB of one engine at a time, in text form
#ifndef TABLE_FIB_FIXTURE_H
#define TABLE_FIB_FIXTURE_H

#include "table/fib.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/mem.h"
#include "core/eal.h"
#include "core/rcu.h"
#include "core/thread.h"

static struct fib *fib;
static enum fib_engine engine;

static inline int open_family(void **state, uint8_t family)
{
    engine = *(enum fib_engine *)*state;
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    fib = fib_new(family, engine);
    return !fib;
}

static inline int open4(void **state)
{
    return open_family(state, IP4);
}

static inline int open6(void **state)
{
    return open_family(state, IP6);
}

static inline int close_fib(void **state)
{
    rcu_barrier();
    fib_free(fib);
    return 0;
}

static inline struct prefix prefix_of(const char *text)
{
    struct prefix p;

    assert_int_equal(prefix_parse(text, &p, false), 0);
    return p;
}

static inline uint32_t find(const char *text)
{
    struct ip_addr a;

    assert_int_equal(ip_parse(text, &a), 0);
    for (unsigned node = 0; node < mem_nodes(); node++) // all copies agree
        assert_int_equal(fib_find(fib_near(fib, node), &a), fib_find(fib, &a));
    return fib_find(fib, &a);
}

static inline void set(const char *text, uint32_t nexthop)
{
    struct prefix p = prefix_of(text);

    assert_int_equal(fib_set(fib, &p, nexthop), 0);
}

static inline void check(void)
{
    char why[160] = "";

    if (fib_check(fib, why, sizeof why))
        fail_msg("%s", why);
}

#define TEST(f, open) {#f, f, open, close_fib, NULL}
#define TESTS(tests) (tests), sizeof(tests) / sizeof *(tests)

// Runs the tests for an engine; returns the number of failures.
static inline int run_with(enum fib_engine e, const struct CMUnitTest *tests, size_t n)
{
    enum fib_engine used = e;
    struct CMUnitTest test[16];

    for (size_t i = 0; i < n; i++) {
        test[i] = tests[i];
        test[i].initial_state = &used;
    }
    return _cmocka_run_group_tests(fib_engine_name(e), test, n, NULL, NULL);
}

static inline void fib_fixture_begin(const char *name)
{
    char err[200];

    rcu_init();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    if (eal_init(&(struct eal_config){.name = name, .memory_mib = 768, .no_huge = true}, err,
                 sizeof err)) {
        fprintf(stderr, "%s: %s\n", name, err);
        exit(1);
    }
}

static inline int fib_fixture_end(int failed)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    eal_fini();
    rcu_fini();
    return failed;
}

#endif
