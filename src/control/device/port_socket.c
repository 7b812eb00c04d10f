// SPDX-License-Identifier: BSD-3-Clause
// port_socket.c - asks the kernel whether a program listens on a Unix socket
//
// Nothing is ever connected: the other program would see a peer come and go. A socket file is tried
// with a socket of another type, and the error tells; an abstract name is looked up in the kernel's
// list. If neither can be told, the socket counts as taken.
#include "device/port_probe.h"

#include <errno.h>
#include <linux/net.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

// Connecting a datagram socket to a listening stream or seqpacket socket fails with EPROTOTYPE,
// without a connection at the other end; without a listener it fails with ECONNREFUSED (unix(7)).
static bool file_is_taken(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof a.sun_path)
        return false;
    strcpy(a.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true; // unknown: let the caller try
    bool taken = !connect(fd, (struct sockaddr *)&a, sizeof a) || errno == EPROTOTYPE;
    close(fd);
    return taken;
}

// Each socket type has its own abstract names. The kernel lists them all: "Num: RefCount Protocol
// Flags Type St Inode Path" (proc(5)).
static bool name_is_taken(const char *name)
{
    char line[256], path[200];
    unsigned flags;
    bool taken = false;
    FILE *f = fopen("/proc/thread-self/net/unix", "re");

    if (!f)
        return true;
    while (!taken && fgets(line, sizeof line, f))
        taken = sscanf(line, "%*s %*s %*s %x %*s %*s %*s %199s", &flags, path) == 2 &&
                flags & __SO_ACCEPTCON && !strcmp(path, name);
    fclose(f);
    return taken;
}

bool port_socket_is_taken(const char *path)
{
    return path[0] == '@' ? name_is_taken(path) : path[0] && file_is_taken(path);
}

int port_socket_clear(const char *path, char *err, size_t err_size)
{
    struct stat st;

    if (!path[0] || path[0] == '@' || lstat(path, &st))
        return 0; // if the directory is missing the driver says so
    if (!S_ISSOCK(st.st_mode)) {
        snprintf(err, err_size,
                 "%s exists and is not a socket: remove it, or use another path for the device",
                 path);
        return -EEXIST;
    }
    if (port_socket_is_taken(path))
        return 0;
    if (unlink(path)) {
        int e = errno;
        snprintf(err, err_size, "cannot remove the stale socket %s: %s", path, strerror(e));
        return -e;
    }
    log_notice("port_socket: removed a stale socket: socket=%s", path);
    return 0;
}
