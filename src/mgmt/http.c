// SPDX-License-Identifier: BSD-3-Clause
// http.c - HTTP/1.1 on a UNIX socket and on loopback, by libevent's evhttp
//
// evhttp parses, keeps connections alive and limits sizes; this file adds what
// RESTCONF needs: an answer that may come later, long answers with flow control
// (at most STREAM_ROOM bytes wait in memory for a slow reader, the producer
// pauses), and the peer's user id.
//
// Lifetime. evhttp frees a request when its answer has been sent. If the
// client leaves before, evhttp takes the request out of its connection and
// leaves it to us (its connection is then NULL): replying frees it without
// sending. When the server stops first, evhttp frees requests itself: all open
// ones are on a list, and lose their request here (http_gone).
#include "mgmt/http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "core/thread.h"
#include "mgmt/http_page.h"

#define STREAM_ROOM (64u << 10)
#define IDLE_S 120         // a connection without a request
#define STREAM_IDLE_S 3600 // a reader that does not read, e.g. a pager
#define QUIET_WRITE_S 60   // the same, of a stream that may be silent

struct http_door { // a listener, and who answers its requests
    struct evhttp *evhttp;
    struct evconnlistener *listener;
    void (*handler)(struct http *h);
};

struct http {
    struct evhttp_request *req; // NULL: the server stopped
    struct http_door *door;     // that it came by
    struct evkeyvalq query;
    char *path;
    char peer[64];
    struct http *next, **link; // open requests
    void (*room)(void *ctx);
    void (*gone)(void *ctx);
    void *ctx;
};

static struct {
    struct event_base *loop;
    struct http_door *door; // of the UNIX socket
    char *path;
    struct http *open;
} server;

// --- the request --------------------------------------------------------------------------------

