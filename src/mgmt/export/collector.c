// SPDX-License-Identifier: BSD-3-Clause
// collector.c - UDP sockets to collectors (collector.h)
//
// Sockets are connected, so the kernel reports a collector that refuses datagrams. A socket that
// cannot be opened is opened again with the next datagram. An error is logged when it changes, not
// for each datagram.
#include "export/collector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "core/thread.h"

static socklen_t socket_address(struct sockaddr_storage *a, const struct export_collector *c)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)a;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)a;

    memset(a, 0, sizeof *a);
    if (c->addr.family == IP4) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(c->port);
        v4->sin_addr.s_addr = c->addr.ip4;
        return sizeof *v4;
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(c->port);
    memcpy(&v6->sin6_addr, c->addr.b, 16);
    return sizeof *v6;
}

static int open_socket(const struct export_collector *c)
{
    struct sockaddr_storage a;
    socklen_t n = socket_address(&a, c);
    int fd = socket(a.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, n)) {
        int r = errno;
        close(fd);
        errno = r;
        fd = -1;
    }
    return fd;
}

static void fails(struct collector *c)
{
    char text[IP_TEXT_MAX];
    const char *why = strerror(errno);

    if (strcmp(c->state.error, why))
        log_warning("export: datagrams are lost: collector=%s port=%u error=\"%s\"",
                    ip_format(&c->state.to.addr, text), c->state.to.port, why);
    snprintf(c->state.error, sizeof c->state.error, "%s", why);
}

static bool is_open(struct collector *c)
{
    if (c->fd < 0)
        c->fd = open_socket(&c->state.to);
    if (c->fd < 0)
        fails(c);
    return c->fd >= 0;
}

void collectors_open(struct collectors *c, const struct export_collector *config, unsigned n)
{
    thread_must_be(ROLE_CONTROL);
    *c = (struct collectors){.n = n};
    for (unsigned i = 0; i < n; i++) {
        c->item[i] = (struct collector){.state.to = config[i], .fd = -1};
        is_open(&c->item[i]);
    }
}

void collectors_close(struct collectors *c)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->item[i].fd >= 0)
            close(c->item[i].fd);
    *c = (struct collectors){0};
}

static void send_one(struct collector *c, const void *p, size_t n)
{
    if (is_open(c) && send(c->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n) {
        c->state.datagrams++;
        c->state.bytes += n;
        c->state.error[0] = '\0';
        return;
    }
    if (c->fd >= 0)
        fails(c);
    c->state.lost++;
}

void collectors_send(struct collectors *c, const void *p, size_t n)
{
    for (unsigned i = 0; i < c->n; i++)
        send_one(&c->item[i], p, n);
}

struct ip_addr collectors_source(const struct collectors *c)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    struct ip_addr source = {0};

    for (unsigned i = 0; i < c->n; i++) {
        if (c->item[i].fd < 0 || getsockname(c->item[i].fd, (struct sockaddr *)&a, &n))
            continue;
        source.family = ip_family_of_af(a.ss_family);
        if (source.family == IP4)
            source.ip4 = ((struct sockaddr_in *)&a)->sin_addr.s_addr;
        else
            memcpy(source.b, &((struct sockaddr_in6 *)&a)->sin6_addr, 16);
        break;
    }
    return source;
}
