// SPDX-License-Identifier: BSD-3-Clause
// http_listen.c - where requests come from: the UNIX socket, and TCP with or without TLS
//
// A connection by TCP is accepted here, and then read by kamuee-http (http_remote.h).
//
// Each listener has an evhttp of its own, because how a connection is made belongs to that. What
// its clients can hold is bounded: a peer (http_peer.h) has at most PEER_LIVE_… connections; a
// further one closes the one silent for longest. While all connections of a listener are in use
// nothing is accepted, and those silent for SILENT_MS are closed, so that silent clients lock
// nobody out. The last LIVE_RESERVE of the socket are root's. A connection is gone when evhttp has
// taken its callbacks off the bufferevent of which a reference is kept here.
//
// Without a free file descriptor, silent connections are closed and the listener rests instead of
// spinning.
#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/thread.h"
#include "http/access.h"
#include "http/http_listen.h"
#include "http/http_priv.h"
#include "http/http_remote.h"
#include "http/http_tls.h"
#include "http/socket_guard.h"

#define LIVE_MAX 128           // connections of a TCP listener
#define LIVE_MAX_LOCAL 1024    // of the socket
#define LIVE_RESERVE 64        // of these, root's
#define SPARE_FILES 16         // descriptors that connections leave to everything else
#define TCP_IDLE_S 30          // as HTTP_IDLE_S, by TCP
#define HANDSHAKE_MS 10000     // until kamuee-http has greeted: TLS
#define SILENT_MS 1000         // of a listener whose connections are all in use
#define REST_US 200000
#define BACKLOG 128
#define DESCRIPTORS 65536      // wanted: a thousand clients beside a thousand interfaces

static struct http_door *local, *tcp[HTTP_LISTEN_MAX];
static unsigned n_tcp;
static bool
    few_left; // an accept failed for lack of descriptors, and there are not yet enough again
static VEC(struct http_door *) going; // closed, with answers still to be sent
static VEC(struct http_door *) doors; // all that are open
static char *socket_path;
static VEC(int) offered; // of the former kamueed, in an upgrade
static bool held;         // clients wait

static void door_free(struct http_door *l);

// --- connections --------------------------------------------------------------------------------

static unsigned live_max(const struct http_door *l)
{
    return l->local ? LIVE_MAX_LOCAL : LIVE_MAX;
}

static void live_free(struct http_live *c)
{
    http_gate_end(c);
    bufferevent_decref(c->bev);
    if (c->peer)
        http_peer_left(c->peer, c->gate.verdict.body_bytes);
    free(c->names);
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

// --- those that are shut ------------------------------------------------------------------------

static bool is_idle(const struct http_live *c)
{
    return !c->shut && !is_gone(c) && !http_busy(c->bev) && !http_gate_is_inside(c) && !unsent(c);
}

static bool too_silent(const struct http_door *l, const struct http_live *c, uint64_t now_ns)
{
    uint64_t silent_ms = (now_ns - c->since_ns) / 1000000;

    if (!c->greeted)
        return silent_ms >= (l->live.n < live_max(l) ? HANDSHAKE_MS : SILENT_MS);
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

// The connection that has been silent longest, of the peer, or of all (NULL); never `but`.
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

// Makes room for a connection that has just come by shutting one that is silent, or this one.
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

void http_identify(struct http_live *c)
{
    const struct http_door *l = c->door;
    int fd = bufferevent_getfd(c->bev);

    if (c->peer)
        return;
    c->peer = http_peer_of(fd, l->local);
    if (c->peer->live > (l->local ? PEER_LIVE_LOCAL : PEER_LIVE_TCP))
        make_room(c, c->peer, "connection limit of the peer");
    else if (l->local && !c->peer->root && l->live.n > LIVE_MAX_LOCAL - LIVE_RESERVE)
        make_room(c, c->peer, "the remaining connections are reserved for root");
    else if (few_files(fd))
        make_room(c, NULL, "running out of file descriptors");
}

// Before anything of it is read: the loop has not turned since it was accepted.
static void hand_over(struct http_live *c)
{
    c->handed = http_remote_take(c->bev, c->door->tls);
    if (!c->handed)
        shut(c);
}

static void arrived(evutil_socket_t fd, short what, void *arg)
{
    struct http_door *l = arg;

    sweep(l);
    vec_foreach (&l->live, c) {
        http_identify(*c);
        if (!l->local && !(*c)->handed && !(*c)->shut)
            hand_over(*c);
    }
}

static void rest(struct http_door *l, bool accept)
{
    const struct timeval t = {.tv_usec = REST_US};

    if (!accept)
        evconnlistener_disable(l->listener);
    if (!event_pending(l->rest, EV_TIMEOUT, NULL)) // connections that keep coming do not put it off
        event_add(l->rest, &t);
}

// Connections that came at once have taken the spare descriptors as well: as many go as are needed
// to have them again.
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
    // or its descriptor were another's before we know that it is gone
    struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);

    bug_on(!c || !bev);
    http_page_watch(bev);
    sweep(l);
    bufferevent_incref(bev);
    *c = (struct http_live){
        .bev = bev, .door = l, .since_ns = clock_now_ns(), .greeted = l->local};
    http_gate_begin(c);
    *vec_push(&l->live) = c;
    rest(l, l->live.n < live_max(l));
    event_active(l->arrived, EV_TIMEOUT, 0); // it has its descriptor then
    return bev;
}

