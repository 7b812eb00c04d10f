// SPDX-License-Identifier: BSD-3-Clause
// http.c - HTTP/1.1 by libevent's evhttp: requests and their answers
//
// evhttp parses, keeps connections alive and limits sizes; this file adds RESTCONF's needs: delayed
// answers, long answers with flow control (at most STREAM_ROOM bytes wait in memory for a slow
// reader, the producer pauses), and the identity of the peer. http_live.c and http_listen.c handle
// connections.
//
// Lifetime. evhttp frees a request when its answer has been sent. If the client leaves earlier,
// evhttp removes the request from its connection and leaves it to us (its connection is then NULL):
// replying frees it without sending. When the server stops first, evhttp frees requests itself: all
// open requests are on a list, and are detached here (http_gone): they have no headers, and answers
// are discarded.
#include "http/http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/keyvalq_struct.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fair.h"
#include "base/hash.h"
#include "base/log.h"
#include "core/thread.h"
#include "http/http_priv.h"
#include "http/refuse.h"

#define STREAM_ROOM (64u << 10)
#define STREAM_IDLE_S 3600 // a reader that pauses, e.g. a pager
#define QUIET_WRITE_S 60   // the same, for a stream that may be silent
#define RIGHTS_S 1         // between two checks of streams' rights
#define USERS 1024         // slots of users that take turns
#define AT_WORK_MAX 4      // requests of one user processed at a time
#define AT_WORK_ROOT 16    // for root
#define LOOP_QUEUE (HTTP_QUEUES - 1)

struct user { // a user in the turns
    struct fair_share share[HTTP_QUEUES];
    unsigned at_work; // requests
};

struct http {
    struct http_turn turn;
    struct user *user;
    bool at_work; // counted in user->at_work
    bool admitted; // http_admit() has set its identity
    struct evhttp_request *req; // NULL: the server stopped
    struct evkeyvalq query;
    const struct http_door *door; // door of its connection
    struct http_live *live;       // its connection, while `req` has one
    enum http_via via;
    char *path;
    char method[16];
    struct text body; // read on first use
    struct who who;
    struct http_peer *peer;
    uint64_t body_bytes; // charged to its peer
    bool (*filter)(const void *ctx, const char *vr, struct text *body);
    const void *filter_ctx;
    bool for_anyone; // the answer needs no filter
    void *kept;
    void (*drop)(void *kept);
    struct http *next, **link; // open requests
    void (*room)(void *ctx);
    void (*gone)(void *ctx);
    void *ctx;
};

struct event_base *http_base;
const char *const http_via_name[VIA_N] = {"api", "metrics", "web"};
static void (*answer_of[VIA_N])(struct http *h);
static struct http *open_requests;
static struct user users[USERS];
static struct fair_queue waiting; // for a turn of the loop
static struct event *turns;
static struct event *rights; // checks streams' rights

// --- turns --------------------------------------------------------------------------------------

// Users with the same hash, which are rare, share a slot.
static struct user *user_of(const char *name)
{
    static uint64_t seed;

    if (!seed)
        seed = clock_now_ns() | 1;
    return &users[hash_bytes(name, strlen(name), seed) % USERS];
}

struct fair_share *http_share(const struct http *h, unsigned queue)
{
    return &h->user->share[queue];
}

static bool may_begin(const struct http *h)
{
    return h->user->at_work < (h->peer->root ? AT_WORK_ROOT : AT_WORK_MAX);
}

static void begin_request(void *ctx);

// A new request runs only if its user has not too many at work; a request in progress always runs.
static bool is_runnable(const struct fair_item *i)
{
    const struct http_turn *t = (const struct http_turn *)i;

    return t->fn != begin_request || may_begin(t->ctx);
}

static void run_later(void)
{
    static const struct timeval at_once = {0};

    if (waiting.n) // after events that have become readable meanwhile
        bug_on(event_add(turns, &at_once));
}

