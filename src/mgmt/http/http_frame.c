// SPDX-License-Identifier: BSD-3-Clause
// http_frame.c - start and end of a request, parsed strictly (RFC 9112)
//
// A header is parsed when it is complete. A body is followed byte by byte, because it arrives in
// pieces of any size; struct http_body is the state between two pieces.
#include "http/http_frame.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "http/access.h"

#define TRAILER_MAX 4096 // bytes, all together
#define DIGITS_MAX 15    // digits of a length: less than 2^63 in any base

// --- the header ---------------------------------------------------------------------------------

long http_frame_head(const char *text, size_t n, size_t *seen)
{
    for (size_t i = *seen; i < n; i++) {
        char c = text[i];

        if (c == '\n' && (!i || text[i - 1] != '\r'))
            return -1;
        if (c != '\n' && i && text[i - 1] == '\r')
            return -1;
        if ((c > 0 && c < ' ' && c != '\t' && c != '\r' && c != '\n') || !c || c == 127)
            return -1;
        if (c == '\n' && i >= 3 && text[i - 2] == '\n')
            return (long)i + 1;
    }
    *seen = n;
    return 0;
}

static bool is_token(const char *s, size_t n)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < n; i++) {
        char c = s[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              strchr(marks, c)))
            return false;
    }
    return n;
}

// "POST /restconf/data HTTP/1.1": two blanks, no more.
static const char *parse_request_line(const char *s, size_t n, struct http_frame *f)
{
    static const char wrong[] = "the request line is not 'METHOD PATH HTTP/1.1'";
    const char *first = memchr(s, ' ', n),
               *second = first ? memchr(first + 1, ' ', n - (size_t)(first + 1 - s)) : NULL;

    if (!second || second + 9 != s + n || memcmp(second + 1, "HTTP/1.", 7) ||
        (second[8] != '0' && second[8] != '1'))
        return wrong;
    f->target = first + 1;
    f->target_n = (size_t)(second - f->target);
    f->http10 = second[8] == '0';
    if (!is_token(s, (size_t)(first - s)) || !f->target_n || memchr(s, '\t', n))
        return wrong;
    snprintf(f->method, sizeof f->method, "%.*s", (int)(first - s), s);
    return NULL;
}

static bool parse_number(const char *s, size_t n, unsigned base, uint64_t *value)
{
    if (!n || n > DIGITS_MAX)
        return false;
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned digit = (unsigned)text_hex_digit(s[i]);

        if (digit >= base)
            return false;
        *value = *value * base + digit;
    }
    return true;
}

struct once { // headers that may occur once, if they decide the end of a request
    bool length, encoding, host, type;
};

static bool is(const char *name, size_t n, const char *word)
{
    return strlen(word) == n && !strncasecmp(name, word, n);
}

static bool again(bool *seen)
{
    bool before = *seen;

    *seen = true;
    return before;
}

// The headers that identify the sender: each may occur once. True: it is one of them.
static bool parse_claim(const char *name, size_t n, struct http_word value, struct http_claim *c,
                        const char **why)
{
    const struct {
        const char *name, *twice;
        struct http_word *value;
    } field[] = {
#define CLAIM(header, value) {header, "there are two " header " headers", value}
        CLAIM("Authorization", &c->authorization),
        CLAIM(ACCESS_SUDO_HEADER, &c->sudo_user),
        CLAIM(ACCESS_VIA_HEADER, &c->via),
        CLAIM(ACCESS_CLIENT_HEADER, &c->client),
        CLAIM(ACCESS_CERTIFICATE_HEADER, &c->certificate),
#undef CLAIM
    };

    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        if (!is(name, n, field[i].name))
            continue;
        if (field[i].value->at)
            *why = field[i].twice;
        *field[i].value = value;
        return true;
    }
    return false;
}

static const char *parse_field(const char *name, size_t n, const char *v, size_t vn,
                               struct http_frame *f, struct once *once)
{
    const char *why = NULL;

    if (parse_claim(name, n, (struct http_word){v, vn}, &f->claim, &why)) {
        return why;
    } else if (is(name, n, "Content-Length")) {
        if (again(&once->length))
            return "there are two Content-Length headers";
        if (!parse_number(v, vn, 10, &f->length))
            return "Content-Length is not a number";
    } else if (is(name, n, "Transfer-Encoding")) {
        if (again(&once->encoding) || !is(v, vn, "chunked"))
            return "Transfer-Encoding is not 'chunked'";
        f->chunked = true;
    } else if (is(name, n, "Host")) {
        if (again(&once->host))
            return "there are two Host headers";
    } else if (is(name, n, "Content-Type")) {
        if (again(&once->type))
            return "there are two Content-Type headers";
    } else if (is(name, n, "Connection")) {
        f->last = f->last || is(v, vn, "close");
    } else if (is(name, n, "Expect")) {
        f->expects = !is(v, vn, "100-continue");
    }
    return NULL;
}

