// SPDX-License-Identifier: BSD-3-Clause
// http_gate.c - the input that evhttp may read: whole headers of well-formed requests, and bodies
// of permitted ones
//
// A callback on the connection's input buffer sees the bytes before evhttp does, removes them, and
// puts the permitted ones back:
//
//     header   kept until it is complete; then it is parsed strictly (http_frame.c), the sender is
//              identified, and for a body its role and the free space are checked
//     body     passes as it comes; the body of HEAD and TRACE, which evhttp does not read, is
//              dropped, or evhttp would take it for the next request
//
// Bytes behind a whole request stay in the input buffer until evhttp has taken it, after the answer
// to the previous request; once there are AHEAD_MAX of them the socket is not read. So a client
// that sends without waiting fills a header and AHEAD_MAX, and then its own buffers.
//
// One request passes at a time, so the verdict belongs to the next call of on_request(). A refused
// request reaches evhttp as a substitute without a body, which http.c answers with the reason; its
// own body is dropped as it comes, so the connection can continue. The end of a malformed request
// is unknown: then all further bytes are dropped and the answer ends the connection.
#include <event2/buffer.h>
#include <openssl/sha.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "http/access.h"
#include "http/http_frame.h"
#include "http/http_priv.h"

#define AHEAD_MAX (16u << 10) // bytes, of requests that come before the answer to an earlier one

static enum access_level (*needed_role)(const char *method, const char *path);

void http_ask_role(enum access_level (*fn)(const char *method, const char *path))
{
    needed_role = fn;
}

// --- verdict on a request -----------------------------------------------------------------------

__attribute__((format(printf, 5, 6))) static void refuse(struct http_verdict *v,
                                                         enum http_refusal refusal, int code,
                                                         const char *tag, const char *fmt, ...)
{
    va_list ap;

    v->code = code;
    v->tag = tag;
    va_start(ap, fmt);
    vsnprintf(v->why, sizeof v->why, fmt, ap);
    va_end(ap);
    http_refused(refusal);
}

static bool has_token(const struct http_live *c, enum http_via via, const struct http_claim *claim)
{
    return !c->door->local && via == VIA_API && claim->authorization.at;
}

static void copy_word(char *to, size_t size, const struct http_word *w)
{
    snprintf(to, size, "%.*s", (int)w->n, w->at ? w->at : "");
}

// A token takes precedence over a certificate, because the client sends it on purpose.
void http_who_now(const struct http_live *c, enum http_via via, const struct http_claim *claim,
                  struct who *w)
{
    char text[1024];

    if (c->door->local) {
        copy_word(text, sizeof text, &claim->sudo_user);
        access_by_socket(bufferevent_getfd(c->bev), text, w);
    } else if (via != VIA_API) {
        *w = (struct who){.access = ACCESS_READ, .name = "anonymous"};
    } else if (has_token(c, via, claim)) {
        copy_word(text, sizeof text, &claim->authorization);
        access_by_token(text, w);
    } else if (claim->certificate.n) {
        access_by_certificate(claim->certificate.at, claim->certificate.n, w);
    } else {
        *w = (struct who){.access = ACCESS_NONE, .name = "anonymous"};
    }
}

static void by_token(struct http_live *c, const struct http_claim *claim, struct http_verdict *v)
{
    uint8_t proof[PEER_PROOF];

    SHA256((const uint8_t *)claim->authorization.at, claim->authorization.n, proof);
    if (http_peer_paused(c->peer, proof)) {
        refuse(v, REFUSED_PAUSED, 429, "access-denied",
               "%d wrong tokens from this address; further tokens are rejected for %d seconds",
               GUESSES_MAX, GUESS_PAUSE_S);
        return;
    }
    http_who_now(c, v->via, claim, &v->who);
    if (v->who.known) {
        http_peer_proved(c->peer, proof);
        return;
    }
    http_refused(REFUSED_UNKNOWN);
    http_peer_guessed(c->peer);
}

static void find_out_who(struct http_live *c, const struct http_claim *claim,
                         struct http_verdict *v)
{
    if (has_token(c, v->via, claim))
        by_token(c, claim, v);
    else
        http_who_now(c, v->via, claim, &v->who);
}