static bool run_one(void)
{
    struct http_turn *t = (struct http_turn *)fair_take(&waiting, is_runnable);
    struct fair_share *share = t ? t->item.share : NULL;
    uint64_t since_ns = clock_now_ns();

    if (!t)
        return false;
    t->fn(t->ctx); // may free t
    fair_used(&waiting, share, clock_now_ns() - since_ns);
    return true;
}

static void run_turns(evutil_socket_t fd, short what, void *arg)
{
    uint64_t until_ns = clock_now_ns() + HTTP_SLICE_NS;
    bool more = true;

    while (more && clock_now_ns() < until_ns)
        more = run_one();
    if (more)
        run_later();
}

void http_turn(const struct http *h, struct http_turn *t, void (*fn)(void *ctx), void *ctx)
{
    t->fn = fn;
    t->ctx = ctx;
    fair_put(&waiting, &t->item, &h->user->share[LOOP_QUEUE]);
    run_later();
}

void http_not_at_work(struct http *h)
{
    if (!h->at_work)
        return;
    h->at_work = false;
    h->user->at_work--;
    run_later();
}

// --- the request --------------------------------------------------------------------------------

static struct http *http_new(struct evhttp_request *req, struct http_live *c)
{
    struct http *h = calloc(1, sizeof *h);
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL,
               *query = uri ? evhttp_uri_get_query(uri) : NULL;

    bug_on(!h);
    h->req = req;
    h->user = user_of(c->gate.verdict.who.name);
    memcpy(h->method, c->gate.verdict.method, sizeof h->method);
    h->door = c->door;
    h->live = c;
    h->via = c->gate.verdict.via;
    h->who = c->gate.verdict.who;
    h->peer = c->peer;
    h->peer->requests++;
    h->body_bytes = c->gate.verdict.body_bytes;
    h->path = strdup(path ? path : "");
    bug_on(!h->path);
    TAILQ_INIT(&h->query);
    if (query)
        evhttp_parse_query_str(query, &h->query);
    h->next = open_requests;
    h->link = &open_requests;
    if (h->next)
        h->next->link = &h->next;
    open_requests = h;
    return h;
}

static void http_free(struct http *h)
{
    if (h->next)
        h->next->link = h->link;
    *h->link = h->next;
    http_not_at_work(h);
    http_keep(h, NULL, NULL);
    http_peer_done(h->peer, h->body_bytes);
    evhttp_clear_headers(&h->query);
    text_free(&h->body);
    free(h->path);
    free(h);
}

const char *http_method(const struct http *h)
{
    return h->method;
}

const char *http_path(const struct http *h)
{
    return h->path;
}

const char *http_query(const struct http *h, const char *name)
{
    return evhttp_find_header(&h->query, name);
}

void http_each_query(const struct http *h,
                     bool (*fn)(void *ctx, const char *name, const char *value), void *ctx)
{
    for (const struct evkeyval *k = h->query.tqh_first; k; k = k->next.tqe_next)
        if (!fn(ctx, k->key, k->value ? k->value : ""))
            return;
}

const char *http_header(const struct http *h, const char *name)
{
    return h->req ? evhttp_find_header(evhttp_request_get_input_headers(h->req), name) : NULL;
}

// Taken out of the request, which evhttp frees when the server stops: another thread may still be
// reading the body.
const char *http_body(struct http *h, size_t *n)
{
    struct evbuffer *b = h->req ? evhttp_request_get_input_buffer(h->req) : NULL;
    size_t more = b ? evbuffer_get_length(b) : 0;

    if (more) {
        text_append(&h->body, (const char *)evbuffer_pullup(b, -1), more);
        evbuffer_drain(b, more);
    }
    *n = h->body.n;
    return text_str(&h->body);
}

const char *http_peer(const struct http *h)
{
    return h->who.name;
}

void http_admit(struct http *h, enum access_level access, const char *name, const char *vr)
{
    h->admitted = true;
    h->who = (struct who){.access = access, .known = true};
    snprintf(h->who.name, sizeof h->who.name, "%s", name);
    snprintf(h->who.vr, sizeof h->who.vr, "%s", vr);
}

