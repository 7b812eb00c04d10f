// SPDX-License-Identifier: BSD-3-Clause
// listen.c - listeners on loopback that answer without asking who it is: metrics, the web page
#include "mgmt/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/thread.h"
#include "mgmt/http.h"
#include "mgmt/http_listen.h"
#include "mgmt/metrics.h"
#include "mgmt/restconf_priv.h"
#include "mgmt/web.h"

const char *const listen_name[LISTEN_N] = {[LISTEN_METRICS] = "metrics", [LISTEN_WEB] = "web"};

struct open_door {
    struct listen listen;
    struct http_door *door;
};
static VEC(struct open_door) doors;

// "localhost", "127.…" or "[::1]", with or without a port. ssh -L and the like keep these names.
bool listen_host_is_ours(const char *host)
{
    char name[32];
    struct in_addr a;
    size_t n;

    if (!host)
        return false;
    n = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (n >= sizeof name || n > strlen(host) || (host[n] && host[n] != ':') || strspn(host + n, ":0123456789") != strlen(host + n))
        return false;
    memcpy(name, host, n);
    name[n] = 0;
    return !strcasecmp(name, "localhost") || !strcmp(name, "[::1]") ||
           (inet_pton(AF_INET, name, &a) == 1 && ntohl(a.s_addr) >> 24 == 127);
}

static bool refused(struct http *h)
{
    if (listen_host_is_ours(http_header(h, "Host")))
        return false;
    restconf_error(h, 421, "access-denied", "the host is '%s', expected localhost, 127.0.0.1 or [::1]",
                   http_header(h, "Host") ? http_header(h, "Host") : "");
    return true;
}

static void metrics_answer(struct http *h)
{
    if (refused(h))
        return;
    if (strcmp(http_path(h), "/metrics"))
        restconf_error(h, 404, "invalid-value", "there is no '%s'; here is /metrics", http_path(h));
    else if (strcmp(http_method(h), "GET") && strcmp(http_method(h), "HEAD"))
        restconf_not_allowed(h, "GET, HEAD");
    else
        metrics_get(h);
}

static void web_door_answer(struct http *h)
{
    if (!refused(h))
        web_answer(h);
}

int listen_open(const struct listen *l, char *err, size_t err_size)
{
    void (*const answer[LISTEN_N])(struct http *h) = {[LISTEN_METRICS] = metrics_answer, [LISTEN_WEB] = web_door_answer};
    struct http_door *d;

    thread_must_be(ROLE_CONTROL);
    int r = l->what == LISTEN_WEB ? web_start(err, err_size) : 0;
    if (r)
        return r;
    d = http_door_open(l->address, l->port, answer[l->what], err, err_size);
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
    web_stop();
}
