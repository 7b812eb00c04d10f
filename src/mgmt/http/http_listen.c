// SPDX-License-Identifier: BSD-3-Clause
// http_listen.c - listeners: the UNIX sockets of this host's users and of the proxy
//
// A connection to the proxy's socket belongs to its client (Kamuee-Client) from its first header
// on.
//
// Each listener has an evhttp of its own, because the way to make a connection is a property of
// evhttp. While all its connections are in use (http_live.c), and without a free file descriptor,
// a listener rests.
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/thread.h"
#include "http/access.h"
#include "http/http_listen.h"
#include "http/http_priv.h"

#define REST_US 200000
#define BACKLOG 128
#define DESCRIPTORS 65536      // a thousand clients plus a thousand interfaces

static struct http_door *local, *proxy;
static char *socket_path, *proxy_path;
static VEC(int) offered; // of the former kamueed, in an upgrade
static bool held;         // clients wait

static void door_free(struct http_door *l);

// --- connections --------------------------------------------------------------------------------

static bool is_proxy(const struct http_live *c)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    return !getsockopt(bufferevent_getfd(c->bev), SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
           peer.uid == c->door->proxy;
}

// Runs before anything is read from it: the loop has not turned since it was accepted.
static void arrived(evutil_socket_t fd, short what, void *arg)
{
    struct http_door *l = arg;

    http_live_sweep(l);
    vec_foreach (&l->live, c) {
        if (l->local) {
            http_identify(*c, NULL);
        } else if (!(*c)->trusted && !(*c)->shut) {
            (*c)->trusted = is_proxy(*c);
            if (!(*c)->trusted)
                http_live_shut(*c);
        }
    }
}

static void rest(struct http_door *l, bool accept)
{
    const struct timeval t = {.tv_usec = REST_US};

    if (!accept)
        evconnlistener_disable(l->listener);
    if (!event_pending(l->rest, EV_TIMEOUT, NULL)) // steady new connections do not postpone it
        event_add(l->rest, &t);
}

static void rested(evutil_socket_t fd, short what, void *arg)
{
    struct http_door *l = arg;

    if (l->closed) {
        door_free(l);
        return;
    }
    http_live_sweep(l);
    http_live_shut_silent(l);
    http_live_spare_again();
    if (!http_live_is_full(l))
        evconnlistener_enable(l->listener);
    if (l->live.n)
        rest(l, !http_live_is_full(l));
}

static void accept_failed(struct evconnlistener *listener, void *its_evhttp)
{
    log_warning("api: no connection accepted: error=\"%s\"", strerror(errno));
    http_live_shut_spare();
    vec_foreach (&http_doors, d)
        if ((*d)->listener == listener)
            rest(*d, false);
}

static struct bufferevent *new_connection(struct event_base *base, void *arg)
{
    struct http_door *l = arg;
    struct http_live *c = calloc(1, sizeof *c);
    // otherwise its descriptor could be reused before we know that it is gone
    struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);

    bug_on(!c || !bev);
    http_live_sweep(l);
    bufferevent_incref(bev);
    *c = (struct http_live){
        .bev = bev, .door = l, .since_ns = clock_now_ns()};
    http_gate_begin(c);
    *vec_push(&l->live) = c;
    rest(l, !http_live_is_full(l));
    event_active(l->arrived, EV_TIMEOUT, 0); // by then it has its descriptor
    return bev;
}

// --- listeners ----------------------------------------------------------------------------------

static void door_free(struct http_door *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < http_doors.n; i++)
        if (http_doors.item[i] == l)
            vec_del_swap(&http_doors, i);
    if (!http_doors.n)
        vec_free(&http_doors);
    http_forget(l);
    if (l->evhttp)
        evhttp_free(l->evhttp); // frees its listener, connections and requests
    else if (l->listener)
        evconnlistener_free(l->listener);
    if (l->rest)
        event_free(l->rest);
    if (l->arrived)
        event_free(l->arrived);
    vec_foreach (&l->live, c)
        http_live_free(*c);
    vec_free(&l->live);
    free(l);
}

static struct http_door *door_new(struct evconnlistener *at, bool is_local)
{
    struct http_door *l = calloc(1, sizeof *l);

    bug_on(!l);
    l->local = is_local;
    l->listener = at;
    l->rest = event_new(http_base, -1, 0, rested, l);
    l->arrived = event_new(http_base, -1, 0, arrived, l);
    struct evhttp *server = http_new_server(l, HTTP_IDLE_S);
    if (!l->rest || !l->arrived || !server || !evhttp_bind_listener(server, at)) {
        if (server)
            evhttp_free(server);
        door_free(l);
        return NULL;
    }
    l->evhttp = server;
    evhttp_set_bevcb(server, new_connection, l);
    evconnlistener_set_error_cb(at, accept_failed);
    if (held)
        evconnlistener_disable(at);
    *vec_push(&http_doors) = l;
    return l;
}

// --- of the former kamueed, in an upgrade --------------------------------------------------------

void http_give(void (*fn)(int fd))
{
    thread_must_be(ROLE_CONTROL);
    vec_foreach (&http_doors, d)
        if ((*d)->listener && !(*d)->closed)
            fn(evconnlistener_get_fd((*d)->listener));
}

void http_offer(int fd)
{
    thread_must_be(ROLE_CONTROL);
    evutil_make_socket_nonblocking(fd);
    *vec_push(&offered) = fd;
}

void http_hold(bool on)
{
    thread_must_be(ROLE_CONTROL);
    held = on;
    if (on)
        return;
    vec_foreach (&http_doors, d)
        if (!(*d)->closed)
            evconnlistener_enable((*d)->listener);
    vec_foreach (&offered, fd)
        close(*fd);
    vec_free(&offered);
}

