// SPDX-License-Identifier: BSD-3-Clause
// netns_helper.c - kamuee-netns: names network namespaces for a kamueed that may not mount
//
//     kamuee-netns            listens on the socket that systemd gives (kamuee-netns.socket)
//     kamuee-netns SOCKET     makes the socket
//
// kamueed's unit keeps kamueed from mounting anything; what it mounted nobody else would see. Only
// this program can, and only names below /run/netns; only root may ask (netlink/netns_name.h).
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "netlink/netns_name.h"

static int listen_at(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (s < 0 ||
        (size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s", path) >= sizeof at.sun_path)
        return -1;
    unlink(path);
    umask(077);
    return bind(s, (struct sockaddr *)&at, sizeof at) || listen(s, 8) ? -1 : s;
}

static bool is_root(int s)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    return !getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &n) && !peer.uid;
}

// The descriptor that came with it, or -1.
static int descriptor_of(struct msghdr *m)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    int fd = -1;

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

static int answer_of(const char *line, int fd)
{
    if (!netns_name_is_one(line + 1))
        return -EINVAL;
    if (*line == '+')
        return fd < 0 ? -EBADF : netns_name_add(line + 1, fd);
    return *line == '-' ? netns_name_remove(line + 1) : -EINVAL;
}

static void serve(int s)
{
    char line[80], control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
    struct iovec v = {line, sizeof line - 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
                       .msg_controllen = sizeof control};
    ssize_t n = is_root(s) ? recvmsg(s, &m, MSG_CMSG_CLOEXEC) : -1;

    if (n < 1)
        return;
    line[n] = 0;
    int fd = descriptor_of(&m), answer = answer_of(line, fd);
    if (fd >= 0)
        close(fd);
    (void)!send(s, &answer, sizeof answer, MSG_NOSIGNAL);
}

int main(int argc, char **argv)
{
    int at = argc > 1 ? listen_at(argv[1]) : sd_listen_fds(0) == 1 ? SD_LISTEN_FDS_START : -1;

    if (at < 0) {
        fprintf(stderr, "usage: kamuee-netns [SOCKET]; without, systemd gives the socket "
                        "(kamuee-netns.socket)\n");
        return 2;
    }
    for (;;) {
        int s = accept4(at, NULL, NULL, SOCK_CLOEXEC);
        if (s < 0)
            continue;
        serve(s);
        close(s);
    }
}
