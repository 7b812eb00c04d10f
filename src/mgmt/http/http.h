// SPDX-License-Identifier: BSD-3-Clause
// http.h - HTTP/1.1 by libevent's evhttp: requests and their answers
//
// A struct http is one request and its answer. A handler answers at once, or
// keeps the pointer and answers later on the same loop; exactly one of the
// reply functions, or http_stream_begin … http_stream_end, ends it. The pointer is dead after that.
// Control role.
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/fair.h"
#include "base/text.h"
#include "http/access.h"
#include "http/http_page.h"

struct event_base;
struct http;

#define HTTP_BODY_MAX (16u << 20)   // bytes, of an administrator on the socket
#define HTTP_HEADER_MAX (64u << 10) // request line and headers
#define HTTP_PATH_MAX 4096
#define HTTP_QUEUES 3 // in which requests wait: the lanes of core/aside.h, and the loop's
#define HTTP_SLICE_NS (5 * NS_PER_MS) // others of the loop have their turn then

// Before and after the listeners (http_listen.h). A listener that stops forgets requests without an
// answer: http_gone() says so to code that still holds one.
int http_init(struct event_base *loop, const char *run_dir); // 0 or -ENOMEM
void http_fini(void);
// What a request is for: on the socket always VIA_API; the proxy says it of each.
enum http_via {
    VIA_API,     // everything, for clients that say who they are
    VIA_METRICS, // /metrics, for anybody whom the proxy lets in
    VIA_WEB,     // what the web page asks; the page has a key
    VIA_N
};
extern const char *const http_via_name[VIA_N]; // "api", "metrics", "web"
void http_serve(enum http_via via, void (*answer)(struct http *h)); // before the first listener
// Who knows which role a request's body is for: asked when the header is whole, before any of the
// body is taken.
void http_ask_role(enum access_level (*needed)(const char *method, const char *path));

void http_after(
    unsigned ms,
    void (*fn)(void)); // calls fn once on the loop, after answers given now are on their way

// --- the request ---
const char *http_method(const struct http *h); // "GET", …
const char *http_path(const struct http *h);   // "/restconf/data/…", percent-encoded as it came
const char *http_query(const struct http *h,
                       const char *name); // decoded value of a query parameter, or NULL
// Calls fn for each query parameter.
void http_each_query(const struct http *h,
                     bool (*fn)(void *ctx, const char *name, const char *value), void *ctx);
const char *http_header(const struct http *h, const char *name); // or NULL
const char *http_body(struct http *h, size_t *n); // NUL-terminated; stays until the answer
const char *http_peer(const struct http *h);      // "alice", "token ansible", "anonymous"
bool http_peer_known(const struct http *h); // it has said who it is
bool http_peer_is_root(const struct http *h);
bool http_same_peer(const struct http *a,
                    const struct http *b); // the same user of the socket, or the same address
enum access_level http_access(const struct http *h);

// --- turns ---
// Users, tokens and certificates take turns (base/fair.h), whatever their number of connections: on
// the loop, where a handler is called for one request after the other, and in the lanes of
// core/aside.h. Few requests of one are worked on at a time; the others wait.
struct fair_share *http_share(const struct http *h, unsigned queue); // is never freed
struct http_turn {
    struct fair_item item;
    void (*fn)(void *ctx);
    void *ctx;
};
// Calls fn when it is the client's turn again: for work of more than HTTP_SLICE_NS.
void http_turn(const struct http *h, struct http_turn *t, void (*fn)(void *ctx), void *ctx);
// It waits in a queue of its own, and its client may be served otherwise meanwhile.
void http_not_at_work(struct http *h);

// What it may do from now on, and which virtual router it is bound to ("": none): whoever answers
// has found out by other means.
void http_admit(struct http *h, enum access_level access, const char *name, const char *vr);
const char *http_vr(const struct http *h); // it is bound to; "" = to none
void http_keep(struct http *h, void *kept, void (*drop)(void *kept)); // as long as the request
void *http_kept(const struct http *h); // what was kept, or NULL
bool http_gone(const struct http *h); // the server stopped: http_reply only frees
bool http_left(const struct http *h); // it stopped, or the client closed its side: nobody reads on

// --- the answer ---

// What nobody has looked at is not sent to a client that is bound to a virtual router. So whoever
// answers says before what becomes of the body of a successful answer: `fn` takes out what does not
// belong to the virtual router (false: nothing is left, the answer is a 404), or the answer is as
// it should be already. A stream without the latter stays empty.
void http_filter(struct http *h,
                 bool (*fn)(const void *ctx, const char *vr, struct text *body), const void *ctx);
void http_for_anyone(struct http *h);

void http_set_header(struct http *h, const char *name, const char *value);
void http_reply(struct http *h, int code, const char *type,
                struct text *body); // frees the body's text; body NULL: none

// A long answer with flow control. After http_stream_write() has returned false the writer waits
// for `room`; `gone` tells that the client left: `h` is dead then and neither is called again.
void http_stream_begin(struct http *h, const char *type, void (*room)(void *ctx),
                       void (*gone)(void *ctx), void *ctx);
bool http_stream_write(struct http *h, struct text *t); // empties t; false: enough for now
void http_stream_end(struct http *h);
void http_stream_cut(struct http *h); // ends the connection; calls `gone`
void http_stream_quiet(
    struct http *h); // may be silent for ever; a client that reads nothing for a minute is dropped

struct event_base *http_loop(void);

#endif
