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
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/log.h"
#include "netlink/rtnetlink.h"

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

int netns_new(void)
{
    int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (back < 0 || unshare(CLONE_NEWNET)) {
        int e = errno;
        netns_close(back);
        return -e;
    }
    int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), r = fd < 0 ? -errno : fd;
    netns_leave(back);
    return r;
}

int netns_private(void)
{
    static int fd = -1;

    if (fd < 0)
        fd = netns_new();
    return fd;
}

uint64_t netns_cookie(int sock)
{
    uint64_t cookie = 0;
    socklen_t size = sizeof cookie;

    return getsockopt(sock, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) ? 0 : cookie;
}

void netns_boot_id(char id[NETNS_BOOT_ID])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (!f || fscanf(f, "%39s", id) != 1)
        id[0] = 0;
    if (f)
        fclose(f);
}

int netns_move_link(int ifindex, int to)
{
    char buf[256] __attribute__((aligned(8)));
    struct nlmsghdr *h = rtnetlink_link(buf, RTM_NEWLINK, ifindex);

    mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)to);
    return rtnetlink_request_once(rtnetlink_open(NETNS_OWN), h, NULL, NULL);
}

struct ifreq link_request(const char *name)
{
    struct ifreq r = {0};

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    return r;
}

int link_flags(int sock, const char *name)
{
    struct ifreq r = link_request(name);

    return ioctl(sock, SIOCGIFFLAGS, &r) ? -errno : r.ifr_flags & 0xffff;
}

int link_change_flags(int sock, const char *name, int on, int off)
{
    struct ifreq r = link_request(name);
    int flags = link_flags(sock, name);

    r.ifr_flags = (short)((flags & ~off) | on);
    return flags < 0 ? flags : ioctl(sock, SIOCSIFFLAGS, &r) ? -errno : 0;
}

int link_ethtool(int sock, const char *name, void *command)
{
    struct ifreq r = link_request(name);

    r.ifr_data = command;
    return ioctl(sock, SIOCETHTOOL, &r) < 0 ? -errno : 0;
}

static int open_sysctl(const char *path, const char *device, int flags)
{
    char name[96], full[160];

    snprintf(name, sizeof name, path, device);
    snprintf(full, sizeof full, "/proc/sys/net/%s", name);
    return open(full, flags | O_CLOEXEC);
}

int netns_sysctl_get(const char *path, const char *device)
{
    int fd = open_sysctl(path, device, O_RDONLY);
    char text[24] = "";

    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? atoi(text) : -1;
}

int netns_sysctl_set(const char *path, const char *device, int value)
{
    int fd = open_sysctl(path, device, O_WRONLY);
    char text[24];

    if (fd < 0)
        return -errno;
    int n = snprintf(text, sizeof text, "%d", value);
    int r = write(fd, text, (size_t)n) == n ? 0 : -errno;
    close(fd);
    return r;
}
