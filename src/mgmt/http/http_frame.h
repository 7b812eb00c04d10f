// SPDX-License-Identifier: BSD-3-Clause
// http_frame.h - where a request begins and ends, read strictly (RFC 9112)
//
// What a proxy in front of us might read otherwise than evhttp does is refused: two lengths, a
// length beside chunks, lines that end in a bare LF, folded headers, blanks in front of a colon. No
// state but the structs; no libevent.
#ifndef HTTP_HTTP_FRAME_H
#define HTTP_HTTP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_word { // of the text that was read
    const char *at;     // NULL: there is none
    size_t n;
};

struct http_claim { // what a request says of its sender
    struct http_word authorization, sudo_user; // the latter: ACCESS_SUDO_HEADER
    struct http_word via, client, certificate; // ACCESS_VIA_HEADER and the like, of the proxy
};

struct http_frame {
    char method[16];   // cut when longer: no method of ours
    const char *target; // in the text that was read, of target_n bytes
    size_t target_n;
    bool http10;
    bool chunked;      // else `length` bytes of body follow
    bool last;         // Connection: close
    uint64_t length;
    struct http_claim claim;
};

// Bytes of the header with the empty line that ends it; 0: more are needed. `*seen` is where an
// earlier call on the same text ended. Returns -1 at a line that does not end in CRLF, or a byte
// that no header may have.
long http_frame_head(const char *text, size_t n, size_t *seen);
// Reads a whole header; what is wrong with it, or NULL.
const char *http_frame_parse(const char *text, size_t n, struct http_frame *f);

// The body, byte by byte as it comes.
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
    enum http_body_state state; // BODY_END: the next byte is of the next request
    uint64_t left;              // of BODY_LENGTH, BODY_CHUNK
    char line[256];             // of BODY_SIZE, BODY_TRAILER: so far
    size_t n, trailer;          // bytes of the line, and of all trailers
    uint64_t room;              // of chunks: how many bytes may still come
    bool in_trailer;            // the last chunk was there
    bool too_long;              // why it is broken
};
void http_body_begin(struct http_body *b, const struct http_frame *f, uint64_t room);
// How many of the bytes belong to the body; less than n only when it ends there. When it is broken:
// how many came before the line that is, 0 if that had begun earlier.
size_t http_body_take(struct http_body *b, const char *bytes, size_t n);

#endif
