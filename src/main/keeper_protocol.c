// SPDX-License-Identifier: BSD-3-Clause
// keeper_protocol.c - see keeper_protocol.h
#include "main/keeper_protocol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM CMSG_SPACE(sizeof(int))

bool keeper_send(int s, enum keeper_word word, const char *name, int fd)
{
    char control[ROOM] __attribute__((aligned(8))) = {0};
    struct keeper_message m = {.word = (char)word};
    struct iovec v = {&m, sizeof m};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
    ssize_t n;

    snprintf(m.name, sizeof m.name, "%s", name);
    if (fd >= 0) {
        h.msg_control = control;
        h.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    do
        n = sendmsg(s, &h, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == sizeof m;
}

static int descriptor_in(struct msghdr *h)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(h);
    int fd = -1;

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

bool keeper_receive(int s, struct keeper_message *m, int *fd)
{
    char control[ROOM] __attribute__((aligned(8)));
    struct iovec v = {m, sizeof *m};
    struct msghdr h = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n;

    do
        n = recvmsg(s, &h, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    *fd = n < 0 ? -1 : descriptor_in(&h);
    if (n == sizeof *m) {
        m->name[sizeof m->name - 1] = 0;
        return true;
    }
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return false;
}

bool keeper_is_ours(int s)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    return !getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
           (!peer.uid || peer.uid == geteuid());
}