// --- listeners ----------------------------------------------------------------------------------

static void door_free(struct http_door *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < going.n; i++)
        if (going.item[i] == l)
            vec_del_swap(&going, i);
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

static struct http_door *door_new(struct evconnlistener *at, bool is_local,
                                  void (*handler)(struct http *h))
{
    struct http_door *l = calloc(1, sizeof *l);

    bug_on(!l);
    l->local = is_local;
    l->handler = handler;
    l->listener = at;
    l->rest = event_new(http_base, -1, 0, rested, l);
    l->arrived = event_new(http_base, -1, 0, arrived, l);
    struct evhttp *server = http_new_server(l, is_local ? HTTP_IDLE_S : TCP_IDLE_S);
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

// The one that listens at this address; -1: none.
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

// --- TCP ----------------------------------------------------------------------------------------

static int tcp_socket(const struct http_listen *at)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } a = {0};
    bool ip6 = at->address.family == IP6;
    int one = 1, fd;

    if (ip6) {
        a.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(at->port)};
        memcpy(&a.in6.sin6_addr, at->address.b, 16);
    } else {
        a.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(at->port)};
        memcpy(&a.in.sin_addr, at->address.b, 4);
    }
    if ((fd = take_offered(&a, ip6 ? sizeof a.in6 : sizeof a.in)) >= 0)
        return fd;
    fd = socket(ip6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (ip6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
        setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &one, sizeof one);
    } else {
        setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof one); // the address may come later
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (!bind(fd, &a.any, ip6 ? sizeof a.in6 : sizeof a.in) && !listen(fd, BACKLOG))
        return fd;
    int e = errno;
    close(fd);
    return -e;
}

