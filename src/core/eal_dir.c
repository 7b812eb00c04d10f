// SPDX-License-Identifier: BSD-3-Clause
// eal_dir.c - owns DPDK's run-time directory by a lock (eal_args.h)
//
// The kernel releases the lock of a killed process, so a directory that can be locked belongs to
// nobody and is removed, if it is empty. A live process never loses its directory, except in the
// moment between mkdir and lock, when it makes another.
#include "core/eal_args.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

// A starting process that has not locked its directory yet may lose it here, and creates it again.
static void remove_if_dead(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    if (!flock(fd, LOCK_EX | LOCK_NB) && !unlinkat(parent, name, AT_REMOVEDIR))
        log_info("eal: removed files of a killed program: directory=%s", name);
    close(fd);
}

static void remove_dead(const char *path)
{
    char parent[256];
    const char *slash = strrchr(path, '/');
    DIR *d;

    if (!slash || (size_t)(slash - path) >= sizeof parent)
        return;
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    d = opendir(parent);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, EAL_DIR_PREFIX, sizeof EAL_DIR_PREFIX - 1))
            remove_if_dead(dirfd(d), e->d_name);
    if (d)
        closedir(d);
}

int eal_dir_take(const char *path)
{
    int fd = -1;

    for (unsigned tries = 0; fd < 0 && tries < 2; tries++) {
        mkdir(path, 0700); // normally it exists
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB))
        log_debug("eal: not locked: path=%s error=\"%m\"", path);
    remove_dead(path);
    return fd;
}

void eal_dir_drop(const char *path, int fd)
{
    if (rmdir(path)) // ours is empty because nothing is shared
        log_debug("eal: not removed: path=%s error=\"%m\"", path);
    if (fd >= 0)
        close(fd);
}
