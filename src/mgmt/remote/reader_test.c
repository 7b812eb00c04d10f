// SPDX-License-Identifier: BSD-3-Clause
// reader_test.c - what passes to kamueed of a client's bytes
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "remote/reader.h"

#define HEAD "PUT /x HTTP/1.1\r\nHost: k\r\n"
#define REFUSED "GET / HTTP/1.1\r\nHost: k\r\nKamuee-Refused: "

static char said[1 << 18];

static const char *passed_n(const char *bytes, size_t n)
{
    struct evbuffer *in = evbuffer_new(), *out = evbuffer_new();
    struct remote_reader r = {0};

    evbuffer_add(in, bytes, n);
    reader_take(&r, in, out);
    int got = evbuffer_remove(out, said, sizeof said - 1);
    said[got < 0 ? 0 : got] = 0;
    evbuffer_free(in);
    evbuffer_free(out);
    return said;
}

static const char *passed(const char *bytes)
{
    return passed_n(bytes, strlen(bytes));
}

static void what_is_well_formed_passes_as_it_is(void **state)
{
    static const char two[] = HEAD "Content-Length: 13\r\n\r\n{\"a\": [1, 2]}" HEAD "\r\n";

    assert_string_equal(passed(two), two);
    assert_string_equal(passed(HEAD "Content-Length: 4"), ""); // not before it is whole
}

static void what_is_not_becomes_a_request_that_says_so(void **state)
{
    assert_string_equal(passed(HEAD "Host: other\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
                        REFUSED "400 there are two Host headers\r\n\r\n");
    assert_string_equal(passed("GET / HTTP/1.1\nHost: k\n\n"),
                        REFUSED "400 a line does not end in CR LF, or contains a control "
                                "character\r\n\r\n");
    assert_string_equal(passed("\x16\x03\x01 TLS where there is none"),
                        REFUSED "400 a line does not end in CR LF, or contains a control "
                                "character\r\n\r\n");
    char *longer = malloc(READER_HEADER_MAX + 9);
    memset(longer, 'x', READER_HEADER_MAX + 9);
    assert_string_equal(passed_n(longer, READER_HEADER_MAX + 9), REFUSED "431\r\n\r\n");
    free(longer);
}

static void chunks_are_framed_anew(void **state)
{
    static const char head[] = HEAD "Transfer-Encoding: chunked\r\n\r\n";
    char want[300];

    strcpy(want, head);
    assert_string_equal(passed(HEAD "Transfer-Encoding: chunked\r\n\r\n0003\r\n{\"a\r\n"
                                    "4\r\n\":1}\r\n0\r\nTrailer: 1\r\n\r\n"),
                        strcat(want, "3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n"));
    strcpy(want, head);
    assert_string_equal(passed(HEAD "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\n{\"a\r\n"),
                        strcat(want, "!\r\n"));
    strcpy(want, head);
    assert_string_equal(passed(HEAD "Transfer-Encoding: chunked\r\n\r\nfffffff\r\n{\"a\r\n"),
                        strcat(want, "fffffff\r\n"));
}

static void from_the_first_byte_that_is_no_json_nothing_is_told(void **state)
{
    assert_string_equal(passed(HEAD "Content-Length: 12\r\n\r\n{\"a\": ,\"xyz\"GET"),
                        HEAD "Content-Length: 12\r\n\r\n{\"a\": !!!!!!");
    assert_string_equal(passed(HEAD "Content-Length: 5\r\n\r\n[}{}]" HEAD
                                    "Content-Length: 2\r\n\r\n[]"), // the next one begins anew
                        HEAD "Content-Length: 5\r\n\r\n[!!!!" HEAD "Content-Length: 2\r\n\r\n[]");
}

// How far it may be JSON; `whole`: and whether it may end there.
static size_t good(const char *s, bool *whole)
{
    struct json_check j;

    json_check_begin(&j);
    size_t n = json_check_take(&j, (const uint8_t *)s, strlen(s));
    *whole = json_check_whole(&j);
    return n;
}

static void what_is_json(void **state)
{
    static const char *const json[] = {
        "{}", "[]", " [ ] ", "0", "-0.0e+0", "1E9", "12.50", "true", "[false,null]", "\"\"",
        "{\"a\":{\"b\":[1,{}]},\"c\":\"\\u00e9\\ud83d\\ude00\\n\"}",
        "\"\xc3\xa9\xf0\x9f\x98\x80\""};
    bool whole;

    for (unsigned i = 0; i < sizeof json / sizeof *json; i++) {
        assert_int_equal(good(json[i], &whole), strlen(json[i]));
        assert_true(whole);
    }
}

static void what_is_not_json(void **state)
{
    static const struct {
        const char *text;
        size_t good;
    } wrong[] = {
        {"{]", 1}, {"[1 2]", 3}, {"{a:1}", 1}, {"{\"a\" 1}", 5}, {"[1,]", 3}, {"{\"a\":1,}", 7},
        {"01", 1}, {"1.x", 2}, {"-x", 1}, {"1e+]", 3}, {"trux", 3}, {"{} {}", 3}, {"]", 0},
        {"\"\x01\"", 1}, {"\"\\x\"", 2}, {"\"\\u0000\"", 6}, {"\"\\ud800x\"", 7},
        {"\"\\udc00\"", 6}, {"\"\xc0\x80\"", 1}, {"\"\xed\xa0\x80\"", 2},
        {"\"\xf4\x90\x80\x80\"", 2},
        {"\"\xe2\x82x\"", 3}, {"\xef\xbb\xbf{}", 0}};
    bool whole;

    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(good(wrong[i].text, &whole), wrong[i].good);
    assert_int_equal(good("[1", &whole), 2); // it only ends too early
    assert_false(whole);
}

static void it_nests_no_deeper(void **state)
{
    char deep[JSON_DEPTH_MAX + 2];
    bool whole;

    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    assert_int_equal(good(deep, &whole), JSON_DEPTH_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_well_formed_passes_as_it_is),
        cmocka_unit_test(what_is_not_becomes_a_request_that_says_so),
        cmocka_unit_test(chunks_are_framed_anew),
        cmocka_unit_test(from_the_first_byte_that_is_no_json_nothing_is_told),
        cmocka_unit_test(what_is_json),
        cmocka_unit_test(what_is_not_json),
        cmocka_unit_test(it_nests_no_deeper),
    };

    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
