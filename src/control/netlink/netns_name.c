// SPDX-License-Identifier: BSD-3-Clause
// netns_name.c - see netns_name.h
#include "netlink/netns_name.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NAMES "/run/netns"

// Mounts are shared there, so that other mount namespaces see names that come and go.
static int prepare_directory(void)
{
    if (mkdir(NAMES, 0755) && errno != EEXIST)
        return -errno;
    if (!mount("", NAMES, "none", MS_SHARED | MS_REC, NULL))
        return 0;
    if (errno != EINVAL || mount(NAMES, NAMES, "none", MS_BIND | MS_REC, NULL) ||
        mount("", NAMES, "none", MS_SHARED | MS_REC, NULL))
        return -errno;
    return 0;
}

static int path_of(const char *name, char *path, size_t n)
{
    return (size_t)snprintf(path, n, NAMES "/%s", name) < n ? 0 : -ENAMETOOLONG;
}

int netns_name_add(const char *name, int fd)
{
    char path[96], source[40];
    int r = path_of(name, path, sizeof path);

    r = r ? r : prepare_directory();
    if (r)
        return r;
    int file = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
    if (file < 0)
        return -errno;
    close(file);
    snprintf(source, sizeof source, "/proc/thread-self/fd/%d", fd);
    if (!mount(source, path, "none", MS_BIND, NULL))
        return 0;
    r = -errno;
    unlink(path);
    return r;
}

int netns_name_remove(const char *name)
{
    char path[96];
    int r = path_of(name, path, sizeof path);

    if (r)
        return r;
    if (umount2(path, MNT_DETACH) && errno != EINVAL && errno != ENOENT) // EINVAL: nothing is bound
        return -errno;
    return unlink(path) && errno != ENOENT ? -errno : 0;
}

bool netns_name_is_empty(const char *name)
{
    char path[96];
    struct statfs s;

    return !path_of(name, path, sizeof path) && !statfs(path, &s) && s.f_type != NSFS_MAGIC;
}
