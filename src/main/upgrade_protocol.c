// SPDX-License-Identifier: BSD-3-Clause
// upgrade_protocol.c - see upgrade_protocol.h
#include "main/upgrade_protocol.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ROOM CMSG_SPACE(sizeof(int))

int upgrade_protocol(void)
{
    const char *wish = getenv("KAMUEE_UPGRADE_PROTOCOL");

    return wish ? atoi(wish) : UPGRADE_PROTOCOL;
}

bool upgrade_test_wants(const char *fault)
{
    const char *wish = getenv("KAMUEE_UPGRADE_FAULT");

    return wish && !strcmp(wish, fault);
}

bool upgrade_send(int s, enum upgrade_word word, const char *text, int fd)
{
    char control[ROOM] __attribute__((aligned(8))) = {0};
    struct upgrade_message m = {.word = (char)word};
    int length = snprintf(m.text, sizeof m.text, "%s", text);
    size_t n = offsetof(struct upgrade_message, text) +
               ((size_t)length < sizeof m.text ? (size_t)length : sizeof m.text - 1);
    struct iovec v = {&m, n};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
    ssize_t sent;

    if (fd >= 0) {
        h.msg_control = control;
        h.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);
        *c = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    do
        sent = sendmsg(s, &h, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)n;
}

bool upgrade_receive(int s, struct upgrade_message *m, int *fd)
{
    char control[ROOM] __attribute__((aligned(8)));
    struct iovec v = {m, sizeof *m - 1};
    struct msghdr h = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n;

    *fd = -1;
    do
        n = recvmsg(s, &h, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    if (c && c->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(c), sizeof *fd);
    ((char *)m)[n] = 0;
    return true;
}
