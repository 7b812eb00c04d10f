// SPDX-License-Identifier: BSD-3-Clause
// file.c - opens, reads and replaces files safely (file.h)
//
// A file that the configuration names is opened first, and then its real path is checked through
// /proc/self/fd: so no link can be exchanged between check and use. Pipes and devices are refused,
// and opening never waits. A new file is written beside the old one with its mode and owner, synced
// and renamed; then the directory is synced.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

// --- where files may lie ---

#define DIRS_MAX 32

static char *dir[FILE_USES][DIRS_MAX];
static unsigned n_dirs[FILE_USES];

int file_allow(enum file_use use, const char *path)
{
    if (n_dirs[use] == DIRS_MAX || *path != '/')
        return -EINVAL;
    dir[use][n_dirs[use]] = strdup(path);
    bug_on(!dir[use][n_dirs[use]]);
    n_dirs[use]++;
    return 0;
}

void file_allow_none(void)
{
    for (unsigned use = 0; use < FILE_USES; use++)
        while (n_dirs[use])
            free(dir[use][--n_dirs[use]]);
}

static bool is_below(const char *path, const char *above)
{
    size_t n = strlen(above);

    while (n > 1 && above[n - 1] == '/')
        n--;
    if (n == 1)
        n = 0; // the root
    return !strncmp(path, above, n) && path[n] == '/' && !strstr(path, "/../");
}

bool file_allowed(enum file_use use, const char *path)
{
    char real[PATH_MAX];

    for (unsigned i = 0; i < n_dirs[use]; i++)
        if (is_below(path, realpath(dir[use][i], real) ? real : dir[use][i]))
            return true;
    return !n_dirs[use]; // tests set none
}

// The file need not exist: its parent directory, with symbolic links resolved, must be allowed.
bool file_allowed_new(enum file_use use, const char *path)
{
    char real[PATH_MAX], *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
    struct text t = {0};
    struct stat st;
    bool ok = *path == '/' && slash && slash[1] && strcmp(slash, "/..") &&
              (lstat(path, &st) || !S_ISLNK(st.st_mode));

    if (ok) {
        *slash = 0;
        text_printf(&t, "%s/%s", realpath(*copy ? copy : "/", real) ? real : copy, slash + 1);
        ok = file_allowed(use, t.s);
    }
    text_free(&t);
    free(copy);
    return ok;
}

const char *file_places(enum file_use use, char *buf, size_t n)
{
    size_t at = 0;

    *buf = 0;
    for (unsigned i = 0; i < n_dirs[use] && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "%s%s", i ? ", " : "", dir[use][i]);
    return buf;
}

// --- reading ---

// Refuses pipes and devices, which could block the reader or never end.
int file_open(const char *path, uint64_t max, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), e = fd < 0 ? errno : 0;

    if (!e && fstat(fd, st))
        e = errno;
    else if (!e && !S_ISREG(st->st_mode))
        e = S_ISDIR(st->st_mode) ? EISDIR : EINVAL;
    else if (!e && (uint64_t)st->st_size > max)
        e = EFBIG;
    if (!e)
        return fd;
    if (fd >= 0)
        close(fd);
    return -e;
}

// Checks the real path of the open file, so that no link leads out of the directories.
int file_open_named(const char *path, uint64_t max, struct stat *st)
{
    char link[32], real[PATH_MAX];
    int fd = file_open(path, max, st);

    if (fd < 0)
        return file_allowed(FILE_READ, path) ? fd : -EXDEV;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, real, sizeof real - 1);
    real[n < 0 ? 0 : n] = 0;
    if (n > 0 && file_allowed(FILE_READ, real))
        return fd;
    close(fd);
    return -EXDEV;
}

void file_why(int e, char *why, size_t n)
{
    char places[512];

    if (e == -EXDEV)
        snprintf(why, n,
                 "files can be read only from %s: move the file there, or start kamueed with "
                 "--file-dir DIR",
                 file_places(FILE_READ, places, sizeof places));
    else if (e == -EACCES)
        snprintf(why, n, "cannot be read by uid %u, as which kamueed runs (chown, chmod)",
                 (unsigned)geteuid());
    else
        snprintf(why, n, "cannot be read: %s", e == -EINVAL ? "not a regular file" : strerror(-e));
}

int file_read(const char *path, struct text *t)
{
    char buf[65536];
    struct stat st;
    int fd = file_open(path, FILE_MAX, &st);
    size_t all = 0;
    ssize_t n;

    if (fd < 0)
        return fd;
    while ((n = read(fd, buf, sizeof buf)) > 0 &&
           (all += (size_t)n) <= FILE_MAX) // it may have grown
        text_append(t, buf, (size_t)n);
    int r = n < 0 ? -errno : n ? -EFBIG : 0;
    close(fd);
    return r;
}

// --- writing ---

int file_write(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;

    while (n) {
        ssize_t w = write(fd, p, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -errno;
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

// The default of 0640 protects the configuration: it may name devices and hold no secrets, but
// other configurations in /etc are not public either. A replaced file becomes ours unless we are
// root.
static void keep_mode(int fd, const char *path)
{
    struct stat s;

    if (stat(path, &s))
        return;
    if (fchmod(fd, s.st_mode & 07777) || (!geteuid() && fchown(fd, s.st_uid, s.st_gid)))
        log_warning("file: mode or owner not kept: file=%s error=\"%s\"", path, strerror(errno));
}

static char *new_name(const char *path)
{
    struct text t = {0};

    text_printf(&t, "%s.new", path);
    return t.s;
}

int file_prepare(const char *path, const struct text *t)
{
    char *tmp = new_name(path);
    // O_NONBLOCK: does not wait for the reader of a pipe.
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
    int r = fd < 0 ? -errno : 0;

    if (!r) {
        keep_mode(fd, path);
        r = file_write(fd, t->s, t->n);
        if (!r && fsync(fd))
            r = -errno;
        if (close(fd) && !r)
            r = -errno;
        if (r)
            unlink(tmp);
    }
    free(tmp);
    return r;
}

void file_sync_directory(const char *path)
{
    char *above = strdup(path), *slash = above ? strrchr(above, '/') : NULL;

    if (slash)
        slash[slash == above] = 0;
    int fd = above ? open(slash ? above : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(above);
}

int file_keep(const char *path)
{
    char *tmp = new_name(path);
    int r = rename(tmp, path) ? -errno : 0;

    if (r)
        unlink(tmp);
    else
        file_sync_directory(path);
    free(tmp);
    return r;
}

void file_drop(const char *path)
{
    char *tmp = new_name(path);

    unlink(tmp);
    free(tmp);
}
