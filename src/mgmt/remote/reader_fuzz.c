// SPDX-License-Identifier: BSD-3-Clause
// reader_fuzz.c - any bytes of a client, whole and in pieces: what passes are well-formed requests
// with the same bodies, and at the end perhaps one of the two marks
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "remote/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct passed { // what kamueed would see
    unsigned requests;
    size_t body;   // bytes
    uint64_t sum;  // of them
    bool refused, broken;
};

static void add_body(struct passed *p, const struct http_body *b, const char *s, size_t n)
{
    if (b->state != BODY_LENGTH && b->state != BODY_CHUNK)
        return;
    n = n < b->left ? n : (size_t)b->left;
    p->body += n;
    for (size_t i = 0; i < n; i++)
        p->sum = p->sum * 31 + (uint8_t)s[i];
}

// As http_gate.c reads them.
static void read_passed(const char *s, size_t n, struct passed *p)
{
    struct http_body b = {0};
    struct http_frame f;

    for (size_t at = 0; at < n;) {
        if (b.state != BODY_END) {
            add_body(p, &b, s + at, n - at);
            size_t left = b.state == BODY_LENGTH || b.state == BODY_CHUNK ? (size_t)b.left : 1;
            left = left < n - at ? left : n - at;
            http_body_take(&b, s + at, left);
            at += left;
            p->broken = b.state == BODY_BROKEN;
            bug_on(p->broken && at != n);
            if (p->broken)
                return;
            continue;
        }
        size_t seen = 0;
        long head = http_frame_head(s + at, n - at, &seen);
        bug_on(head <= 0 || http_frame_parse(s + at, (size_t)head, &f));
        at += (size_t)head;
        p->requests++;
        p->refused = f.refused;
        http_body_begin(&b, &f, READER_CHUNK_MAX);
    }
}

static struct passed read_in_pieces(const uint8_t *data, size_t size, size_t piece)
{
    struct evbuffer *in = evbuffer_new(), *out = evbuffer_new();
    struct remote_reader r = {0};
    struct passed p = {0};

    bug_on(!in || !out);
    for (size_t at = 0; at < size; at += piece) {
        evbuffer_add(in, data + at, size - at < piece ? size - at : piece);
        reader_take(&r, in, out);
    }
    size_t n = evbuffer_get_length(out);
    read_passed((const char *)evbuffer_pullup(out, -1), n, &p);
    evbuffer_free(in);
    evbuffer_free(out);
    return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct passed whole = read_in_pieces(data, size, size + 1);

    for (size_t piece = 1; piece < 8; piece += 3) {
        struct passed p = read_in_pieces(data, size, piece);
        bug_on(memcmp(&p.requests, &whole.requests, sizeof p.requests) || p.body != whole.body ||
               p.sum != whole.sum || p.refused != whole.refused || p.broken != whole.broken);
    }
    return 0;
}