// "uid 0" of a UNIX socket, "127.0.0.1:4242" of a loopback one.
static void peer_of(int fd, char *buf, size_t size)
{
    struct ucred who;
    struct sockaddr_storage from;
    socklen_t n = sizeof who, n_from = sizeof from;
    char host[48], port[8];

    snprintf(buf, size, "unknown");
    if (getpeername(fd, (struct sockaddr *)&from, &n_from))
        return;
    if (from.ss_family == AF_UNIX && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n))
        snprintf(buf, size, "uid %u", (unsigned)who.uid);
    else if (!getnameinfo((struct sockaddr *)&from, n_from, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV))
        snprintf(buf, size, from.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static struct http *http_new(struct evhttp_request *req, struct http_door *door)
{
    struct http *h = calloc(1, sizeof *h);
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL,
               *query = uri ? evhttp_uri_get_query(uri) : NULL;

    bug_on(!h);
    h->req = req;
    h->door = door;
    h->path = strdup(path ? path : "");
    bug_on(!h->path);
    TAILQ_INIT(&h->query);
    if (query)
        evhttp_parse_query_str(query, &h->query);
    peer_of(bufferevent_getfd(evhttp_connection_get_bufferevent(evhttp_request_get_connection(req))), h->peer, sizeof h->peer);
    h->next = server.open;
    h->link = &server.open;
    if (h->next)
        h->next->link = &h->next;
    server.open = h;
    return h;
}

static void http_free(struct http *h)
{
    if (h->next)
        h->next->link = h->link;
    *h->link = h->next;
    evhttp_clear_headers(&h->query);
    free(h->path);
    free(h);
}

const char *http_method(const struct http *h)
{
    switch (evhttp_request_get_command(h->req)) {
    case EVHTTP_REQ_GET:
        return "GET";
    case EVHTTP_REQ_HEAD:
        return "HEAD";
    case EVHTTP_REQ_POST:
        return "POST";
    case EVHTTP_REQ_PUT:
        return "PUT";
    case EVHTTP_REQ_PATCH:
        return "PATCH";
    case EVHTTP_REQ_DELETE:
        return "DELETE";
    case EVHTTP_REQ_OPTIONS:
        return "OPTIONS";
    default:
        return "";
    }
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
    return evhttp_find_header(evhttp_request_get_input_headers(h->req), name);
}

const char *http_body(struct http *h, size_t *n)
{
    struct evbuffer *b = evhttp_request_get_input_buffer(h->req);

    const char *body = (const char *)evbuffer_pullup(b, -1);

    *n = evbuffer_get_length(b);
    if (*n && !body[*n - 1]) { // ended by an earlier call
        --*n;
        return body;
    }
    evbuffer_add(b, "", 1);
    return (const char *)evbuffer_pullup(b, -1);
}

const char *http_peer(const struct http *h)
{
    return h->peer;
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

void http_reply(struct http *h, int code, const char *type, struct text *body)
{
    struct evbuffer *b = evbuffer_new();

    bug_on(!b);
    if (body)
        give_text(b, body);
    if (h->req) {
        if (type || code != 204) // evhttp would call it HTML
            http_set_header(h, "Content-Type", type ? type : HTTP_JSON);
        http_set_header(h, "Cache-Control", "no-cache");
        if (evhttp_request_get_command(h->req) == EVHTTP_REQ_HEAD)
            drop_body(h, b);
        evhttp_send_reply(h->req, code, NULL, b);
    }
    evbuffer_free(b);
    http_free(h);
}

// evhttp calls this when the connection ends for whatever reason while a stream is on it.
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

void http_stream_begin(struct http *h, const char *type, void (*room)(void *ctx),
                       void (*gone)(void *ctx), void *ctx)
{
    struct evhttp_connection *c = evhttp_request_get_connection(h->req);

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
    give_text(b, t);
    evhttp_send_reply_chunk_with_cb(h->req, b, stream_drained, h);
    evbuffer_free(b);
    return evbuffer_get_length(out) < STREAM_ROOM;
}

void http_stream_end(struct http *h)
{
    struct evhttp_connection *c = evhttp_request_get_connection(h->req);

    evhttp_connection_set_closecb(c, NULL, NULL);
    evhttp_connection_set_timeout(c, IDLE_S);
    evhttp_send_reply_end(h->req);
    http_free(h);
}

void http_stream_quiet(struct http *h)
{
    const struct timeval write = {.tv_sec = QUIET_WRITE_S};

    bufferevent_set_timeouts(evhttp_connection_get_bufferevent(evhttp_request_get_connection(h->req)), NULL, &write);
}

struct event_base *http_loop(void)
{
    return server.loop;
}

bool http_left(const struct http *h)
{
    struct evhttp_connection *c = evhttp_request_get_connection(h->req);

    if (!c)
        return true;
    struct pollfd p = {.fd = bufferevent_getfd(evhttp_connection_get_bufferevent(c)), .events = POLLRDHUP};

    return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

void http_stream_cut(struct http *h)
{
    evhttp_connection_free(evhttp_request_get_connection(h->req)); // calls stream_closed
}

static void call_after(evutil_socket_t fd, short what, void *arg)
{
    void (**fn)(void) = arg;

    (*fn)();
    free(fn);
}

void http_after(unsigned ms, void (*fn)(void))
{
    struct timeval t = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    void (**copy)(void) = malloc(sizeof *copy);

    bug_on(!copy);
    *copy = fn;
    if (event_base_once(server.loop, -1, EV_TIMEOUT, call_after, copy, &t))
        call_after(-1, 0, copy);
}

// --- the server ---------------------------------------------------------------------------------

static void on_request(struct evhttp_request *req, void *arg)
{
    struct http_door *door = arg;

    door->handler(http_new(req, door));
}

// The socket file is a door: it belongs to root and the group kamuee, nobody else may knock.
static void guard_socket(const char *path)
{
    const struct group *g = getgrnam("kamuee");

    if (g && chown(path, (uid_t)-1, g->gr_gid))
        log_warning("restconf: socket: group kamuee not set: path=%s error=\"%s\"", path,
                    strerror(errno));
    if (chmod(path, 0660))
        log_warning("restconf: socket: mode not set: path=%s error=\"%s\"", path, strerror(errno));
}

// A listener that exists becomes a door. NULL when there is no memory; then the listener is freed.
static struct http_door *door_new(struct evconnlistener *listener, void (*handler)(struct http *h))
{
    struct http_door *d = calloc(1, sizeof *d);

    bug_on(!d);
    d->handler = handler;
    d->evhttp = evhttp_new(server.loop);
    if (!d->evhttp || !evhttp_bind_listener(d->evhttp, listener)) {
        if (d->evhttp)
            evhttp_free(d->evhttp);
        evconnlistener_free(listener);
        free(d);
        return NULL;
    }
    d->listener = listener;
    http_page_of(d->evhttp);
    evhttp_set_allowed_methods(d->evhttp, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
                                              EVHTTP_REQ_PATCH | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS);
    evhttp_set_max_body_size(d->evhttp, HTTP_BODY_MAX);
    evhttp_set_max_headers_size(d->evhttp, HTTP_HEADER_MAX);
    evhttp_set_timeout(d->evhttp, IDLE_S);
    evhttp_set_gencb(d->evhttp, on_request, d);
    return d;
}

static struct evconnlistener *listen_unix(const char *path, char *err, size_t err_size)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof a.sun_path) {
        snprintf(err, err_size, "%s: longer than the %zu bytes a socket path may have; choose a shorter run directory", path,
                 sizeof a.sun_path - 1);
        errno = ENAMETOOLONG;
        return NULL;
    }
    strcpy(a.sun_path, path);
    unlink(path); // of a kamueed that was killed: the run directory's lock says that none lives
    mode_t was = umask(0177); // until guard_socket() only root may connect
    struct evconnlistener *l = evconnlistener_new_bind(server.loop, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 128,
                                                       (struct sockaddr *)&a, sizeof a);
    int e = errno;
    umask(was);
    if (l)
        guard_socket(path);
    else
        snprintf(err, err_size, "%s: cannot listen: %s; does the directory exist, and may kamueed write there?", path, strerror(e));
    errno = e;
    return l;
}

int http_init(struct event_base *loop)
{
    thread_must_be(ROLE_CONTROL);
    signal(SIGPIPE, SIG_IGN); // a client that leaves ends its connection, not the router
    server.loop = loop;
    return http_page_start(loop);
}

int http_start(const char *path, void (*handler)(struct http *h), char *err, size_t err_size)
{
    struct evconnlistener *l;

    thread_must_be(ROLE_CONTROL);
    l = listen_unix(path, err, err_size);
    if (!l)
        return -errno;
    server.path = strdup(path);
    server.door = door_new(l, handler);
    if (server.door && server.path)
        return 0;
    snprintf(err, err_size, "no memory for the RESTCONF server");
    http_stop();
    return -ENOMEM;
}

struct http_door *http_door_open(const char *address, uint16_t port, void (*handler)(struct http *h), char *err, size_t err_size)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *a = NULL;
    struct http_door *d = NULL;
    char service[8];

    thread_must_be(ROLE_CONTROL);
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(address, service, &hints, &a)) {
        snprintf(err, err_size, "'%s' is no address", address);
        return NULL;
    }
    struct evconnlistener *l =
        evconnlistener_new_bind(server.loop, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 16,
                                a->ai_addr, (int)a->ai_addrlen);
    freeaddrinfo(a);
    if (!l)
        snprintf(err, err_size, "cannot listen on %s port %u: %s; give it another port", address, port, strerror(errno));
    else if (!(d = door_new(l, handler)))
        snprintf(err, err_size, "no memory for another listener");
    return d;
}

// Streams are told; who waits for a manager's answer finds its request gone.
static void forget_open(const struct http_door *door)
{
    for (struct http *h = server.open, *next; h; h = next) {
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

void http_door_close(struct http_door *d)
{
    thread_must_be(ROLE_CONTROL);
    if (!d)
        return;
    forget_open(d);
    evhttp_free(d->evhttp); // frees its listener, connections and requests
    free(d);
}

void http_stop(void)
{
    thread_must_be(ROLE_CONTROL);
    http_door_close(server.door);
    if (server.path)
        unlink(server.path);
    free(server.path);
    server.path = NULL;
    server.door = NULL;
}

void http_fini(void)
{
    thread_must_be(ROLE_CONTROL);
    http_page_stop();
}
