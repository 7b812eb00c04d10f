// SPDX-License-Identifier: BSD-3-Clause
// carrier.c - reports changes of the kernel interface behind a port at once
//
// Each interface has its own socket in its namespace. An announcement may be outdated when it is
// read, so it only makes the caller read the present state.
#include "netlink/carrier.h"

#include <errno.h>
#include <event2/event.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink/netlink.h"

#define ROOM 16384 // bytes; a link announcement takes 1 to 2 KiB

struct carrier {
    int fd, ifindex;
    struct event *event;
    bool hit;
    void (*fn)(void *ctx);
    void *ctx;
};

// Interface whose settings changed, or NETCONFA_IFINDEX_ALL.
static int netconf_ifindex(const struct nlmsghdr *h)
{
    const struct nlattr *a;
    int ifindex = 0;

    mnl_attr_for_each (a, h, sizeof(struct netconfmsg))
        if (mnl_attr_get_type(a) == NETCONFA_IFINDEX && mnl_attr_get_payload_len(a) == 4)
            ifindex = (int)mnl_attr_get_u32(a);
    return ifindex;
}

static void take_message(void *ctx, const struct nlmsghdr *h)
{
    struct carrier *c = ctx;
    const size_t n = mnl_nlmsg_get_payload_len(h);
    const struct ifinfomsg *link = mnl_nlmsg_get_payload(h);
    const struct ifaddrmsg *address = mnl_nlmsg_get_payload(h);
    int ifindex = 0;

    if ((h->nlmsg_type == RTM_NEWLINK || h->nlmsg_type == RTM_DELLINK) && n >= sizeof *link)
        ifindex = link->ifi_index;
    else if (h->nlmsg_type == RTM_NEWADDR && n >= sizeof *address)
        ifindex = (int)address->ifa_index;
    else if (h->nlmsg_type == RTM_NEWNETCONF && n >= sizeof(struct netconfmsg))
        ifindex = netconf_ifindex(h);
    c->hit |= ifindex == c->ifindex || ifindex == NETCONFA_IFINDEX_ALL;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct carrier *c = arg;
    char buf[ROOM] __attribute__((aligned(8)));
    ssize_t n;

    c->hit = false;
    while ((n = recv(fd, buf, sizeof buf, MSG_DONTWAIT)) > 0)
        if (!netlink_walk(buf, (size_t)n, take_message, c))
            c->hit = true; // cut: it may have concerned the interface
    c->hit |= n < 0 && errno == ENOBUFS;
    if (c->hit)
        c->fn(c->ctx); // may end c
}

struct carrier *carrier_listen(struct event_base *loop, int ifindex, void (*fn)(void *ctx),
                               void *ctx)
{
    // A new IPv6 address shows that IPv6, which kernel_link.c switches off, is on again.
    struct sockaddr_nl links = {.nl_family = AF_NETLINK,
                                .nl_groups = RTMGRP_LINK | RTMGRP_IPV6_IFADDR |
                                             1u << (RTNLGRP_IPV4_NETCONF - 1) |
                                             1u << (RTNLGRP_IPV6_NETCONF - 1)};
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
