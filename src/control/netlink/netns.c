// SPDX-License-Identifier: BSD-3-Clause
// netns.c - see netns.h
//
// netns_enter() opens the thread's present namespace, and netns_leave() returns to it by that
// descriptor. A failure to return is fatal, because the thread would go on in the wrong namespace.
#include "netlink/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/log.h"

#define NOTHING_TO_UNDO INT_MAX

int netns_open(const char *name, int *fd, char *err, size_t err_size)
{
    char path[96];

    *fd = NETNS_OWN;
    if (!name[0])
        return 0;
    if (strchr(name, '/') ||
        (size_t)snprintf(path, sizeof path, "/run/netns/%s", name) >= sizeof path) {
        snprintf(err, err_size, "'%s' is not a network namespace name", name);
        return -EINVAL;
    }
    if (capability_check(CAPABILITY_SYS_ADMIN, "another network namespace", err, err_size))
        return -EPERM;
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0) {
        int e = errno;
        snprintf(err, err_size, "network namespace %s: %s (ip netns add %s)", name, strerror(e),
                 name);
        return -e;
    }
    *fd = opened;
    return 0;
}

void netns_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

int netns_enter(int fd)
{
    if (fd < 0)
        return NOTHING_TO_UNDO;
    int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (back < 0)
        return -errno;
    if (setns(fd, CLONE_NEWNET)) {
        int e = errno;
        close(back);
        return -e;
    }
    return back;
}

void netns_leave(int back)
{
    if (back == NOTHING_TO_UNDO || back < 0)
        return;
    int r = setns(back, CLONE_NEWNET);
    bug_on(r); // otherwise the thread would go on in the wrong namespace
    close(back);
}

int netns_private(void)
{
    static int fd = -1;

    if (fd >= 0)
        return fd;
    int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (back < 0 || unshare(CLONE_NEWNET)) {
        int e = errno;
        netns_close(back);
        return -e;
    }
    fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : fd;
    netns_leave(back);
    return r;
}

int netns_move_link(int ifindex, int to)
{
    char buf[256] __attribute__((aligned(8)));
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), r;

    if (fd < 0)
        return -errno;
    h->nlmsg_type = RTM_NEWLINK;
    h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);
    m->ifi_index = ifindex;
    mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)to);
    ssize_t n = sendto(fd, buf, h->nlmsg_len, 0, (const struct sockaddr *)&kernel, sizeof kernel);
    if (n >= 0)
        n = recv(fd, buf, sizeof buf, 0); // the answer is ready once sendto() returns
    r = n < 0 ? -errno : -EPROTO;
    if (n >= (ssize_t)(sizeof *h + sizeof(int)) && h->nlmsg_type == NLMSG_ERROR)
        r = ((const struct nlmsgerr *)mnl_nlmsg_get_payload(h))->error;
    close(fd);
    return r;
}

int netns_sysctl_get(const char *path)
{
    char full[160], text[24] = "";

    snprintf(full, sizeof full, "/proc/sys/net/%s", path);
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? atoi(text) : -1;
}

int netns_sysctl_set(const char *path, int value)
{
    char full[160], text[24];

    snprintf(full, sizeof full, "/proc/sys/net/%s", path);
    int fd = open(full, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int n = snprintf(text, sizeof text, "%d", value);
    int r = write(fd, text, (size_t)n) == n ? 0 : -errno;
    close(fd);
    return r;
}
