// SPDX-License-Identifier: BSD-3-Clause
// unit.h - unit tests that register themselves
//
// A test program runs the tests of its files in their order, between unit_begin() and unit_end() if
// it has these.
// UNIT_ONLY and UNIT_WITHOUT in the environment: names of tests to run, and to leave out.
//
//     unit_test(a_longer_prefix_is_covered)
//     {
//         assert_true(ip_prefix_covers(&shorter, &longer));
//     }
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef unit_test // cmocka's, of its former interface
#define unit_test(name) unit_test_of(name, NULL, NULL)
// A test with a fixture: `setup` and `teardown` as for cmocka, or NULL.
#define unit_test_of(name, setup, teardown)                                                        \
    static void name(void **state);                                                                \
    __attribute__((constructor(1000 + __LINE__))) static void name##_add(void)                     \
    {                                                                                              \
        unit_test_add(&(struct CMUnitTest){#name, name, setup, teardown, NULL});                   \
    }                                                                                              \
    static void name(void **state)

void unit_test_add(const struct CMUnitTest *test);
// The number of failures. Without a test the program fails. A program without a main() does this
// with unit_begin() and unit_end().
int unit_tests_run(CMFixtureFunction setup, CMFixtureFunction teardown);
// The same for a program with a table of tests.
int unit_group_run(const char *name, const struct CMUnitTest *t, size_t n, CMFixtureFunction setup,
                   CMFixtureFunction teardown);
int unit_begin(void **state);
int unit_end(void **state);

#endif
