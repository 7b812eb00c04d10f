// SPDX-License-Identifier: BSD-3-Clause
// http.h - HTTP/1.1 by libevent's evhttp: requests and their answers
//
// A struct http is one request and its answer. A handler answers at once, or keeps the pointer and
// answers later on the same loop; exactly one of the reply functions, or http_stream_begin …
// http_stream_end, ends it. The pointer is invalid after that. Control role.
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/fair.h"
#include "base/text.h"
#include "http/access.h"

struct event_base;
struct http;

#define HTTP_JSON "application/yang-data+json"
#define HTTP_BODY_MAX (16u << 20)   // bytes, for an administrator on the socket
#define HTTP_HEADER_MAX (64u << 10) // request line and headers
#define HTTP_PATH_MAX 4096
#define HTTP_QUEUES 3 // for waiting requests: the lanes of core/aside.h, and the loop's queue
#define HTTP_SLICE_NS (5 * NS_PER_MS) // then other work of the loop gets its turn

// Before and after the listeners (http_listen.h). A listener that stops drops its requests without
// an answer; http_gone() tells code that still holds one.
int http_init(struct event_base *loop, const char *run_dir); // 0 or -ENOMEM
void http_fini(void);
// Purpose of a request: always VIA_API on the socket; the proxy states it for each request.
enum http_via {
    VIA_API,     // everything, for identified clients
    VIA_METRICS, // /metrics, for any client that the proxy admits
    VIA_WEB,     // requests of the web page; the page has a key
    VIA_N
};
extern const char *const http_via_name[VIA_N]; // "api", "metrics", "web"
void http_serve(enum http_via via, void (*answer)(struct http *h)); // before the first listener
// Sets the function that tells the role needed for a request: called when the header is complete,
// before the body is accepted.
void http_ask_role(enum access_level (*needed)(const char *method, const char *path));

void http_after(
    unsigned ms,
    void (*fn)(void)); // calls fn once on the loop, after sending pending answers

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
bool http_peer_known(const struct http *h); // it is identified
bool http_peer_is_root(const struct http *h);
bool http_same_peer(const struct http *a,
                    const struct http *b); // the same user of the socket, or the same address
enum access_level http_access(const struct http *h);

// --- turns ---
// Users, tokens and certificates take turns (base/fair.h), whatever their number of connections: on
// the loop, where handlers are called for one request after the other, and in the lanes of
// core/aside.h. Few requests of one user are processed at a time; the others wait.
struct fair_share *http_share(const struct http *h, unsigned queue); // is never freed
struct http_turn {
    struct fair_item item;
    void (*fn)(void *ctx);
    void *ctx;
};
// Calls fn in the client's next turn: for work of more than HTTP_SLICE_NS.
void http_turn(const struct http *h, struct http_turn *t, void (*fn)(void *ctx), void *ctx);
// The request waits in a queue of its own; meanwhile other requests of its client may run.
void http_not_at_work(struct http *h);

// Sets the rights from now on, and the bound virtual router ("": none): the handler has identified
// the client by other means.
void http_admit(struct http *h, enum access_level access, const char *name, const char *vr);
const char *http_vr(const struct http *h); // virtual router of the client; "" = not bound
void http_keep(struct http *h, void *kept, void (*drop)(void *kept)); // dropped with the request
void *http_kept(const struct http *h); // the kept pointer, or NULL
bool http_gone(const struct http *h); // the server stopped: http_reply only frees
bool http_left(const struct http *h); // stopped, or the client closed its side: no reader is left

// --- the answer ---

// A client bound to a virtual router gets only checked answers. So before a successful answer, the
// handler calls one of these: http_filter, where `fn` removes from the body all that does not
// belong to the virtual router (false: nothing is left, the answer is a 404); or http_for_anyone,
// if the answer needs no filter. A stream without http_for_anyone stays empty.
void http_filter(struct http *h,
                 bool (*fn)(const void *ctx, const char *vr, struct text *body), const void *ctx);
void http_for_anyone(struct http *h);

void http_set_header(struct http *h, const char *name, const char *value);
void http_reply(struct http *h, int code, const char *type,
                struct text *body); // frees the body's text; body NULL: none

// A long answer with flow control. When http_stream_write() returns false the writer waits for
// `room`; `gone` reports that the client left: `h` is invalid then and neither is called again.
void http_stream_begin(struct http *h, const char *type, void (*room)(void *ctx),
                       void (*gone)(void *ctx), void *ctx);
bool http_stream_write(struct http *h, struct text *t); // empties t; false: enough for now
void http_stream_end(struct http *h);
void http_stream_cut(struct http *h); // ends the connection; calls `gone`
void http_stream_quiet(
    struct http *h); // for a silent stream; drops a client that reads nothing for a minute

struct event_base *http_loop(void);

#endif
