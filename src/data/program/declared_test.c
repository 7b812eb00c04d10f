// SPDX-License-Identifier: BSD-3-Clause
// declared_test.c - valid declarations, and the errors for others
#include <stdio.h>
#include <string.h>

#include "program/declared.h"
#include "tests/unit.h"

static struct program_declared d;
static char why[160];

static int read_text(const char *text)
{
    *why = 0;
    return program_declared_read(text, &d, why, sizeof why);
}

static void refuses(const char *text, const char *said)
{
    assert_int_not_equal(read_text(text), 0);
    if (!strstr(why, said))
        fail_msg("%s: \"%s\" without \"%s\"", text, why, said);
}

unit_test(test_each_clause_is_read)
{
    assert_int_equal(read_text("window 64; counter seen;counter dropped ; reason flood; hash;"
                               "table hash syn 1000000; table array own-class 8 read-only;"),
                     0);
    assert_int_equal(d.window, 64);
    assert_true(d.hash);
    assert_int_equal(d.n_counters, 2);
    assert_string_equal(d.counter[1], "dropped");
    assert_int_equal(d.n_reasons, 1);
    assert_string_equal(d.reason[0], "flood");
    assert_int_equal(d.n_tables, 2);
    assert_string_equal(d.table[0].name, "syn");
    assert_int_equal(d.table[0].entries, 1000000);
    assert_false(d.table[0].array || d.table[0].read_only);
    assert_string_equal(d.table[1].name, "own-class");
    assert_true(d.table[1].array && d.table[1].read_only);
}

unit_test(test_nothing_declared_is_the_whole_window)
{
    assert_int_equal(read_text(""), 0);
    assert_int_equal(d.window, KAMUEE_WINDOW);
    assert_int_equal(d.n_counters + d.n_reasons + d.n_tables, 0);
    assert_int_equal(read_text(" ;\n; window 0"), 0);
    assert_int_equal(d.window, 0);
}

unit_test(test_what_is_wrong_is_named)
{
    refuses("window 65", "'65': 0, 64 or 128");
    refuses("window", "0, 64 or 128");
    refuses("counter Seen", "'Seen'");
    refuses("counter a; counter a", "declared twice");
    refuses("counter a b", "counter");
    refuses("table hash t 0", "1 to 1000000");
    refuses("table hash t 1000001", "1 to 1000000");
    refuses("table hash t -1", "1 to 1000000");
    refuses("table tree t 5", "hash|array");
    refuses("table hash t 5 writable", "hash|array");
    refuses("table", "hash|array");
    refuses("table hash t 5 read-only more", "';'");
    refuses("budget 7", "window, hash, counter, reason or table");
    refuses("counter a123456789012345678901234567890123", "at most 31");
}

unit_test(test_more_than_a_program_may_have_is_refused)
{
    char text[DECLARED_TEXT_MAX + 2] = "";

    for (int i = 0; i <= KAMUEE_COUNTERS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "counter c%d;", i);
    refuses(text, "c32");
    memset(text, ' ', sizeof text - 1);
    refuses(text, "4096");
}
