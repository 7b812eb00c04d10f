// SPDX-License-Identifier: BSD-3-Clause
// unit.c - see unit.h
#include "tests/unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct CMUnitTest *test;
static size_t n_tests;

void unit_test_add(const struct CMUnitTest *t)
{
    test = realloc(test, (n_tests + 1) * sizeof *test);
    if (!test)
        abort();
    test[n_tests++] = *t;
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = words; at && (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

int unit_group_run(const char *name, const struct CMUnitTest *t, size_t n, CMFixtureFunction setup,
                   CMFixtureFunction teardown)
{
    const char *only = getenv("UNIT_ONLY"), *without = getenv("UNIT_WITHOUT");
    struct CMUnitTest *wanted = calloc(n + 1, sizeof *wanted);
    size_t n_wanted = 0;

    if (!wanted)
        abort();
    for (size_t i = 0; i < n; i++)
        if ((!only || has_word(only, t[i].name)) && !has_word(without, t[i].name))
            wanted[n_wanted++] = t[i];
    int failed = n_wanted ? _cmocka_run_group_tests(name, wanted, n_wanted, setup, teardown) : 0;
    free(wanted);
    return failed;
}

int unit_tests_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    return n_tests ? unit_group_run("tests", test, n_tests, setup, teardown) : 1;
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