const char *http_vr(const struct http *h)
{
    return h->who.vr;
}

void http_keep(struct http *h, void *kept, void (*drop)(void *kept))
{
    if (h->kept)
        h->drop(h->kept);
    h->kept = kept;
    h->drop = drop;
}

void *http_kept(const struct http *h)
{
    return h->kept;
}

enum access_level http_access(const struct http *h)
{
    return h->who.access;
}

bool http_peer_known(const struct http *h)
{
    return h->who.known;
}

bool http_peer_is_root(const struct http *h)
{
    return h->peer->root;
}

bool http_same_peer(const struct http *a, const struct http *b)
{
    return a->peer == b->peer;
}

bool http_gone(const struct http *h)
{
    return !h->req;
}

// --- the answer ---------------------------------------------------------------------------------

void http_set_header(struct http *h, const char *name, const char *value)
{
    if (h->req)
        evhttp_add_header(evhttp_request_get_output_headers(h->req), name, value);
}

static void free_text(const void *data, size_t n, void *text)
{
    free(text);
}

// Hands the text's memory to an evbuffer without copying it.
static void give_text(struct evbuffer *b, struct text *t)
{
    if (t->n)
        evbuffer_add_reference(b, t->s, t->n, free_text, t->s);
    else
        text_free(t);
    *t = (struct text){0};
}

// The answer to HEAD has the headers of GET, its length included, and no body (RFC 9110, 9.3.2).
static void drop_body(struct http *h, struct evbuffer *b)
{
    char length[24];

    snprintf(length, sizeof length, "%zu", evbuffer_get_length(b));
    http_set_header(h, "Content-Length", length);
    evbuffer_drain(b, evbuffer_get_length(b));
}

// Has the client too much unread data already? A client that sends requests but does not read would
// fill the memory.
static bool is_too_much(const struct http *h, size_t bytes)
{
    uint64_t mine = bytes > STREAM_ROOM && h->req ? http_unread(h->peer) : 0;

    return mine &&
           (mine + bytes > PEER_ANSWERS_MAX ||
            http_unread(NULL) + bytes > ANSWERS_MAX - (h->peer->root ? 0 : ANSWERS_RESERVE));
}

void http_filter(struct http *h,
                 bool (*fn)(const void *ctx, const char *vr, struct text *body), const void *ctx)
{
    h->filter = fn;
    h->filter_ctx = ctx;
}

void http_for_anyone(struct http *h)
{
    h->for_anyone = true;
}

// False: nothing in it is visible to the client.
static bool filter_body(const struct http *h, int code, struct text *body)
{
    if (!*h->who.vr || h->for_anyone || code >= 300 || !body || !body->n)
        return true;
    return h->filter && h->filter(h->filter_ctx, h->who.vr, body);
}

// The next request on its connection may come.
static void leave_connection(const struct http *h)
{
    if (evhttp_request_get_connection(h->req)) // else its client has left
        h->live->busy = false;
}

void http_reply(struct http *h, int code, const char *type, struct text *body)
{
    struct evbuffer *b;

    if (!filter_body(h, code, body)) {
        text_free(body);
        http_refuse(h, 404, "invalid-value", "there is no '%s'", h->path);
        return;
    }
    if (body && is_too_much(h, body->n)) {
        text_free(body);
        http_refused(REFUSED_ANSWERS);
        http_refuse(h, 429, "resource-denied",
                    "%s does not read the responses to its requests; read them, then try again",
                    h->who.name);
        return;
    }
    b = evbuffer_new();
    bug_on(!b);
    if (body)
        give_text(b, body);
    if (h->req) {
        if (type || code != 204) // evhttp would set text/html
            http_set_header(h, "Content-Type", type ? type : HTTP_JSON);
        http_set_header(h, "Cache-Control", "no-cache");
        if (!strcmp(h->method, "HEAD"))
            drop_body(h, b);
        leave_connection(h);
        evhttp_send_reply(h->req, code, NULL, b);
    }
    evbuffer_free(b);
    http_free(h);
}

