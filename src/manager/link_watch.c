// SPDX-License-Identifier: BSD-3-Clause
// link_watch.c - hears at once when the kernel interface behind a port changes
//
// A socket of its own for each interface, in the interface's namespace. What an
// announcement says is not believed: it may be old. It is a reason to look.
#include "manager/link_watch.h"

#include <errno.h>
#include <event2/event.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "manager/netlink.h"

#define ROOM 16384 // bytes; an announcement of a link has 1 to 2 KiB

struct link_watch {
    int fd, ifindex;
    struct event *event;
    bool hit;
    void (*fn)(void *ctx);
    void *ctx;
};

static void message(void *ctx, const struct nlmsghdr *h)
{
    struct link_watch *w = ctx;
    const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);

    if ((h->nlmsg_type == RTM_NEWLINK || h->nlmsg_type == RTM_DELLINK) && mnl_nlmsg_get_payload_len(h) >= sizeof *m)
        w->hit |= m->ifi_index == w->ifindex;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct link_watch *w = arg;
    char buf[ROOM] __attribute__((aligned(8)));
    ssize_t n;

    w->hit = false;
    while ((n = recv(fd, buf, sizeof buf, MSG_DONTWAIT)) > 0)
        if (!netlink_walk(buf, (size_t)n, message, w))
            w->hit = true; // cut: whatever it was
    w->hit |= n < 0 && errno == ENOBUFS;
    if (w->hit)
        w->fn(w->ctx); // may close w
}

struct link_watch *link_watch_open(struct event_base *loop, int ifindex, void (*fn)(void *ctx), void *ctx)
{
    struct sockaddr_nl links = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    struct link_watch *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    *w = (struct link_watch){.ifindex = ifindex, .fn = fn, .ctx = ctx};
    w->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (w->fd >= 0 && !bind(w->fd, (struct sockaddr *)&links, sizeof links))
        w->event = event_new(loop, w->fd, EV_READ | EV_PERSIST, on_readable, w);
    if (w->event && !event_add(w->event, NULL))
        return w;
    int e = errno;
    link_watch_close(w);
    errno = e;
    return NULL;
}

void link_watch_close(struct link_watch *w)
{
    if (!w)
        return;
    if (w->event)
        event_free(w->event);
    if (w->fd >= 0)
        close(w->fd);
    free(w);
}
