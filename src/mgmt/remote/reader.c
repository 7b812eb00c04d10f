// SPDX-License-Identifier: BSD-3-Clause
// reader.c - see reader.h
#include "remote/reader.h"

#include <string.h>

#include "http/remote_protocol.h"

#define PIECE 16384 // bytes of a body at a time

static void pass_refused(struct remote_reader *r, const char *why, struct evbuffer *out)
{
    r->dead = true;
    evbuffer_add_printf(out, "GET / HTTP/1.1\r\nHost: k\r\n" REMOTE_REFUSED_HEADER ": %s\r\n\r\n",
                        why);
}

// A header is whole.
static void take_whole(struct remote_reader *r, size_t n, struct evbuffer *in, struct evbuffer *out)
{
    const char *text = (const char *)evbuffer_pullup(in, (ev_ssize_t)n);
    struct http_frame f;
    char said[200] = "400 ";
    const char *why = http_frame_parse(text, n, &f);

    if (why) {
        strncat(said, why, sizeof said - 5);
        pass_refused(r, said, out);
        return;
    }
    http_body_begin(&r->body, &f, READER_CHUNK_MAX);
    json_check_begin(&r->json);
    r->bad_json = false;
    r->chunked = f.chunked;
    evbuffer_remove_buffer(in, out, n);
}

// False: more bytes are needed.
static bool take_head(struct remote_reader *r, struct evbuffer *in, struct evbuffer *out)
{
    size_t n = evbuffer_get_length(in);

    if (n > READER_HEADER_MAX)
        n = READER_HEADER_MAX;
    long end = http_frame_head((const char *)evbuffer_pullup(in, (ev_ssize_t)n), n, &r->seen);
    if (!end && n < READER_HEADER_MAX)
        return false;
    r->seen = 0;
    if (end > 0)
        take_whole(r, (size_t)end, in, out);
    else
        pass_refused(r, end ? "400 a line does not end in CR LF, or contains a control character"
                            : "431", out);
    return true;
}

static void check_json(struct remote_reader *r, uint8_t *bytes, size_t n)
{
    size_t good = r->bad_json ? 0 : json_check_take(&r->json, bytes, n);

    r->bad_json = good < n;
    memset(bytes + good, REMOTE_BAD, n - good);
}

static void take_bytes(struct remote_reader *r, size_t n, struct evbuffer *in, struct evbuffer *out)
{
    if (n > r->body.left)
        n = (size_t)r->body.left;
    uint8_t *bytes = evbuffer_pullup(in, (ev_ssize_t)n);
    http_body_take(&r->body, (const char *)bytes, n);
    check_json(r, bytes, n);
    if (r->chunked)
        evbuffer_add_printf(out, "%zx\r\n", n);
    evbuffer_remove_buffer(in, out, n);
    if (r->chunked)
        evbuffer_add(out, "\r\n", 2);
}

// Of a line around chunks: these are framed anew, and trailers left out.
static void take_byte_of_frame(struct remote_reader *r, struct evbuffer *in, struct evbuffer *out)
{
    char c;

    evbuffer_remove(in, &c, 1);
    http_body_take(&r->body, &c, 1);
    if (r->body.state == BODY_BROKEN && r->body.too_long)
        evbuffer_add_printf(out, "%llx\r\n", (unsigned long long)r->body.left);
    else if (r->body.state == BODY_BROKEN)
        evbuffer_add_printf(out, "%c\r\n", REMOTE_BAD);
    else if (r->body.state == BODY_END)
        evbuffer_add_printf(out, "0\r\n\r\n");
    r->dead = r->body.state == BODY_BROKEN;
}

static void take_body(struct remote_reader *r, struct evbuffer *in, struct evbuffer *out)
{
    size_t n = evbuffer_get_length(in);

    if (r->body.state == BODY_LENGTH || r->body.state == BODY_CHUNK)
        take_bytes(r, n < PIECE ? n : PIECE, in, out);
    else
        take_byte_of_frame(r, in, out);
}

void reader_take(struct remote_reader *r, struct evbuffer *in, struct evbuffer *out)
{
    bool more = true;

    while (more && !r->dead && evbuffer_get_length(in)) {
        if (r->body.state != BODY_END)
            take_body(r, in, out);
        else
            more = take_head(r, in, out);
    }
    if (r->dead)
        evbuffer_drain(in, evbuffer_get_length(in));
}
