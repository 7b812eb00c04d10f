// SPDX-License-Identifier: BSD-3-Clause
// netns_helper.c - kamuee-netns: names network namespaces for kamueed, which cannot mount
//
//     kamuee-netns                 listens on the socket from systemd (kamuee-netns.socket)
//     kamuee-netns SOCKET [UID]    creates the socket, for this user
//
// kamueed's unit forbids mounting, and its mounts would be invisible outside. This program mounts,
// but only names below /run/netns, and only network namespaces (netlink/netns_own.h). It serves
// root and the socket's owner: kamueed's user, not trusted beyond that. It serves one client
// at a time, and waits for none longer than PATIENCE_S.
#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "netlink/netns_own.h"

#define PATIENCE_S 1

static uid_t asker; // the only client user beside root

static int listen_at(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (s < 0 ||
        (size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s", path) >= sizeof at.sun_path)
        return -1;
    unlink(path);
    umask(077);
    return bind(s, (struct sockaddr *)&at, sizeof at) || chown(path, asker, (gid_t)-1) ||
                   listen(s, 8)
               ? -1
               : s;
}

// systemd has created it for the user of SocketUser=.
static void find_asker(int at)
{
    struct sockaddr_un a = {0};
    socklen_t n = sizeof a;
    struct stat s;

    if (!getsockname(at, (struct sockaddr *)&a, &n) && !stat(a.sun_path, &s))
        asker = s.st_uid;
}

static bool may_ask(int s)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    return !getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &n) && (!peer.uid || peer.uid == asker);
}

static int answer_of(const char *line, int fd)
{
    if (!netns_name_is_one(line + 1))
        return -EINVAL;
    if (*line == '+')
        return fd < 0 || ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET ? -EBADF
                                                                  : netns_name_add(line + 1, fd);
    return *line == '-' ? netns_name_remove(line + 1) : -EINVAL;
}

// The client has gone: nobody would undo the change later.
static bool has_gone(int s)
{
    char byte;

    return !recv(s, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
}

static void serve(int s)
{
    uint64_t until_ns = clock_now_ns() + PATIENCE_S * NS_PER_SECOND;
    char line[80] = "";
    int fd;
    ssize_t n = may_ask(s) && descriptor_until(s, until_ns)
                    ? descriptor_receive(s, line, sizeof line - 1, &fd)
                    : -1;

    if (n < 0)
        return;
    line[n] = 0;
    int answer = has_gone(s) ? -EPIPE : answer_of(line, fd);
    if (fd >= 0)
        close(fd);
    (void)!send(s, &answer, sizeof answer, MSG_NOSIGNAL);
}

int main(int argc, char **argv)
{
    if (argc > 2)
        asker = (uid_t)strtoul(argv[2], NULL, 10);
    int at = argc > 1 ? listen_at(argv[1]) : sd_listen_fds(0) == 1 ? SD_LISTEN_FDS_START : -1;

    if (at < 0) {
        fprintf(stderr, "usage: kamuee-netns [SOCKET [UID]]; without, systemd gives the socket "
                        "(kamuee-netns.socket)\n");
        return 2;
    }
    if (argc == 1)
        find_asker(at);
    for (;;) {
        int s = accept4(at, NULL, NULL, SOCK_CLOEXEC);
        if (s < 0)
            continue;
        serve(s);
        close(s);
    }
}
