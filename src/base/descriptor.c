// SPDX-License-Identifier: BSD-3-Clause
// descriptor.c - sends and receives one descriptor with a message (descriptor.h)
//
// A received message can carry more descriptors than expected: all but a single one are closed, so
// that no sender fills our table. Received descriptors are closed on exec.
#include "base/descriptor.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"

#define CONTROL_SIZE CMSG_SPACE(sizeof(int))

bool descriptor_send(int s, const void *bytes, size_t n, int fd)
{
    char control[CONTROL_SIZE] __attribute__((aligned(8))) = {0};
    struct iovec v = {(void *)bytes, n};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

    if (fd >= 0) {
        m.msg_control = control;
        m.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    return TEMP_FAILURE_RETRY(sendmsg(s, &m, MSG_NOSIGNAL)) == (ssize_t)n;
}

// Due to its padding, CONTROL_SIZE has room for a second descriptor, which must be closed.
static int only_descriptor_of(struct msghdr *m)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    int fd[CONTROL_SIZE / sizeof(int)];
    size_t n = 0;

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        n = (c->cmsg_len - CMSG_LEN(0)) / sizeof *fd;
        memcpy(fd, CMSG_DATA(c), n * sizeof *fd);
    }
    if (n == 1)
        return fd[0];
    while (n)
        close(fd[--n]);
    return -1;
}

ssize_t descriptor_receive(int s, void *bytes, size_t room, int *fd)
{
    char control[CONTROL_SIZE] __attribute__((aligned(8)));
    struct iovec v = {bytes, room};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
                       .msg_controllen = sizeof control};
    ssize_t n;

    // ECONNRESET is reported once, before the messages that are still queued: the other end closed
    // without reading ours.
    do
        n = recvmsg(s, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    *fd = n < 0 ? -1 : only_descriptor_of(&m);
    return n;
}

// A timeout of 0 would mean no limit, so it is at least one microsecond.
bool descriptor_until(int s, uint64_t until_ns)
{
    uint64_t now_ns = clock_now_ns(), us = now_ns < until_ns ? (until_ns - now_ns) / 1000 + 1 : 0;
    struct timeval t = {.tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000)};

    if (us)
        return !setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) &&
               !setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
    errno = ETIMEDOUT;
    return false;
}
