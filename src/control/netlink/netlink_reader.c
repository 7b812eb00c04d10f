// SPDX-License-Identifier: BSD-3-Clause
// netlink_reader.c - see netlink_reader.h
#include "netlink/netlink_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>

#include "netlink/netns.h"

#define BIT(group) (1u << ((group) - 1))

bool netlink_reader_parse(const char *line, struct netlink_reader *r)
{
    unsigned protocol, groups;

    // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
    return sscanf(line, "%*s %u %" SCNu32 " %x %" SCNu64 " %*u %*s %*u %*u %" SCNu64, &protocol,
                  &r->port, &groups, &r->waiting_bytes, &r->inode) == 5 &&
           protocol == NETLINK_ROUTE &&
           groups & (BIT(RTNLGRP_IPV4_ROUTE) | BIT(RTNLGRP_IPV6_ROUTE));
}

int netlink_readers(int netns_fd, uint32_t own, struct netlink_reader *r, unsigned max)
{
    int back = netns_enter(netns_fd), n = 0;

    if (back < 0)
        return back;
    FILE *f = fopen("/proc/thread-self/net/netlink", "re");
    int e = errno;
    netns_leave(back);
    if (!f)
        return -e;
    for (char line[256]; n < (int)max && fgets(line, sizeof line, f);)
        if (netlink_reader_parse(line, &r[n]) && r[n].port != own)
            n++;
    fclose(f);
    return n;
}
