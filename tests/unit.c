// SPDX-License-Identifier: BSD-3-Clause
// unit.c - see unit.h
#include "tests/unit.h"

#include <stdlib.h>

static struct CMUnitTest *test;
static size_t n_tests;

void unit_test_add(const struct CMUnitTest *t)
{
    test = realloc(test, (n_tests + 1) * sizeof *test);
    if (!test)
        abort();
    test[n_tests++] = *t;
}

int unit_tests_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    return n_tests ? _cmocka_run_group_tests("tests", test, n_tests, setup, teardown) : 1;
}

__attribute__((weak)) int unit_begin(void **state)
{
    return 0;
}

__attribute__((weak)) int unit_end(void **state)
{
    return 0;
}

__attribute__((weak)) int main(void)
{
    return unit_tests_run(unit_begin, unit_end);
}
