// SPDX-License-Identifier: BSD-3-Clause
// http_frame_fuzz.c - any bytes as a header and a body, whole and in pieces: the end is found at
// the same place
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "http/http_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Like http_gate.c: number of bytes of the request, or SIZE_MAX if they are not a request.
static size_t end_of(const char *s, size_t n, size_t piece)
{
    struct http_frame f;
    struct http_body b;
    size_t seen = 0, at = 0;
    long head = 0;

    for (size_t have = piece; !head; have += piece) {
        head = http_frame_head(s, have < n ? have : n, &seen);
        if (have >= n)
            break;
    }
    if (head <= 0 || http_frame_parse(s, (size_t)head, &f))
        return SIZE_MAX;
    bug_on(f.target < s || f.target + f.target_n > s + head);
    const struct http_word *token = &f.claim.authorization;
    bug_on(token->at && (token->at < s || token->at + token->n > s + head));
    bug_on(f.chunked && f.length);
    http_body_begin(&b, &f, 1u << 20);
    for (at = (size_t)head; at < n && b.state != BODY_END && b.state != BODY_BROKEN;) {
        size_t some = n - at < piece ? n - at : piece;
        size_t taken = http_body_take(&b, s + at, some);
        bug_on(taken > some || b.n > sizeof b.line);
        at += b.state == BODY_BROKEN ? 0 : taken;
    }
    return b.state == BODY_BROKEN ? SIZE_MAX - 1 : at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *s = malloc(size + 1);

    bug_on(!s);
    memcpy(s, data, size); // a separate buffer, so that the sanitizer finds reads behind it
    size_t whole = end_of(s, size, size + 1);
    for (size_t piece = 1; piece < 8; piece += 3)
        bug_on(end_of(s, size, piece) != whole);
    free(s);
    return 0;
}
