// SPDX-License-Identifier: BSD-3-Clause
// reader.h - what kamueed gets to read of a client's bytes: well-formed requests alone
//
//     header   kept until it is whole and read strictly (http/http_frame.h); then passed as it is
//     body     passed as it comes, chunks framed anew; from the first byte that is not JSON on,
//              each byte is REMOTE_BAD
//
// A request that is not well-formed becomes one that says so (REMOTE_REFUSED_HEADER), or, within
// its chunks, a chunk without a size; then nothing passes any more: kamueed answers and ends the
// connection. Who may send what, and how much, is kamueed's to decide.
#ifndef REMOTE_READER_H
#define REMOTE_READER_H

#include <event2/buffer.h>

#include "http/http_frame.h"
#include "remote/json_check.h"

#define READER_HEADER_MAX (64u << 10) // as HTTP_HEADER_MAX
#define READER_CHUNK_MAX (2u << 20)   // no body of TCP is longer; as HTTP_BODY_OTHERS
#define REMOTE_BAD '!'

struct remote_reader { // of a connection; all zero at its beginning
    size_t seen; // bytes of the header that have been looked at
    struct http_body body;
    struct json_check json;
    bool chunked, bad_json;
    bool dead; // all that comes is dropped
};

// Moves what may pass from `in` to `out`; what is left of `in` waits for more.
void reader_take(struct remote_reader *r, struct evbuffer *in, struct evbuffer *out);

#endif
