// SPDX-License-Identifier: BSD-3-Clause
// keep_process.c - see keep_process.h
#include "main/keep_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/starter.h"
#include "main/keeper_protocol.h"

#define PATIENCE_S 2

// In a session of its own: what kills kamueed's process group does not mean it.
static int start_program(int listener)
{
    char path[PATH_MAX];
    static pid_t pid;

    if (pid > 0)
        waitpid(pid, NULL, WNOHANG); // the former one
    const char *program =
        starter_find("kamuee-keeper", "src/main/kamuee-keeper", KEEPER_PROGRAM, path);
    return -starter_run(program, "", listener, &pid);
}

// kamueed listens itself, so that it need not wait for the program.
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
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (s < 0)
        return -1;
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!connect(s, (const struct sockaddr *)at, sizeof *at) && keeper_is_ours(s))
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
    struct keeper_message m;
    int fd;

    if (!keeper_send(s, KEEPER_TAKE, "", -1))
        return -1;
    while (keeper_receive(s, &m, &fd)) {
        if (m.word == KEEPER_DONE)
            return 0;
        if (m.word == KEEPER_HAVE && fd >= 0)
            fn(m.name, fd);
        else if (fd >= 0)
            close(fd);
    }
    return -1;
}