// Only administrators on the socket send whole configurations.
static uint64_t longest_body(const struct http_live *c, const struct http_verdict *v)
{
    const struct who *who = &v->who;

    return v->via != VIA_API                                            ? HTTP_BODY_ANONYMOUS
           : c->door->local && who->access == ACCESS_ADMIN && !*who->vr ? HTTP_BODY_MAX
                                                                        : HTTP_BODY_OTHERS;
}

static enum access_level role_for(const struct http_verdict *v, const struct http_frame *f)
{
    char path[HTTP_PATH_MAX + 1];

    if (v->via != VIA_API || !needed_role)
        return ACCESS_READ;
    size_t n = strcspn(f->target, "? ");
    snprintf(path, sizeof path, "%.*s", (int)(n < sizeof path ? n : sizeof path - 1), f->target);
    return needed_role(f->method, path);
}

// For a request with a body: may the body come at all?
static void judge_body(struct http_live *c, const struct http_frame *f, struct http_verdict *v)
{
    uint64_t longest = longest_body(c, v), bytes = f->chunked ? longest : f->length;
    enum access_level needed = role_for(v, f);

    if (v->who.access < ACCESS_READ) {
        v->stranger = true;
        refuse(v, REFUSED_ROLE, v->who.known ? 403 : 401, "access-denied", "%s", "");
    } else if (v->who.access < needed) {
        refuse(v, REFUSED_ROLE, 403, "access-denied", "%s has role %s, but this needs role %s",
               v->who.name, access_name[v->who.access], access_name[needed]);
    } else if (f->length > longest) {
        refuse(v, REFUSED_LENGTH, 413, "too-big",
               "the request's body has %llu bytes; %s may send at most %llu",
               (unsigned long long)f->length, v->who.name, (unsigned long long)longest);
    } else if (!http_peer_body(c->peer, bytes, longest)) {
        refuse(v, REFUSED_BODIES, 429, "resource-denied",
               "too many requests with large bodies are in progress; try again");
    } else {
        v->body_bytes = bytes;
    }
}

// Same rule as evhttp's.
static bool body_is_read(const char *method)
{
    return strcmp(method, "HEAD") && strcmp(method, "TRACE");
}

static bool read_via(const struct http_word *w, enum http_via *via)
{
    for (unsigned i = 0; i < VIA_N; i++) {
        if (!w->at || strlen(http_via_name[i]) != w->n || memcmp(w->at, http_via_name[i], w->n))
            continue;
        *via = (enum http_via)i;
        return true;
    }
    return false;
}

static bool read_client(const struct http_word *w, struct ip_addr *address)
{
    char text[IP_TEXT_MAX];

    if (!w->at || w->n >= sizeof text)
        return false;
    memcpy(text, w->at, w->n);
    text[w->n] = 0;
    return !ip_parse(text, address);
}

// Identifies the client from the proxy's headers; returns an error in them, or NULL.
static const char *read_proxy(struct http_live *c, const struct http_claim *claim,
                              enum http_via *via)
{
    struct ip_addr address;

    if (c->door->local)
        return NULL;
    if (!c->trusted)
        return "only the proxy may use this socket";
    if (!read_client(&claim->client, &address))
        return "the proxy sets no " ACCESS_CLIENT_HEADER " that is an address";
    if (!read_via(&claim->via, via))
        return "the proxy sets no " ACCESS_VIA_HEADER ": expected api, metrics or web";
    if (c->peer && !http_peer_is(c->peer, &address))
        return "the proxy sends two clients' requests by one connection";
    http_identify(c, &address);
    return NULL;
}

static bool is_known(const char *method)
{
    static const char *const known[] = {"GET",   "HEAD",   "OPTIONS", "POST",   "PUT",
                                        "PATCH", "DELETE", "TRACE",   "CONNECT"};

    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(method, known[i]))
            return true;
    return false;
}

static bool is_uri(const struct http_frame *f)
{
    char *text = strndup(f->target, f->target_n);
    struct evhttp_uri *uri = evhttp_uri_parse_with_flags(text, EVHTTP_URI_NONCONFORMANT);
    bool ok = uri;

    free(text);
    if (uri)
        evhttp_uri_free(uri);
    return ok;
}

