// SPDX-License-Identifier: BSD-3-Clause
// json_fuzz.c - any bytes as JSON: what jansson takes passes, and the same in pieces
//
// But jansson skips a NUL behind a number.
#include <jansson.h>
#include <string.h>

#include "base/log.h"
#include "remote/json_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t depth_of(const uint8_t *s, size_t n)
{
    size_t depth = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        depth += s[i] == '[' || s[i] == '{';
        most = depth > most ? depth : most;
    }
    return most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_check whole, pieces;
    json_error_t e;
    size_t good, at = 0;

    json_check_begin(&whole);
    json_check_begin(&pieces);
    good = json_check_take(&whole, data, size);
    while (at < size && json_check_take(&pieces, data + at, 1) == 1)
        at++;
    bug_on(at != good);
    json_t *j = json_loadb((const char *)data, size, JSON_DECODE_ANY, &e);
    bug_on(j && !memchr(data, 0, size) && depth_of(data, size) <= JSON_DEPTH_MAX &&
           (good != size || !json_check_whole(&whole)));
    json_decref(j);
    return 0;
}