static struct http_door *tcp_new(const struct http_listen *at, void (*handler)(struct http *h),
                                 char *err, size_t err_size)
{
    if (http_remote_start(err, err_size))
        return NULL;
    int fd = tcp_socket(at);
    char text[IP_TEXT_MAX];

    if (fd < 0) {
        char why[240];
        if (fd != -EACCES || !capability_check(CAPABILITY_NET_BIND_SERVICE, "a port below 1024",
                                               why, sizeof why))
            snprintf(why, sizeof why, "%s%s", strerror(-fd),
                     fd == -EADDRINUSE ? "; use another port" : "");
        snprintf(err, err_size, "cannot listen on %s port %u: %s", ip_format(&at->address, text),
                 at->port, why);
        return NULL;
    }
    struct evconnlistener *listener = evconnlistener_new(
        http_base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    struct http_door *l = listener ? door_new(listener, false, handler) : NULL;
    if (l)
        l->at = *at, l->tls = at->tls;
    else
        snprintf(err, err_size, "no memory for another listener");
    return l;
}

static bool is_at(const struct http_door *l, const struct http_listen *at)
{
    return l->at.port == at->port && ip_equal(&l->at.address, &at->address);
}

// Also one that has been closed but has answers to send: its address is not free before it goes.
static struct http_door *find_tcp(const struct http_listen *at)
{
    for (unsigned i = 0; i < n_tcp; i++)
        if (is_at(tcp[i], at))
            return tcp[i];
    vec_foreach (&going, l)
        if (is_at(*l, at))
            return *l;
    return NULL;
}

// The answer to who closed it by a request through it is still to be sent.
static void close_soon(struct http_door *l)
{
    const struct timeval t = {.tv_sec = 1};

    evconnlistener_disable(l->listener);
    l->closed = true;
    *vec_push(&going) = l;
    event_add(l->rest, &t);
}

static void open_again(struct http_door *l)
{
    for (size_t i = 0; l->closed && i < going.n; i++)
        if (going.item[i] == l)
            vec_del_swap(&going, i);
    if (!l->closed)
        return;
    l->closed = false;
    event_del(l->rest);
    evconnlistener_enable(l->listener);
}

int http_listen(const struct http_listen *at, unsigned n, void (*handler)(struct http *h),
                char *err, size_t err_size)
{
    struct http_door *next[HTTP_LISTEN_MAX], *old;

    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < n; i++) {
        old = find_tcp(&at[i]);
        next[i] = old ? old : tcp_new(&at[i], handler, err, err_size);
        if (next[i])
            continue;
        while (i--)
            if (!find_tcp(&at[i]))
                door_free(next[i]);
        return -EADDRINUSE;
    }
    for (unsigned i = 0; i < n_tcp; i++) {
        bool stays = false;

        for (unsigned k = 0; k < n; k++)
            stays = stays || next[k] == tcp[i];
        if (!stays)
            close_soon(tcp[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        tcp[i] = next[i];
        open_again(tcp[i]);
        tcp[i]->at = at[i];
        tcp[i]->tls = at[i].tls;
    }
    n_tcp = n;
    return 0;
}

struct http_door *http_door_open(const char *address, uint16_t port,
                                 void (*handler)(struct http *h), char *err, size_t err_size)
{
    struct http_listen at = {.port = port};
    struct http_door *d = NULL;

    thread_must_be(ROLE_CONTROL);
    if (ip_parse(address, &at.address))
        snprintf(err, err_size, "'%s' is not an address", address);
    else if ((d = tcp_new(&at, handler, err, err_size)))
        d->anonymous = true;
    return d;
}

void http_door_close(struct http_door *d)
{
    thread_must_be(ROLE_CONTROL);
    door_free(d);
}

// --- the UNIX socket ----------------------------------------------------------------------------

void http_guard_socket(void)
{
    if (socket_path)
        socket_guard(socket_path);
}

static int bind_local(const char *path, struct evconnlistener **listener)
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
    unlink(path); // of a kamueed that was killed: the run directory's lock says that none lives
    mode_t was = umask(0177); // until http_guard_socket() only root may connect
    *listener = evconnlistener_new_bind(http_base, NULL, NULL,
                                        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, BACKLOG,
                                        (struct sockaddr *)&a, sizeof a);
    int e = errno;
    umask(was);
    return *listener ? 0 : -e;
}

int http_start(const char *path, void (*handler)(struct http *h), char *err, size_t err_size)
{
    const size_t longest = sizeof ((struct sockaddr_un *)NULL)->sun_path - 1;
    struct evconnlistener *listener;

    thread_must_be(ROLE_CONTROL);
    if (strlen(path) > longest) {
        snprintf(err, err_size,
                 "%s: the socket path is longer than %zu bytes; use a shorter run directory", path,
                 longest);
        return -ENAMETOOLONG;
    }
    int r = bind_local(path, &listener);
    if (r) {
        snprintf(
            err, err_size,
            "%s: cannot listen: %s; check that the directory exists and kamueed may write there",
            path, strerror(-r));
        return r;
    }
    local = door_new(listener, true, handler);
    socket_path = strdup(path);
    if (!local || !socket_path) {
        snprintf(err, err_size, "no memory for the RESTCONF server");
        return -ENOMEM;
    }
    http_guard_socket();
    return 0;
}

// --- all of them --------------------------------------------------------------------------------

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

void http_listen_start(void)
{
    rlim_t limit = raise_limit();
    // Whenever the kernel doubles the table of descriptors, the call that needs it waits for a
    // grace period, up to 0.25 s. Now nobody does.
    int last = limit ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)limit - 1) : -1;

    if (last >= 0)
        close(last);
}

void http_listen_stop(void)
{
    for (unsigned i = 0; i < n_tcp; i++)
        door_free(tcp[i]);
    n_tcp = 0;
    while (going.n)
        door_free(going.item[0]);
    vec_free(&going);
    http_tls_drop();
    http_tls_take();
    http_remote_stop();
}

void http_stop(void)
{
    thread_must_be(ROLE_CONTROL);
    door_free(local);
    local = NULL;
    if (socket_path)
        unlink(socket_path);
    free(socket_path);
    socket_path = NULL;
}