// Takes the socket that listens at this address; -1: none.
static int take_offered(const void *at, socklen_t n)
{
    for (size_t i = 0; i < offered.n; i++) {
        struct sockaddr_storage a = {0};
        socklen_t size = sizeof a;
        int fd = offered.item[i];
        if (getsockname(fd, (struct sockaddr *)&a, &size) || memcmp(&a, at, n))
            continue;
        vec_del_swap(&offered, i);
        return fd;
    }
    return -1;
}

// --- the UNIX sockets ---------------------------------------------------------------------------

void http_guard_socket(void)
{
    if (local)
        socket_guard(socket_path);
}

static int bind_socket(const char *path, struct evconnlistener **listener)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    strcpy(a.sun_path, path);
    size_t size = offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1;
    int fd = take_offered(&a, (socklen_t)size);
    if (fd >= 0) {
        *listener = evconnlistener_new(http_base, NULL, NULL,
                                       LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
        return *listener ? 0 : -ENOMEM;
    }
    unlink(path); // of a killed kamueed: the run directory is locked, so none runs
    mode_t was = umask(0177); // only root may connect until it is guarded
    *listener = evconnlistener_new_bind(http_base, NULL, NULL,
                                        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, BACKLOG,
                                        (struct sockaddr *)&a, sizeof a);
    int e = errno;
    umask(was);
    return *listener ? 0 : -e;
}

// NULL with a sentence.
static struct http_door *open_door(const char *path, bool is_local, char *err, size_t err_size)
{
    const size_t longest = sizeof ((struct sockaddr_un *)NULL)->sun_path - 1;
    struct evconnlistener *listener;

    if (strlen(path) > longest) {
        snprintf(err, err_size,
                 "%s: the socket path is longer than %zu bytes; use a shorter run directory", path,
                 longest);
        return NULL;
    }
    int r = bind_socket(path, &listener);
    if (r) {
        snprintf(
            err, err_size,
            "%s: cannot listen: %s; check that the directory exists and kamueed may write there",
            path, strerror(-r));
        return NULL;
    }
    struct http_door *d = door_new(listener, is_local);
    if (!d)
        snprintf(err, err_size, "no memory for another listener");
    return d;
}

int http_start(char *err, size_t err_size)
{
    thread_must_be(ROLE_CONTROL);
    local = open_door(socket_path, true, err, err_size);
    http_guard_socket();
    return local ? 0 : -EADDRNOTAVAIL;
}

// A request that closes its own listener must still get its answer.
static void close_soon(struct http_door *l)
{
    const struct timeval t = {.tv_sec = 1};

    evconnlistener_disable(l->listener);
    l->closed = true;
    event_add(l->rest, &t);
}

static void close_proxy(void)
{
    if (proxy) {
        unlink(proxy_path);
        close_soon(proxy);
    }
    proxy = NULL;
}

bool http_has_proxy(void)
{
    return proxy;
}

int http_proxy(const char *user, char *err, size_t err_size)
{
    const struct passwd *p;
    struct http_door *next;

    thread_must_be(ROLE_CONTROL);
    if (!*user) {
        close_proxy();
        return 0;
    }
    if (!(p = getpwnam(user))) {
        snprintf(err, err_size,
                 "there is no user '%s': install kamuee-proxy, or name the user that the proxy "
                 "runs as",
                 user);
        return -EADDRNOTAVAIL;
    }
    if (proxy && proxy->proxy == p->pw_uid)
        return 0;
    next = open_door(proxy_path, false, err, err_size);
    if (!next)
        return -EADDRNOTAVAIL;
    if (proxy)
        close_soon(proxy);
    proxy = next;
    proxy->proxy = p->pw_uid;
    socket_guard_user(proxy_path, p->pw_uid);
    return 0;
}

// --- all listeners ------------------------------------------------------------------------------

static char *path_of(const char *run_dir, const char *name)
{
    char *path;

    bug_on(asprintf(&path, "%s/%s", run_dir, name) < 0);
    return path;
}

static void start_listening(const char *run_dir)
{
    struct rlimit files = {0};

    socket_path = path_of(run_dir, HTTP_SOCKET);
    proxy_path = path_of(run_dir, HTTP_PROXY_SOCKET);
    // Whenever the kernel doubles the table of descriptors, the call that needs it waits for a
    // grace period, up to 0.25 s. Doing it here makes no one wait later.
    getrlimit(RLIMIT_NOFILE, &files); // raised by main/instance.c
    rlim_t most = files.rlim_cur < DESCRIPTORS ? files.rlim_cur : DESCRIPTORS;
    int last = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)most - 1);

    if (last >= 0)
        close(last);
}

// Also stops listeners that are closed but have answers to send.
static void stop_listening(void)
{
    close_proxy();
    while (http_doors.n)
        door_free(http_doors.item[0]);
    free(socket_path);
    free(proxy_path);
    socket_path = proxy_path = NULL;
}

void http_stop(void)
{
    thread_must_be(ROLE_CONTROL);
    if (local)
        unlink(socket_path);
    door_free(local);
    local = NULL;
}

int http_init(struct event_base *loop, const char *run_dir)
{
    thread_must_be(ROLE_CONTROL);
    signal(SIGPIPE, SIG_IGN); // a client that leaves ends its connection, not the router
    http_base = loop;
    int r = http_requests_start();
    if (!r)
        start_listening(run_dir);
    return r;
}

void http_fini(void)
{
    thread_must_be(ROLE_CONTROL);
    stop_listening();
    http_requests_stop();
    http_peers_end();
}