// evhttp would refuse the first two with a page of its own.
static void judge(struct http_live *c, const struct http_frame *f, struct http_verdict *v)
{
    bool has_body = f->length || f->chunked;

    if (!is_known(f->method))
        refuse(v, REFUSED_MALFORMED, 501, "operation-not-supported",
               "the request's method is unknown; expected GET, HEAD, OPTIONS, POST, PUT, PATCH or "
               "DELETE");
    else if (has_body && f->expects && !f->http10)
        refuse(v, REFUSED_MALFORMED, 417, "operation-not-supported",
               "the request expects something other than 100-continue");
    else
        find_out_who(c, &f->claim, v);
    if (!v->code && has_body)
        judge_body(c, f, v);
}

// --- the bytes ----------------------------------------------------------------------------------

static void pass(struct http_gate *g, size_t n, struct evbuffer *out)
{
    if (out)
        evbuffer_remove_buffer(g->held, out, n);
    else
        evbuffer_drain(g->held, n);
}

// Passes to evhttp a substitute for a refused request.
static void pass_substitute(const struct http_frame *f, struct evbuffer *out)
{
    evbuffer_add_printf(out, "%s / HTTP/1.%c\r\nHost: k\r\n%s\r\n",
                        strcmp(f->method, "HEAD") ? "GET" : "HEAD", f->http10 ? '0' : '1',
                        f->last ? "Connection: close\r\n" : "");
}

// A header is complete, or invalid: `n` is its length, -1 if it is malformed, or 0 if it is too
// long.
static void take_head(struct http_live *c, const char *text, long n, struct evbuffer *out)
{
    struct http_gate *g = &c->gate;
    struct http_frame f = {0};
    const char *why = n > 0 ? http_frame_parse(text, (size_t)n, &f)
                      : n   ? "a line does not end in CR LF, or contains a control character"
                            : NULL;

    g->verdict = (struct http_verdict){.who.name = "unknown"};
    snprintf(g->verdict.method, sizeof g->verdict.method, "%s", f.method);
    if (n > 0 && !why && !is_uri(&f))
        why = "the target is not a URI";
    if (n > 0 && !why)
        why = read_proxy(c, &f.claim, &g->verdict.via);
    http_identify(c, NULL);
    if (why)
        refuse(&g->verdict, REFUSED_MALFORMED, 400, "malformed-message",
               "the request is not well-formed HTTP: %s", why);
    else if (!n)
        refuse(&g->verdict, REFUSED_LENGTH, 431, "too-big",
               "the request's header is longer than %u bytes", HTTP_HEADER_MAX);
    else
        judge(c, &f, &g->verdict);
    g->dead = why || !n || g->verdict.code == 413 || g->verdict.code == 417;
    g->verdict.last = g->dead;
    g->discard = g->verdict.code || !body_is_read(f.method);
    g->pending = true;
    if (!g->dead)
        http_body_begin(&g->body, &f, longest_body(c, &g->verdict));
    if (g->verdict.code)
        pass_substitute(&f, out);
    pass(g, n > 0 ? (size_t)n : 0, g->verdict.code ? NULL : out);
}

// False: more bytes are needed.
static bool run_head(struct http_live *c, struct evbuffer *out)
{
    struct http_gate *g = &c->gate;
    size_t n = evbuffer_get_length(g->held);

    if (n > HTTP_HEADER_MAX)
        n = HTTP_HEADER_MAX;
    if (!n)
        return false;
    const char *text = (const char *)evbuffer_pullup(g->held, (ev_ssize_t)n);
    long end = http_frame_head(text, n, &g->seen);
    if (!end && n < HTTP_HEADER_MAX)
        return false;
    g->seen = 0;
    take_head(c, text, end, out);
    return true;
}

