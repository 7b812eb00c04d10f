// SPDX-License-Identifier: BSD-3-Clause
// keep_process.c - see keep.h
//
// A keeper that does not deliver its descriptors within PATIENCE_S must not prevent a start, so it
// is killed, and the TAPs lose their carrier. A stopped keeper is continued first.
#include "main/keep.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "core/child.h"
#include "core/process.h"
#include "core/starter.h"
#include "main/keeper_protocol.h"

#define PATIENCE_S 5 // for all descriptors
#define PUT_S 2      // for one descriptor

// In its own session, so that signals to kamueed's process group do not reach it.
static struct child own = {.name = "kamuee-keeper", .abruptly = true}; // started by us
static struct child met = {.name = "kamuee-keeper", .abruptly = true}; // a former kamueed's

static int start_program(int listener)
{
    char path[PATH_MAX];

    child_wait(&own, 0); // the former one has ended, or will, as its socket was deleted
    child_forget(&own);
    const char *program =
        starter_find("kamuee-keeper", "src/main/kamuee-keeper", KEEPER_PROGRAM, path);
    return -child_start(&own, program, "", listener, CHILD_NO_LIMIT);
}

// kamueed creates the listening socket, so that it need not wait for the program.
static int start_keeper(const struct sockaddr_un *at, char *err, size_t err_size)
{
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    unlink(at->sun_path);
    mode_t before = umask(077);
    int r = s < 0 || bind(s, (const struct sockaddr *)at, sizeof *at) || listen(s, 4) ? errno : 0;
    umask(before);
    if (r)
        snprintf(err, err_size, "%s: %s", at->sun_path, strerror(r));
    if (!r && (r = start_program(s)))
        snprintf(err, err_size, "kamuee-keeper: %s: install it (%s)", strerror(r), KEEPER_PROGRAM);
    if (s >= 0)
        close(s);
    return r ? -1 : 0;
}

static int connect_to(const struct sockaddr_un *at)
{
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (s < 0)
        return -1;
    if (descriptor_until(s, clock_now_ns() + PATIENCE_S * NS_PER_SECOND) &&
        !connect(s, (const struct sockaddr *)at, sizeof *at) && keeper_is_ours(s))
        return s;
    close(s);
    return -1;
}

int keep_process_connect(const char *path, char *err, size_t err_size)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int s;

    if ((size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s", path) >= sizeof at.sun_path) {
        snprintf(err, err_size, "%s: the path of a socket is at most %zu bytes: use a shorter "
                                "--run-dir", path, sizeof at.sun_path - 1);
        return -1;
    }
    s = connect_to(&at);
    if (s >= 0)
        return s;
    if (start_keeper(&at, err, err_size))
        return -1;
    s = connect_to(&at);
    if (s < 0)
        snprintf(err, err_size, "%s: %s", path, strerror(errno));
    return s;
}

int keep_process_take(int s, void (*fn)(const char *name, int fd))
{
    uint64_t until_ns = clock_now_ns() + PATIENCE_S * NS_PER_SECOND;
    struct keeper_message m;
    int fd;

    if (!keeper_send(s, KEEPER_TAKE, "", -1))
        return -1;
    while (descriptor_until(s, until_ns)) {
        errno = 0; // still 0 at the end of the connection
        if (!keeper_receive(s, &m, &fd))
            break;
        if (m.word == KEEPER_DONE)
            return 0;
        if (m.word == KEEPER_HAVE && fd >= 0)
            fn(m.name, fd);
        else if (fd >= 0)
            close(fd);
    }
    return -1;
}

// The peer is the last process that called listen(): the keeper, or the kamueed that just started
// it.
static struct child *keeper_of(int s)
{
    struct ucred peer = {0};
    socklen_t n = sizeof peer;
    char name[16] = "";

    if (getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &n) || peer.pid == getpid() ||
        peer.pid == own.pid)
        return &own;
    child_forget(&met);
    if (peer.pid > 0)
        process_name(peer.pid, name);
    if (!strcmp(name, "kamuee-keeper"))
        child_take(&met, peer.pid, false, CHILD_NO_LIMIT);
    return &met;
}

bool keep_process_end(int s)
{
    struct child *c = keeper_of(s);
    int pid = (int)c->pid;

    if (!pid)
        return true; // it has ended, or belongs to an earlier version
    log_error("keep: the keeper does not answer and is ended: pid=%d", pid);
    return child_end(c);
}

int keep_process_open(const char *path, void (*fn)(const char *name, int fd), char *err,
                      size_t err_size)
{
    for (unsigned tries = 0; tries < 3; tries++) {
        int s = keep_process_connect(path, err, err_size);
        if (s < 0)
            return -1;
        child_continue(keeper_of(s));
        if (!keep_process_take(s, fn)) {
            descriptor_until(s, clock_now_ns() + PUT_S * NS_PER_SECOND);
            return s;
        }
        bool silent = errno == EAGAIN || errno == ETIMEDOUT;
        bool ended = !silent || keep_process_end(s);
        close(s);
        if (!ended)
            break;
    } // else it was about to end when we connected, and its descriptors are lost
    snprintf(err, err_size, "%s: kamuee-keeper neither answers nor ends", path);
    return -1;
}

void keep_process_continue(void)
{
    child_continue(own.pid ? &own : &met);
}
