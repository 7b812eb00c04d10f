// SPDX-License-Identifier: BSD-3-Clause
// plain_test.c - which names and texts are plain, and how others are escaped
#include "base/jwrite.h"
#include "base/log.h"
#include "base/plain.h"
#include "tests/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t put_utf8(char *s, uint32_t c)
{
    if (c < 0x80)
        return (size_t)sprintf(s, "%c", (char)c);
    if (c < 0x800)
        return (size_t)sprintf(s, "%c%c", (char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f)));
    if (c < 0x10000)
        return (size_t)sprintf(s, "%c%c%c", (char)(0xe0 | c >> 12),
                               (char)(0x80 | (c >> 6 & 0x3f)), (char)(0x80 | (c & 0x3f)));
    return (size_t)sprintf(s, "%c%c%c%c", (char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 0x3f)),
                           (char)(0x80 | (c >> 6 & 0x3f)), (char)(0x80 | (c & 0x3f)));
}

unit_test(every_code_point_is_judged)
{
    static const uint32_t range[][2] = {{0, 0x1f},          {0x7f, 0x9f},      {0x61c, 0x61c},
                                        {0x200e, 0x200f},   {0x2028, 0x202e},  {0x2066, 0x2069},
                                        {0xd800, 0xdfff},   {0x110000, 0x1fffff}};
    char s[8];

    for (uint32_t c = 0; c < 0x200000; c++) {
        bool plain = true;
        for (size_t i = 0; i < sizeof range / sizeof *range; i++)
            plain &= c < range[i][0] || c > range[i][1];
        size_t n = put_utf8(s, c);
        assert_int_equal(plain_letter(s, s + n), plain ? n : 0);
        if (n > 1)
            assert_int_equal(plain_letter(s, s + n - 1), 0); // cut
    }
    assert_false(plain_text("\xc0\x80", 2)); // overlong
    assert_false(plain_text("\xe0\x9f\xbf", 3));
    assert_false(plain_text("\xf0\x8f\xbf\xbf", 4));
    assert_false(plain_text("a\0b", 3));
    assert_true(plain_text("", 0));
}

unit_test(names_are_those_of_the_schema)
{
    static const char *const good[] = {"p0", "a.b_c-d", "ABCDEFGHIJKLMNO", "."},
                            *const bad[] = {"",     "ABCDEFGHIJKLMNOP", "a b",   "g\xff", "#7",
                                            "a\\b", "x\x1b]0;",         "\xc3\xa9", "a\"b", "a:b"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(plain_name(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(plain_name(bad[i]));
}

unit_test(what_is_not_plain_is_shown)
{
    static const char *const row[][2] = {{"h\xc3\xa9", "h\xc3\xa9"},
                                         {"x\x1b]0;y\x07", "x\\u001b]0;y\\u0007"},
                                         {"g\xff", "g\\xff"},
                                         {"a\xe2\x80\xa8"
                                          "b",
                                          "a\\u2028b"},
                                         {"\xc2\x9b", "\\u009b"},
                                         {"\xe2\x80", "\\xe2\\x80"}};
    char buf[PLAIN_NAME_SHOWN];

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct text t = {0};
        plain_append(&t, row[i][0], false);
        assert_string_equal(text_str(&t), row[i][1]);
        text_free(&t);
    }
    assert_string_equal(plain_name_shown("g\xff", buf), "g\\xff");
    assert_string_equal(plain_name_shown("g\\xff", buf), "g\\x5cxff");
}

unit_test(what_is_cut_ends_with_a_whole_character)
{
    char to[8];

    assert_string_equal(plain_copy(to, 4, "ab\xc3\xa9"), "ab");
    assert_string_equal(plain_copy(to, 5, "ab\xc3\xa9"), "ab\xc3\xa9");
}

// --- any bytes ----------------------------------------------------------------------------------

static const char *any_bytes(char *s, size_t max)
{
    static const char *const piece[] = {"\x1b[2J",   "\xe2\x80\xa8", "\xc2\x85", "\xff", "\\",
                                        "\xe2\x80\xae", "\n",           "\r",       "\"",   "a",
                                        "\xf0\x9f\x9a", "=",            " ",        "\x7f",
                                        "\xc3\xa9"};
    size_t n = 0;

    for (unsigned k = (unsigned)rand() % 12; k--;) {
        const char *p = piece[(unsigned)rand() % (sizeof piece / sizeof *piece)];
        char one[2] = {(char)(1 + rand() % 255), 0};
        p = rand() % 3 ? p : one;
        if (n + strlen(p) <= max)
            n += (size_t)sprintf(s + n, "%s", p);
    }
    s[n] = 0;
    return s;
}

static char logged[2000];

static bool keep_line(enum log_level level, const char *text)
{
    snprintf(logged, sizeof logged, "%s", text);
    return true;
}

// Output as a line, JSON string or name is plain for any input.
unit_test(every_exit_is_plain)
{
    char s[64], small[64], a[PLAIN_NAME_SHOWN], b[PLAIN_NAME_SHOWN], other[16];

    srand(1);
    log_set_sink(keep_line);
    for (unsigned round = 0; round < 200000; round++) {
        struct text t = {0}, j = {0};

        any_bytes(s, 63);
        plain_append(&t, s, false);
        assert_true(plain_text(text_str(&t), t.n));
        if (plain_text(s, strlen(s)))
            assert_string_equal(text_str(&t), s);
        plain_copy(small, (size_t)rand() % 63 + 1, s);
        assert_true(plain_text(small, strlen(small)));
        assert_int_equal(strncmp(small, text_str(&t), strlen(small)), 0);
        jwrite_string(&(struct jwrite){.t = &j}, NULL, s);
        for (const char *p = text_str(&j); *p; p++)
            assert_true((unsigned char)*p >= ' ');
        assert_true(plain_text(text_str(&j), j.n));
        if (round % 1000 == 0) { // log sites are rate-limited
            log_line(&(struct log_site){0}, LOG_LEVEL_ERROR, "a: b: c=%s", s);
            assert_true(plain_text(logged, strlen(logged)));
        }
        any_bytes(s, 15);
        any_bytes(other, 15);
        assert_true(!strcmp(s, other) ==
                    !strcmp(plain_name_shown(s, a), plain_name_shown(other, b)));
        text_free(&t);
        text_free(&j);
    }
    log_set_sink(NULL);
}
