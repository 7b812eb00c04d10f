// SPDX-License-Identifier: BSD-3-Clause
// slow_dump.c - preloaded into kamueed: the kernel takes KAMUEE_SLOW_DUMP seconds to answer a dump
// of IPv4 routes
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct timespec end; // of the delay; 0 = not begun

static int is_route_of_a_dump(int fd)
{
    struct {
        struct nlmsghdr h;
        struct rtmsg r;
    } m;

    return recv(fd, &m, sizeof m, MSG_PEEK | MSG_DONTWAIT) == sizeof m &&
           m.h.nlmsg_type == RTM_NEWROUTE && m.h.nlmsg_flags & NLM_F_MULTI &&
           m.r.rtm_family == AF_INET;
}

// The thread that requests the dump works on other things meanwhile.
int recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *t)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((!end.tv_sec || now.tv_sec < end.tv_sec) && is_route_of_a_dump(fd)) {
        if (!end.tv_sec)
            end.tv_sec = now.tv_sec + atoi(getenv("KAMUEE_SLOW_DUMP"));
        usleep(1000);
        errno = EAGAIN;
        return -1;
    }
    return ((__typeof__(&recvmmsg))dlsym(RTLD_NEXT, "recvmmsg"))(fd, m, n, flags, t);
}
