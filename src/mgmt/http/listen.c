// SPDX-License-Identifier: BSD-3-Clause
// listen.c - listeners on loopback that answer without asking who it is: metrics, the web page
#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/thread.h"
#include "http/http.h"
#include "http/http_listen.h"
#include "http/refuse.h"

const char *const listen_name[LISTEN_N] = {[LISTEN_METRICS] = "metrics", [LISTEN_WEB] = "web"};

struct open_door {
    struct listen listen;
    struct http_door *door;
};
static VEC(struct open_door) doors;
static struct listen_server servers[LISTEN_N];

void listen_serve(enum listen_what what, const struct listen_server *s)
{
    servers[what] = *s;
}

// "localhost", "127.…" or "[::1]", with or without a port. ssh -L and the like keep these names.
bool listen_host_is_ours(const char *host)
{
    char name[32];
    struct in_addr a;
    size_t n;

    if (!host)
        return false;
    n = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (n >= sizeof name || n > strlen(host) || (host[n] && host[n] != ':') ||
        strspn(host + n, ":0123456789") != strlen(host + n))
        return false;
    memcpy(name, host, n);
    name[n] = 0;
    return !strcasecmp(name, "localhost") || !strcmp(name, "[::1]") ||
           (inet_pton(AF_INET, name, &a) == 1 && ntohl(a.s_addr) >> 24 == 127);
}

bool listen_refused(struct http *h)
{
    if (listen_host_is_ours(http_header(h, "Host")))
        return false;
    http_refuse(h, 421, "access-denied", "the host is '%s', expected localhost, 127.0.0.1 or [::1]",
                http_header(h, "Host") ? http_header(h, "Host") : "");
    return true;
}

int listen_open(const struct listen *l, char *err, size_t err_size)
{
    const struct listen_server *s = &servers[l->what];
    struct http_door *d;

    thread_must_be(ROLE_CONTROL);
    int r = s->start ? s->start(err, err_size) : 0;
    if (r)
        return r;
    d = http_door_open(l->address, l->port, s->answer, err, err_size);
    if (!d)
        return -EADDRINUSE;
    *vec_push(&doors) = (struct open_door){*l, d};
    log_notice("%s: listening: address=%s port=%u", listen_name[l->what], l->address, l->port);
    return 0;
}

void listen_close(const struct listen *l)
{
    thread_must_be(ROLE_CONTROL);
    for (size_t i = 0; i < doors.n; i++) {
        if (memcmp(&doors.item[i].listen, l, sizeof *l))
            continue;
        http_door_close(doors.item[i].door);
        vec_del_swap(&doors, i);
        return;
    }
}

void listen_each(void (*fn)(void *ctx, const struct listen *l), void *ctx)
{
    vec_foreach (&doors, d)
        fn(ctx, &d->listen);
}

void listen_fini(void)
{
    thread_must_be(ROLE_CONTROL);
    vec_foreach (&doors, d)
        http_door_close(d->door);
    vec_free(&doors);
    for (unsigned i = 0; i < LISTEN_N; i++)
        if (servers[i].stop)
            servers[i].stop();
}