// The body is malformed at this point: ends it for evhttp, and refuses the request.
static void break_body(struct http_live *c, struct evbuffer *out)
{
    struct http_gate *g = &c->gate;

    g->dead = true;
    if (!g->pending || g->discard) { // its answer is already on the way
        http_refused(REFUSED_MALFORMED);
        shutdown(bufferevent_getfd(c->bev), SHUT_RD);
        return;
    }
    evbuffer_add_printf(out, g->body.in_trailer ? "\r\n" : "0\r\n\r\n");
    g->verdict.last = true;
    if (g->body.too_long)
        refuse(&g->verdict, REFUSED_LENGTH, 413, "too-big",
               "the request's body is larger than %s may send", g->verdict.who.name);
    else
        refuse(&g->verdict, REFUSED_MALFORMED, 400, "malformed-message",
               "the request is not well-formed HTTP: malformed chunks");
}

// False: more bytes are needed. A chunk line passes when it is complete; its first `fed` bytes have
// been parsed.
static bool run_body(struct http_live *c, struct evbuffer *out)
{
    struct http_gate *g = &c->gate;
    size_t n = evbuffer_get_length(g->held);

    if (n <= g->fed)
        return false;
    const char *bytes = (const char *)evbuffer_pullup(g->held, -1);
    size_t taken = http_body_take(&g->body, bytes + g->fed, n - g->fed),
           whole = taken ? g->fed + taken : 0;
    if (g->body.state == BODY_BROKEN) {
        pass(g, whole, g->discard ? NULL : out);
        break_body(c, out);
        return true;
    }
    g->fed = g->body.n;
    pass(g, whole - g->fed, g->discard ? NULL : out);
    return true;
}

static void run_gate(struct http_live *c, struct evbuffer *out)
{
    struct http_gate *g = &c->gate;
    bool more = true;

    while (more && !g->dead) {
        if (g->body.state != BODY_END)
            more = run_body(c, out);
        else
            more = !g->pending && run_head(c, out);
    }
    if (g->dead)
        evbuffer_drain(g->held, evbuffer_get_length(g->held));
}

// A whole request waits for evhttp, which stops reading at its end.
static bool is_full(const struct http_gate *g)
{
    return g->pending && g->body.state == BODY_END && !g->dead;
}

// Processes the held bytes, and puts the permitted ones behind the bytes that evhttp has not read
// yet; so those are removed first, and everything is prepended to an empty buffer. Bytes behind a
// whole request stay behind it.
static void pass_to(struct http_live *c, struct evbuffer *in, size_t unread)
{
    struct evbuffer *out = evbuffer_new();

    bug_on(!out);
    c->gate.inside = true;
    evbuffer_remove_buffer(in, out, unread);
    evbuffer_add_buffer(c->gate.held, in);
    run_gate(c, out);
    if (is_full(&c->gate))
        evbuffer_add_buffer(out, c->gate.held);
    evbuffer_prepend_buffer(in, out);
    c->gate.inside = false;
    // evhttp takes a body only when it is complete, so there is no watermark during a body
    bufferevent_setwatermark(c->bev, EV_READ, 0, is_full(&c->gate) ? AHEAD_MAX : 0);
    evbuffer_free(out);
}

static void on_input(struct evbuffer *in, const struct evbuffer_cb_info *info, void *arg)
{
    struct http_live *c = arg;

    if (!c->gate.inside && info->n_added && !is_full(&c->gate))
        pass_to(c, in, evbuffer_get_length(in) - info->n_added);
}

void http_gate_begin(struct http_live *c)
{
    c->gate.held = evbuffer_new();
    bug_on(!c->gate.held || !evbuffer_add_cb(bufferevent_get_input(c->bev), on_input, c));
}

void http_gate_next(struct http_live *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);

    c->gate.pending = false;
    c->gate.verdict = (struct http_verdict){0};
    if (evbuffer_get_length(c->gate.held) || evbuffer_get_length(in))
        pass_to(c, in, 0);
}

bool http_gate_is_inside(const struct http_live *c)
{
    return c->gate.body.state != BODY_END && !c->gate.discard && !c->gate.dead;
}

void http_gate_end(struct http_live *c)
{
    evbuffer_remove_cb(bufferevent_get_input(c->bev), on_input, c);
    evbuffer_free(c->gate.held);
}
