// SPDX-License-Identifier: BSD-3-Clause
// netns_name.c - see netns_own.h
//
// kamuee-netns gets one packet per request: '+' and the name with the namespace's descriptor, or
// '-' and the name. It answers with an int, 0 or -errno. systemd runs the helper under another
// user, so kamueed cannot kill one that hangs; kamueed stops asking it for a while instead.
#include "netlink/netns_own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/unwell.h"

#define NAMES "/run/netns"
#define PATIENCE_S 2 // timeout for an answer
#define SILENT_S 5   // pause after a timeout

static const char *helper; // its socket

void netns_name_by(const char *socket)
{
    helper = socket;
}

bool netns_name_is_one(const char *name)
{
    size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");

    return n && !name[n] && n < 64 && name[0] != '.' && name[0] != '-';
}

// --- by kamuee-netns -----------------------------------------------------------------------------

static int ask_in_time(char what, const char *name, int fd)
{
    uint64_t until_ns = clock_now_ns() + PATIENCE_S * NS_PER_SECOND;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char line[80];
    size_t n = (size_t)snprintf(line, sizeof line, "%c%s", what, name);
    int answer, s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (s < 0)
        return -errno;
    snprintf(to.sun_path, sizeof to.sun_path, "%s", helper);
    int r = descriptor_until(s, until_ns) && !connect(s, (struct sockaddr *)&to, sizeof to) &&
                    descriptor_until(s, until_ns) && descriptor_send(s, line, n, fd) &&
                    descriptor_until(s, until_ns)
                ? 0
                : -errno;
    ssize_t got = r ? 0 : recv(s, &answer, sizeof answer, 0);
    r = r ? r : got == sizeof answer ? answer : got < 0 ? -errno : -EPIPE;
    close(s);
    return r == -EAGAIN ? -ETIMEDOUT : r;
}

static int ask_helper(char what, const char *name, int fd)
{
    static uint64_t silent_until_ns;

    if (clock_now_ns() < silent_until_ns)
        return -ETIMEDOUT;
    int r = ask_in_time(what, name, fd);
    bool silent = r == -ETIMEDOUT;
    silent_until_ns = silent ? clock_now_ns() + SILENT_S * NS_PER_SECOND : 0;
    unwell_set("kamuee-netns",
               silent ? "it does not answer: systemctl restart kamuee-netns" : NULL);
    return r;
}

// --- by ourselves --------------------------------------------------------------------------------

// Makes mounts in the directory shared, so that other mount namespaces see names come and go.
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

    if (helper)
        return ask_helper('+', name, fd);
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

    if (helper)
        return ask_helper('-', name, -1);
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
