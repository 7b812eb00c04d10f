// SPDX-License-Identifier: BSD-3-Clause
// carrier.c - tells at once when the kernel interface behind a port changes
//
// Each interface has a socket of its own, in its namespace. An announcement may be old, so it is
// only a reason to look.
#include "netlink/carrier.h"

#include <errno.h>
#include <event2/event.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink/netlink.h"

#define ROOM 16384 // bytes; an announcement of a link has 1 to 2 KiB

struct carrier {
    int fd, ifindex;
    struct event *event;
    bool hit;
    void (*fn)(void *ctx);
    void *ctx;
};

static void take_message(void *ctx, const struct nlmsghdr *h)
{
    struct carrier *c = ctx;
    const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);

    if ((h->nlmsg_type == RTM_NEWLINK || h->nlmsg_type == RTM_DELLINK) &&
        mnl_nlmsg_get_payload_len(h) >= sizeof *m)
        c->hit |= m->ifi_index == c->ifindex;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct carrier *c = arg;
    char buf[ROOM] __attribute__((aligned(8)));
    ssize_t n;

    c->hit = false;
    while ((n = recv(fd, buf, sizeof buf, MSG_DONTWAIT)) > 0)
        if (!netlink_walk(buf, (size_t)n, take_message, c))
            c->hit = true; // cut: whatever it was
    c->hit |= n < 0 && errno == ENOBUFS;
    if (c->hit)
        c->fn(c->ctx); // may end c
}

struct carrier *carrier_listen(struct event_base *loop, int ifindex, void (*fn)(void *ctx),
                               void *ctx)
{
    struct sockaddr_nl links = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    struct carrier *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    *c = (struct carrier){.ifindex = ifindex, .fn = fn, .ctx = ctx};
    c->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (c->fd >= 0 && !bind(c->fd, (struct sockaddr *)&links, sizeof links))
        c->event = event_new(loop, c->fd, EV_READ | EV_PERSIST, on_readable, c);
    if (c->event && !event_add(c->event, NULL))
        return c;
    int e = errno;
    carrier_end(c);
    errno = e;
    return NULL;
}

void carrier_end(struct carrier *c)
{
    if (!c)
        return;
    if (c->event)
        event_free(c->event);
    if (c->fd >= 0)
        close(c->fd);
    free(c);
}
