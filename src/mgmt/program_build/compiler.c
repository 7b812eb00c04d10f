// SPDX-License-Identifier: BSD-3-Clause
// compiler.c - see compiler.h
#include "program_build/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "program_build/compiler_priv.h"

#define SAID_MAX 16384

static int write_all(int fd, const void *data, size_t size)
{
    const char *p = data;

    while (size) {
        ssize_t n = write(fd, p, size);
        if (n < 0)
            return -errno;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

static int put_input(int dir, const struct compiler_input *in)
{
    const char *slash = strchr(in->name, '/');
    char folder[16] = "";

    if (slash) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - in->name), in->name);
        if (mkdirat(dir, folder, 0755) && errno != EEXIST)
            return -errno;
    }
    int fd = openat(dir, in->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    int r = fd < 0 ? -errno : write_all(fd, in->data, in->size);
    if (fd >= 0)
        close(fd);
    return r;
}

static int put_inputs(const char *path, const struct compiler_run *run)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = dir < 0 ? -errno : 0;

    for (size_t i = 0; !r && i < run->n_inputs; i++)
        r = put_input(dir, &run->input[i]);
    if (dir >= 0)
        close(dir);
    return r;
}

static int take_output(const char *path, const struct compiler_run *run)
{
    char file[128], buf[16384];
    struct stat st;

    snprintf(file, sizeof file, "%s/%s", path, run->output);
    int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int r = fd < 0 || fstat(fd, &st) ? -errno : 0;
    if (!r && (!S_ISREG(st.st_mode) || st.st_size > COMPILER_OUTPUT_MAX))
        r = -EFBIG;
    if (!r && (st.st_uid != compiler_user() || st.st_nlink != 1))
        r = -EPERM; // a hard link to another user's file
    for (ssize_t n = 1; !r && n && run->result->n <= COMPILER_OUTPUT_MAX;) {
        n = read(fd, buf, sizeof buf);
        r = n < 0 ? -errno : 0;
        text_append(run->result, buf, n > 0 ? (size_t)n : 0);
    }
    if (fd >= 0)
        close(fd);
    return r;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    remove(path);
    return 0;
}

static void remove_directory(const char *path)
{
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// Collects the child's output until it ends or its time is up, then kills its process group.
static bool listen_until_end(pid_t pid, int from, struct text *said, int *status)
{
    long end = now_ms() + COMPILER_WALL_S * 1000;
    struct pollfd p = {.fd = from, .events = POLLIN};
    char buf[4096];
    ssize_t n = 1;

    while (n > 0) {
        long left = end - now_ms();
        if (left <= 0 || poll(&p, 1, (int)left) <= 0)
            break;
        n = read(from, buf, sizeof buf);
        if (n > 0 && said->n < SAID_MAX)
            text_append(said, buf, (size_t)n);
    }
    bool in_time = n == 0;
    if (!in_time)
        kill(-pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    kill(-pid, SIGKILL);
    return in_time;
}

static int explain(const struct compiler_run *run, bool in_time, int status, char *why, size_t n)
{
    const char *name = strrchr(run->argv[0], '/') + 1;

    if (!in_time || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) ||
        (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGXCPU))
        snprintf(why, n, "%s needs more than %d s for it", name, COMPILER_CPU_S);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == COMPILER_UNCONFINED)
        snprintf(why, n, "%s was not started: %s", name, text_str(run->said));
    else if (WIFEXITED(status) && WEXITSTATUS(status))
        snprintf(why, n, "%s refuses it", name);
    else if (WIFSIGNALED(status))
        snprintf(why, n, "%s ended by signal %d", name, WTERMSIG(status));
    else
        return 0;
    return -EINVAL;
}

static int start_child(const struct compiler_run *run, const char *path, char *why, size_t n)
{
    int both[2], status = 0;

    if (pipe2(both, O_CLOEXEC))
        return -errno;
    pid_t pid = fork();
    if (!pid) {
        dup2(both[1], 1);
        dup2(both[1], 2);
        compiler_become(path, run->argv);
    }
    close(both[1]);
    int r = pid < 0 ? -errno : 0;
    if (!r) {
        bool in_time = listen_until_end(pid, both[0], run->said, &status);
        r = explain(run, in_time, status, why, n);
    }
    close(both[0]);
    return r;
}

int compiler_run(const struct compiler_run *run, char *why, size_t n)
{
    char path[] = "/tmp/kamuee-program-XXXXXX";

    *why = 0;
    if (!mkdtemp(path)) {
        snprintf(why, n, "no directory in /tmp: %s", strerror(errno));
        return -errno;
    }
    int r = put_inputs(path, run);
    r = r ? r : compiler_own(path);
    r = r ? r : start_child(run, path, why, n);
    if (!r && run->output)
        r = take_output(path, run);
    if (r && !*why)
        snprintf(why, n, "%s: %s", run->argv[0], strerror(-r));
    remove_directory(path);
    return r;
}
