// SPDX-License-Identifier: BSD-3-Clause
// http_listen.c - listeners: the UNIX sockets of this host's users and of the proxy
//
// A connection to the proxy's socket belongs to its client (Kamuee-Client) from its first header
// on.
//
// Each listener has an evhttp of its own, because the way to make a connection is a property of
// evhttp. The resources of its clients are limited: a peer (http_peer.h) has at most PEER_LIVE_…
// connections; a further one closes its connection with the longest silence. While all connections
// of a listener are in use nothing is accepted, and connections silent for SILENT_MS are closed, so
// that silent clients lock no one out. The last LIVE_RESERVE of the socket are root's. A connection
// is gone when evhttp has removed its callbacks from the bufferevent, to which we hold a reference.
//
// Without a free file descriptor, silent connections are closed and the listener rests instead of
// spinning.
#include <errno.h>
#include <event2/buffer.h>
#include <fcntl.h>
#include <pwd.h>
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
#include "http/socket_guard.h"

#define LIVE_MAX_PROXY 512     // connections of the proxy
#define LIVE_MAX_LOCAL 1024    // of this host's users
#define LIVE_RESERVE 64        // of these, root's
#define SPARE_FILES 16         // descriptors reserved for uses other than connections
#define SILENT_MS 1000         // silence limit while all connections of a listener are in use
#define REST_US 200000
#define BACKLOG 128
#define DESCRIPTORS 65536      // desired: a thousand clients plus a thousand interfaces

static struct http_door *local, *proxy;
static bool
    few_left; // an accept failed for lack of descriptors, and there are still too few
static VEC(struct http_door *) doors; // all open listeners
static char *socket_path, *proxy_path;
static VEC(int) offered; // of the former kamueed, in an upgrade
static bool held;         // clients wait

static void door_free(struct http_door *l);

// --- connections --------------------------------------------------------------------------------

static unsigned live_max(const struct http_door *l)
{
    return l->local ? LIVE_MAX_LOCAL : LIVE_MAX_PROXY;
}

static void live_free(struct http_live *c)
{
    http_gate_end(c);
    bufferevent_decref(c->bev);
    if (c->peer)
        http_peer_left(c->peer, c->gate.verdict.body_bytes);
    free(c);
}

static bool is_gone(const struct http_live *c)
{
    bufferevent_data_cb read, write;
    bufferevent_event_cb event;

    bufferevent_getcb(c->bev, &read, &write, &event, NULL);
    return !read && !write && !event;
}

static void sweep(struct http_door *l)
{
    for (size_t i = 0; i < l->live.n;) {
        struct http_live *c = l->live.item[i];

        if (!is_gone(c)) {
            i++;
            continue;
        }
        vec_del_swap(&l->live, i);
        live_free(c);
    }
}

struct http_live *http_live_of(struct http_door *l, const struct bufferevent *bev)
{
    vec_foreach (&l->live, c)
        if ((*c)->bev == bev)
            return *c;
    bug_on(true); // new_connection() has made it
}

static size_t unsent(const struct http_live *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->bev));
}

uint64_t http_unread(const struct http_peer *p)
{
    uint64_t n = 0;

    vec_foreach (&doors, d)
        vec_foreach (&(*d)->live, c)
            if (!p || (*c)->peer == p)
                n += unsent(*c);
    return n;
}

// --- closing connections ------------------------------------------------------------------------

static bool is_idle(const struct http_live *c)
{
    return !c->shut && !is_gone(c) && !http_busy(c->bev) && !http_gate_is_inside(c) && !unsent(c);
}

static bool too_silent(const struct http_door *l, const struct http_live *c, uint64_t now_ns)
{
    uint64_t silent_ms = (now_ns - c->since_ns) / 1000000;

    return l->live.n >= live_max(l) && silent_ms >= SILENT_MS && is_idle(c);
}

// evhttp reads the end of the connection, and frees it.
static void shut(struct http_live *c)
{
    shutdown(bufferevent_getfd(c->bev), SHUT_RDWR);
    c->shut = true;
}

static void shut_silent(struct http_door *l)
{
    uint64_t now_ns = clock_now_ns();

    vec_foreach (&l->live, c)
        if (!(*c)->shut && too_silent(l, *c, now_ns))
            shut(*c);
}

// The connection of the peer with the longest silence, or of all peers (NULL); never `but`.
static struct http_live *most_silent(const struct http_peer *p, const struct http_live *but)
{
    struct http_live *found = NULL;

    vec_foreach (&doors, d)
        vec_foreach (&(*d)->live, c)
            if ((*c)->peer && *c != but && (!p || (*c)->peer == p) &&
                (!found || (*c)->since_ns < found->since_ns) && is_idle(*c))
                found = *c;
    return found;
}

static void tell_shut(const struct http_peer *p, const char *why)
{
    static uint64_t told_ns;
    char name[64];

    http_refused(REFUSED_CONNECTIONS);
    if (told_ns && clock_now_ns() - told_ns < NS_PER_SECOND)
        return;
    told_ns = clock_now_ns();
    http_peer_name(p, name);
    log_warning("api: connection closed: peer=%s connections=%u total=%llu reason=\"%s\"",
                LOG_VALUE(name), p->live,
                (unsigned long long)http_stats()->refused[REFUSED_CONNECTIONS], why);
}

