// SPDX-License-Identifier: BSD-3-Clause
// http_live.c - limits the connections, and closes silent ones for new ones
//
// The resources of clients are limited: a peer (http_peer.h) has at most PEER_LIVE_… connections; a
// further one closes its connection with the longest silence. While all connections of a listener
// are in use, connections silent for SILENT_MS are closed, so that silent clients lock no one out.
// The last LIVE_RESERVE of the socket are root's. Without a free file descriptor, silent
// connections are closed. A connection is gone when evhttp has removed its callbacks from the
// bufferevent, to which we hold a reference.
#include <event2/buffer.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/http_priv.h"

#define LIVE_MAX_PROXY 512     // connections of the proxy
#define LIVE_MAX_LOCAL 1024    // of this host's users
#define LIVE_RESERVE 64        // of these, root's
#define SPARE_FILES 16         // descriptors reserved for uses other than connections
#define SILENT_MS 1000         // silence limit while all connections of a listener are in use

struct http_doors http_doors;
static bool few_left; // an accept failed for lack of descriptors, and there are still too few

static unsigned live_max(const struct http_door *l)
{
    return l->local ? LIVE_MAX_LOCAL : LIVE_MAX_PROXY;
}

bool http_live_is_full(const struct http_door *l)
{
    return l->live.n >= live_max(l);
}

void http_live_free(struct http_live *c)
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

void http_live_sweep(struct http_door *l)
{
    for (size_t i = 0; i < l->live.n;) {
        struct http_live *c = l->live.item[i];

        if (!is_gone(c)) {
            i++;
            continue;
        }
        vec_del_swap(&l->live, i);
        http_live_free(c);
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

    vec_foreach (&http_doors, d)
        vec_foreach (&(*d)->live, c)
            if (!p || (*c)->peer == p)
                n += unsent(*c);
    return n;
}

// --- closing connections ------------------------------------------------------------------------

static bool is_idle(const struct http_live *c)
{
    return !c->shut && !is_gone(c) && !c->busy && !http_gate_is_inside(c) && !unsent(c);
}

static bool too_silent(const struct http_door *l, const struct http_live *c, uint64_t now_ns)
{
    uint64_t silent_ms = (now_ns - c->since_ns) / 1000000;

    return http_live_is_full(l) && silent_ms >= SILENT_MS && is_idle(c);
}

// evhttp reads the end of the connection, and frees it.
void http_live_shut(struct http_live *c)
{
    shutdown(bufferevent_getfd(c->bev), SHUT_RDWR);
    c->shut = true;
}

void http_live_shut_silent(struct http_door *l)
{
    uint64_t now_ns = clock_now_ns();

    vec_foreach (&l->live, c)
        if (!(*c)->shut && too_silent(l, *c, now_ns))
            http_live_shut(*c);
}

// The connection of the peer with the longest silence, or of all peers (NULL); never `but`.
static struct http_live *most_silent(const struct http_peer *p, const struct http_live *but)
{
    struct http_live *found = NULL;

    vec_foreach (&http_doors, d)
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
        http_live_shut(silent);
    else if (!c->peer->root || of)
        http_live_shut(c);
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

// Connections accepted together have also used up the spare descriptors: closes as many as needed
// to get these back.
void http_live_spare_again(void)
{
    struct http_live *silent;
    struct rlimit files;
    unsigned left = 0;

    if (!few_left || getrlimit(RLIMIT_NOFILE, &files))
        return;
    for (rlim_t i = 0; i < files.rlim_cur && left < SPARE_FILES; i++)
        left += fcntl((int)i, F_GETFD) < 0;
    few_left = left < SPARE_FILES;
    for (; left < SPARE_FILES && (silent = most_silent(NULL, NULL)); left++)
        http_live_shut(silent);
}

void http_live_shut_spare(void)
{
    struct http_live *silent;

    few_left = true;
    for (unsigned i = 0; i < SPARE_FILES && (silent = most_silent(NULL, NULL)); i++) {
        tell_shut(silent->peer, "running out of file descriptors");
        http_live_shut(silent);
    }
}
