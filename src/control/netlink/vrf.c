// SPDX-License-Identifier: BSD-3-Clause
// vrf.c - does Linux have a VRF device for a table?
//
// Dumps the VRF devices on its own socket while the caller waits: a few hundred microseconds.
#include "netlink/vrf.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "netlink/netlink.h"

struct search {
    uint32_t table;
    bool found, ended;
};

static void row(void *ctx, const struct nlmsghdr *h)
{
    static struct netlink_event e; // too large for the stack; used by control only
    struct search *s = ctx;

    s->ended |= h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR;
    if (h->nlmsg_type == RTM_NEWLINK && netlink_parse(h, &e) > 0)
        s->found |= e.link.vrf_table == s->table;
}

bool netlink_has_vrf(int netns_fd, uint32_t table)
{
    static _Alignas(8) char buf[32768]; // the kernel sends at most this much at once
    const struct timeval patience = {.tv_sec = 1};
    struct search s = {.table = table};
    struct netlink n;

    if (netlink_open(&n, netns_fd, 0, false))
        return true;
    bool known = !setsockopt(n.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) &&
                 !netlink_dump_links(&n, "vrf");
    while (known && !s.found && !s.ended) {
        ssize_t got = recv(n.fd, buf, sizeof buf, 0);
        known = got > 0 && netlink_walk(buf, (size_t)got, row, &s);
    }
    netlink_close(&n);
    return s.found || !known;
}
