// SPDX-License-Identifier: BSD-3-Clause
// file.c - whole files: read, and written so that a crash leaves the old one or the new one
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

int file_read(const char *path, struct text *t)
{
    char buf[65536];
    FILE *f = fopen(path, "re");
    size_t n, all = 0;
    int r = 0;

    if (!f)
        return -errno;
    while (all <= FILE_MAX && (n = fread(buf, 1, sizeof buf, f))) {
        text_append(t, buf, n);
        all += n;
    }
    if (ferror(f))
        r = -errno;
    else if (all > FILE_MAX)
        r = -EFBIG;
    fclose(f);
    return r;
}

static int write_all(int fd, const char *p, size_t n)
{
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

// 0640: a configuration may name devices, not secrets, but its neighbours in /etc are not public either.
static void keep_mode(int fd, const char *path)
{
    struct stat s;

    if (stat(path, &s))
        return;
    if (fchmod(fd, s.st_mode & 07777) || fchown(fd, s.st_uid, s.st_gid))
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
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    int r = fd < 0 ? -errno : 0;

    if (!r) {
        keep_mode(fd, path);
        r = write_all(fd, t->s, t->n);
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
    char *dir = strdup(path), *slash = dir ? strrchr(dir, '/') : NULL;

    if (slash)
        slash[slash == dir] = 0;
    int fd = dir ? open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
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
