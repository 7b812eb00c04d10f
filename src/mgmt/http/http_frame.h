// SPDX-License-Identifier: BSD-3-Clause
// http_frame.h - start and end of a request, parsed strictly (RFC 9112)
//
// Refuses everything that a proxy in front of us might read differently from evhttp: two lengths, a
// length together with chunks, lines that end in a bare LF, folded headers, blanks before a colon.
// No state except the structs; no libevent.
#ifndef HTTP_HTTP_FRAME_H
#define HTTP_HTTP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_word { // part of the parsed text
    const char *at;     // NULL: none
    size_t n;
};

struct http_claim { // a request's claims about its sender
    struct http_word authorization, sudo_user; // the latter: ACCESS_SUDO_HEADER
    struct http_word via, client, certificate; // set by the proxy: ACCESS_VIA_HEADER and the like
};

struct http_frame {
    char method[16];   // truncated if longer: not one of our methods
    const char *target; // in the parsed text, target_n bytes
    size_t target_n;
    bool http10;
    bool chunked;      // otherwise `length` bytes of body follow
    bool last;         // Connection: close
    bool expects;      // Expect: something other than 100-continue
    uint64_t length;
    struct http_claim claim;
};

// Length of the header with the empty line that ends it; 0: more bytes are needed. `*seen` is where
// an earlier call on the same text ended. Returns -1 at a line that does not end in CRLF, or at a
// byte that is not allowed in a header.
long http_frame_head(const char *text, size_t n, size_t *seen);
// Parses a whole header; returns an error text, or NULL.
const char *http_frame_parse(const char *text, size_t n, struct http_frame *f);

// The body, byte by byte as it arrives.
enum http_body_state {
    BODY_END,
    BODY_LENGTH,
    BODY_SIZE,
    BODY_CHUNK,
    BODY_CHUNK_END,
    BODY_TRAILER,
    BODY_BROKEN
};
struct http_body {
    enum http_body_state state; // BODY_END: the next byte belongs to the next request
    uint64_t left;              // of BODY_LENGTH, BODY_CHUNK
    char line[256];             // of BODY_SIZE, BODY_TRAILER: received so far
    size_t n, trailer;          // bytes of the line, and of all trailers
    uint64_t room;              // chunks: number of bytes still allowed
    bool in_trailer;            // the last chunk has come
    bool too_long;              // reason of BODY_BROKEN
};
void http_body_begin(struct http_body *b, const struct http_frame *f, uint64_t room);
// Number of the bytes that belong to the body; less than n only when it ends there. If it is
// broken: the number before the broken line, 0 if that began in an earlier call.
size_t http_body_take(struct http_body *b, const char *bytes, size_t n);

#endif