// evhttp calls this when a connection with a stream ends for any reason.
static void stream_closed(struct evhttp_connection *c, void *arg)
{
    struct http *h = arg;
    struct evhttp_request *req = h->req;

    h->gone(h->ctx);
    if (req && !evhttp_request_get_connection(req))
        evhttp_send_reply_end(req); // left to us: frees it
    http_free(h);
}

static void stream_drained(struct evhttp_connection *c, void *arg)
{
    struct http *h = arg;

    h->room(h->ctx);
}

// --- rights of streams ---------------------------------------------------------------------------

static struct http_word word_of(const struct http *h, const char *header)
{
    const char *value = http_header(h, header);

    return (struct http_word){value, value ? strlen(value) : 0};
}

// A stream lasts, and rights may be withdrawn meanwhile: a token is removed, a group changes.
static bool has_lost_rights(const struct http *h)
{
    struct evhttp_connection *c = h->gone && h->req ? evhttp_request_get_connection(h->req) : NULL;
    struct who now = {0};

    if (!c || h->admitted)
        return false;
    const struct http_claim claim = {
        .authorization = word_of(h, "Authorization"),
        .sudo_user = word_of(h, ACCESS_SUDO_HEADER),
        .certificate = word_of(h, ACCESS_CERTIFICATE_HEADER),
    };
    http_who_now(h->live, h->via, &claim, &now);
    return now.access < h->who.access || strcmp(now.name, h->who.name) ||
           strcmp(now.vr, h->who.vr);
}

static void look_at_rights(evutil_socket_t fd, short what, void *arg)
{
    bool any = false;

    for (struct http *h = open_requests, *next; h; h = next) {
        next = h->next;
        any = any || h->gone;
        if (!has_lost_rights(h))
            continue;
        log_notice("api: stream ended, its client's rights have changed: peer=%s",
                   LOG_VALUE(h->who.name));
        http_stream_cut(h);
        next = open_requests; // others may have gone with it
    }
    if (any)
        event_add(rights, &(struct timeval){.tv_sec = RIGHTS_S});
}

void http_stream_begin(struct http *h, const char *type, void (*room)(void *ctx),
                       void (*gone)(void *ctx), void *ctx)
{
    struct evhttp_connection *c = evhttp_request_get_connection(h->req);

    http_not_at_work(h); // it continues as its client reads
    if (!event_pending(rights, EV_TIMEOUT, NULL))
        event_add(rights, &(struct timeval){.tv_sec = RIGHTS_S});
    h->room = room;
    h->gone = gone;
    h->ctx = ctx;
    evhttp_connection_set_closecb(c, stream_closed, h);
    evhttp_connection_set_timeout(c, STREAM_IDLE_S);
    http_set_header(h, "Content-Type", type);
    http_set_header(h, "Cache-Control", "no-cache");
    evhttp_send_reply_start(h->req, 200, NULL);
}

bool http_stream_write(struct http *h, struct text *t)
{
    struct evhttp_connection *c = evhttp_request_get_connection(h->req);
    struct evbuffer *out = bufferevent_get_output(evhttp_connection_get_bufferevent(c));
    struct evbuffer *b = evbuffer_new();

    bug_on(!b);
    if (*h->who.vr && !h->for_anyone)
        text_free(t);
    give_text(b, t);
    evhttp_send_reply_chunk_with_cb(h->req, b, stream_drained, h);
    evbuffer_free(b);
    return evbuffer_get_length(out) < STREAM_ROOM;
}

void http_stream_end(struct http *h)
{
    struct evhttp_connection *c = evhttp_request_get_connection(h->req);

    evhttp_connection_set_closecb(c, NULL, NULL);
    evhttp_connection_set_timeout(c, HTTP_IDLE_S);
    leave_connection(h);
    evhttp_send_reply_end(h->req);
    http_free(h);
}