// A line without its CRLF.
static const char *parse_line(const char *s, size_t n, struct http_frame *f, struct once *once)
{
    const char *colon = memchr(s, ':', n), *end = s + n;

    if (*s == ' ' || *s == '\t')
        return "a header continues on a second line";
    if (!colon || !is_token(s, (size_t)(colon - s)))
        return "a header is not 'NAME: VALUE'";
    const char *v = colon + 1;
    while (v < end && (*v == ' ' || *v == '\t'))
        v++;
    while (end > v && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return parse_field(s, (size_t)(colon - s), v, (size_t)(end - v), f, once);
}

const char *http_frame_parse(const char *text, size_t n, struct http_frame *f)
{
    const char *at = text, *end = text + n - 2, *why = NULL; // the last CRLF is the empty line
    struct once once = {0};

    *f = (struct http_frame){0};
    for (bool first = true; at < end && !why; first = false) {
        const char *cr = memchr(at, '\r', (size_t)(end - at));
        size_t line = (size_t)(cr - at);

        why = !line   ? "the request starts with an empty line"
              : first ? parse_request_line(at, line, f)
                      : parse_line(at, line, f, &once);
        at = cr + 2;
    }
    if (!why && once.length && once.encoding)
        why = "there are both Content-Length and Transfer-Encoding";
    if (!why && f->chunked && f->http10)
        why = "Transfer-Encoding is not allowed in HTTP/1.0";
    return why;
}

// --- the body -----------------------------------------------------------------------------------

void http_body_begin(struct http_body *b, const struct http_frame *f, uint64_t room)
{
    *b = (struct http_body){.state = f->chunked  ? BODY_SIZE
                                     : f->length ? BODY_LENGTH
                                                 : BODY_END,
                            .left = f->length,
                            .room = room};
}

// A line of a size or a trailer is complete, without its CRLF.
static void end_line(struct http_body *b)
{
    const char *extension = memchr(b->line, ';', b->n);
    size_t n = extension ? (size_t)(extension - b->line) : b->n;

    if (b->state == BODY_TRAILER) {
        const char *colon = memchr(b->line, ':', b->n);

        if (!b->n)
            b->state = BODY_END;
        else if (!colon || !is_token(b->line, (size_t)(colon - b->line)))
            b->state = BODY_BROKEN;
    } else if (extension || !parse_number(b->line, n, 16, &b->left)) { // evhttp knows no extensions
        b->state = BODY_BROKEN;
    } else if (b->left > b->room) {
        b->too_long = true;
        b->state = BODY_BROKEN;
    } else {
        b->room -= b->left;
        b->in_trailer = !b->left;
        b->state = b->left ? BODY_CHUNK : BODY_TRAILER;
    }
    b->n = 0;
}

static void take_line_byte(struct http_body *b, char c)
{
    bool after_cr = b->n && b->line[b->n - 1] == '\r';

    if (after_cr && c == '\n') {
        b->n--;
        end_line(b);
    } else if (after_cr || c == '\n' || !c || b->n == sizeof b->line ||
               (b->state == BODY_TRAILER && ++b->trailer > TRAILER_MAX)) {
        b->state = BODY_BROKEN;
    } else {
        b->line[b->n++] = c;
    }
}

// The CRLF behind a chunk.
static void take_chunk_end(struct http_body *b, char c)
{
    if (c != "\r\n"[b->n])
        b->state = BODY_BROKEN;
    else if (++b->n == 2)
        b->state = BODY_SIZE, b->n = 0;
}

size_t http_body_take(struct http_body *b, const char *bytes, size_t n)
{
    size_t at = 0, good = 0;

    while (at < n && b->state != BODY_END && b->state != BODY_BROKEN) {
        if (b->state == BODY_LENGTH || b->state == BODY_CHUNK) {
            size_t some = n - at < b->left ? n - at : (size_t)b->left;

            at += some;
            b->left -= some;
            if (!b->left)
                b->state = b->state == BODY_CHUNK ? BODY_CHUNK_END : BODY_END;
        } else if (b->state == BODY_CHUNK_END) {
            take_chunk_end(b, bytes[at++]);
        } else {
            take_line_byte(b, bytes[at++]);
        }
        if (!b->n && b->state != BODY_BROKEN)
            good = at;
    }
    return b->state == BODY_BROKEN ? good : at;
}
