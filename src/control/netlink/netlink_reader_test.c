// SPDX-License-Identifier: BSD-3-Clause
// netlink_reader_test.c - which lines of /proc/net/netlink are listeners to route announcements
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink/netns_use.h"
#include "netlink/netns.h"
#include "tests/unit.h"

unit_test(sockets_that_hear_of_routes_are_told_from_others)
{
    struct netlink_reader r;

    assert_false(netlink_reader_parse("sk               Eth Pid        Groups   Rmem     Wmem     "
                                      "Dump  Locks    Drops    Inode\n",
                                      &r));
    assert_false(netlink_reader_parse(
        "00000000f0e1d2c3 0   1234       00000111 0        0        0     2        0        5555\n",
        &r));
    assert_false(netlink_reader_parse(
        "00000000f0e1d2c3 15  4294963200 00000440 0        0        0     2        0        5555\n",
        &r));
    assert_true(netlink_reader_parse(
        "00000000f0e1d2c3 0   4294963200 00000551 7424     0        0     2        3        5555\n",
        &r));
    assert_int_equal(r.port, 4294963200u);
    assert_int_equal(r.waiting_bytes, 7424);
    assert_int_equal(r.inode, 5555);
}

static bool is_there(uint32_t own, uint32_t port)
{
    struct netlink_reader r[64];
    int n = netlink_readers(NETNS_OWN, own, r, 64);

    assert_true(n >= 0);
    for (int i = 0; i < n; i++)
        if (r[i].port == port)
            return true;
    return false;
}

unit_test(a_socket_of_the_kernel_is_found_but_for_our_own)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_ROUTE};
    socklen_t size = sizeof a;

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    assert_true(is_there(0, a.nl_pid));
    assert_false(is_there(a.nl_pid, a.nl_pid));
    close(fd);
    assert_false(is_there(0, a.nl_pid));
}