// Makes room for a new connection by closing a silent one, or the new one itself.
static void make_room(struct http_live *c, const struct http_peer *of, const char *why)
{
    struct http_live *silent = most_silent(of, c);

    tell_shut(silent ? silent->peer : c->peer, why);
    if (silent)
        shut(silent);
    else if (!c->peer->root || of)
        shut(c);
}

static bool few_files(int fd)
{
    struct rlimit files;

    return !getrlimit(RLIMIT_NOFILE, &files) && (rlim_t)fd + SPARE_FILES >= files.rlim_cur;
}

void http_identify(struct http_live *c, const struct ip_addr *address)
{
    const struct http_door *l = c->door;
    int fd = bufferevent_getfd(c->bev);

    if (c->peer)
        return;
    c->peer = http_peer_of(fd, l->local, address);
    if (c->peer->live > (l->local ? PEER_LIVE_LOCAL : PEER_LIVE_PROXY))
        make_room(c, c->peer, "connection limit of the peer");
    else if (l->local && !c->peer->root && l->live.n > LIVE_MAX_LOCAL - LIVE_RESERVE)
        make_room(c, c->peer, "the remaining connections are reserved for root");
    else if (few_files(fd))
        make_room(c, NULL, "running out of file descriptors");
}

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

    sweep(l);
    vec_foreach (&l->live, c) {
        if (l->local) {
            http_identify(*c, NULL);
        } else if (!(*c)->trusted && !(*c)->shut) {
            (*c)->trusted = is_proxy(*c);
            if (!(*c)->trusted)
                shut(*c);
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

// Connections accepted together have also used up the spare descriptors: closes as many as needed
// to get these back.
static void give_spare_back(void)
{
    struct http_live *silent;
    struct rlimit files;
    unsigned left = 0;

    if (getrlimit(RLIMIT_NOFILE, &files))
        return;
    for (rlim_t i = 0; i < files.rlim_cur && left < SPARE_FILES; i++)
        left += fcntl((int)i, F_GETFD) < 0;
    few_left = left < SPARE_FILES;
    for (; left < SPARE_FILES && (silent = most_silent(NULL, NULL)); left++)
        shut(silent);
}

static void rested(evutil_socket_t fd, short what, void *arg)
{
    struct http_door *l = arg;

    if (l->closed) {
        door_free(l);
        return;
    }
    sweep(l);
    shut_silent(l);
    if (few_left)
        give_spare_back();
    if (l->live.n < live_max(l))
        evconnlistener_enable(l->listener);
    if (l->live.n)
        rest(l, l->live.n < live_max(l));
}

static void accept_failed(struct evconnlistener *listener, void *its_evhttp)
{
    struct http_live *silent;

    few_left = true;
    log_warning("api: no connection accepted: error=\"%s\"", strerror(errno));
    for (unsigned i = 0; i < SPARE_FILES && (silent = most_silent(NULL, NULL)); i++) {
        tell_shut(silent->peer, "running out of file descriptors");
        shut(silent);
    }
    vec_foreach (&doors, d)
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
    http_page_watch(bev);
    sweep(l);
    bufferevent_incref(bev);
    *c = (struct http_live){
        .bev = bev, .door = l, .since_ns = clock_now_ns()};
    http_gate_begin(c);
    *vec_push(&l->live) = c;
    rest(l, l->live.n < live_max(l));
    event_active(l->arrived, EV_TIMEOUT, 0); // by then it has its descriptor
    return bev;
}

// --- listeners ----------------------------------------------------------------------------------

static void door_free(struct http_door *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < doors.n; i++)
        if (doors.item[i] == l)
            vec_del_swap(&doors, i);
    if (!doors.n)
        vec_free(&doors);
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
        live_free(*c);
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
    *vec_push(&doors) = l;
    return l;
}

// --- of the former kamueed, in an upgrade --------------------------------------------------------

void http_give(void (*fn)(int fd))
{
    thread_must_be(ROLE_CONTROL);
    vec_foreach (&doors, d)
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
    vec_foreach (&doors, d)
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

static rlim_t raise_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files))
        return 0;
    if (files.rlim_cur < DESCRIPTORS) {
        files.rlim_cur = files.rlim_max < DESCRIPTORS ? files.rlim_max : DESCRIPTORS;
        if (setrlimit(RLIMIT_NOFILE, &files)) {
            log_warning("api: limit of open files not raised: error=\"%s\"", strerror(errno));
            return 0;
        }
    }
    return files.rlim_cur < DESCRIPTORS ? files.rlim_cur : DESCRIPTORS;
}

static char *path_of(const char *run_dir, const char *name)
{
    char *path;

    bug_on(asprintf(&path, "%s/%s", run_dir, name) < 0);
    return path;
}

void http_listen_start(const char *run_dir)
{
    rlim_t limit = raise_limit();

    socket_path = path_of(run_dir, HTTP_SOCKET);
    proxy_path = path_of(run_dir, HTTP_PROXY_SOCKET);
    // Whenever the kernel doubles the table of descriptors, the call that needs it waits for a
    // grace period, up to 0.25 s. Doing it here makes no one wait later.
    int last = limit ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)limit - 1) : -1;

    if (last >= 0)
        close(last);
}

// Also stops listeners that are closed but have answers to send.
void http_listen_stop(void)
{
    close_proxy();
    while (doors.n)
        door_free(doors.item[0]);
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
