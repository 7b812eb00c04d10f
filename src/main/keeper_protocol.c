// SPDX-License-Identifier: BSD-3-Clause
// keeper_protocol.c - sends and receives messages of the keeper (keeper_protocol.h)
//
// A message of another size is refused, and its descriptor closed. A peer is trusted if the kernel
// says that it is root or our own user.
#include "main/keeper_protocol.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"

bool keeper_send(int s, enum keeper_word word, const char *name, int fd)
{
    struct keeper_message m = {.word = (char)word};

    snprintf(m.name, sizeof m.name, "%s", name);
    return descriptor_send(s, &m, sizeof m, fd);
}

bool keeper_receive(int s, struct keeper_message *m, int *fd)
{
    if (descriptor_receive(s, m, sizeof *m, fd) == sizeof *m) {
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