void http_stream_quiet(struct http *h)
{
    const struct timeval write = {.tv_sec = QUIET_WRITE_S};

    bufferevent_set_timeouts(
        evhttp_connection_get_bufferevent(evhttp_request_get_connection(h->req)), NULL, &write);
}

struct event_base *http_loop(void)
{
    return http_base;
}

bool http_left(const struct http *h)
{
    struct evhttp_connection *c = h->req ? evhttp_request_get_connection(h->req) : NULL;

    if (!c)
        return true;
    struct pollfd p = {.fd = bufferevent_getfd(evhttp_connection_get_bufferevent(c)),
                       .events = POLLRDHUP};

    return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

void http_stream_cut(struct http *h)
{
    evhttp_connection_free(evhttp_request_get_connection(h->req)); // calls stream_closed
}

static void call_after(evutil_socket_t fd, short what, void *arg)
{
    ((void (*)(void))arg)();
}

void http_after(unsigned ms, void (*fn)(void))
{
    struct timeval t = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    if (event_base_once(http_base, -1, EV_TIMEOUT, call_after, (void *)fn, &t))
        fn();
}

// --- the server ---------------------------------------------------------------------------------

// Refused before its body came.
static void refuse_early(struct http *h, const struct http_verdict *v)
{
    if (v->last)
        http_set_header(h, "Connection", "close");
    if (v->stranger) {
        http_may_enter(h);
        return;
    }
    if (v->code == 429)
        http_set_header(h, "Retry-After", "10");
    http_refuse(h, v->code, v->tag, "%s", v->why);
}

static void begin_request(void *ctx)
{
    struct http *h = ctx;

    h->at_work = true;
    h->user->at_work++;
    if (http_left(h))
        http_reply(h, 503, NULL, NULL); // no reader is left
    else
        answer_of[h->via](h);
}

static void on_request(struct evhttp_request *req, void *arg)
{
    struct http_live *c =
        http_live_of(arg, evhttp_connection_get_bufferevent(evhttp_request_get_connection(req)));
    const struct http_verdict v = c->gate.verdict;
    struct http *h = http_new(req, c);

    c->since_ns = clock_now_ns();
    c->busy = true;
    http_gate_next(c);
    if (v.code)
        refuse_early(h, &v);
    else
        http_turn(h, &h->turn, begin_request, h);
}

void http_serve(enum http_via via, void (*answer)(struct http *h))
{
    answer_of[via] = answer;
}

struct evhttp *http_new_server(struct http_door *door, int idle_s)
{
    struct evhttp *e = evhttp_new(http_base);

    if (!e)
        return NULL;
    evhttp_set_allowed_methods(e, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                      EVHTTP_REQ_PUT | EVHTTP_REQ_PATCH | EVHTTP_REQ_DELETE |
                                      EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE | EVHTTP_REQ_CONNECT);
    evhttp_set_max_body_size(e, HTTP_BODY_MAX); // the gate enforces limits per role
    evhttp_set_max_headers_size(e, 2 * HTTP_HEADER_MAX);
    evhttp_set_timeout(e, idle_s);
    evhttp_set_gencb(e, on_request, door);
    return e;
}

int http_requests_start(void)
{
    turns = evtimer_new(http_base, run_turns, NULL);
    rights = evtimer_new(http_base, look_at_rights, NULL);
    return turns && rights ? 0 : -ENOMEM;
}

// Streams are notified; code that waits for a manager's answer finds its request gone.
void http_forget(const struct http_door *door)
{
    for (struct http *h = open_requests, *next; h; h = next) {
        next = h->next;
        if (h->door != door || !h->req)
            continue;
        if (h->gone) {
            evhttp_connection_set_closecb(evhttp_request_get_connection(h->req), NULL, NULL);
            h->gone(h->ctx);
            http_free(h);
        } else {
            h->req = NULL;
        }
    }
}

void http_requests_stop(void)
{
    while (run_one())
        ; // their requests are gone
    event_free(turns);
    event_free(rights);
    turns = rights = NULL;
}
