// SPDX-License-Identifier: BSD-3-Clause
// compiler.c - one run of a compiler: a directory, a child, its output (compiler.h)
//
// compiler_confine.c takes the child's rights away before it executes the tool. The child's output
// goes to a file in memory, so no pipe can block. The result is read with distrust: it must be a
// regular file of bounded size that belongs to the child's user and has no second link. The
// directory is removed in any case.
#include "compiler/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/child.h"
#include "compiler/compiler_priv.h"

#define SAID_MAX 16384 // bytes of its output that are told

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

static void take_said(int fd, struct text *said)
{
    char buf[SAID_MAX];
    ssize_t n = pread(fd, buf, sizeof buf, 0);

    text_append(said, buf, n > 0 ? (size_t)n : 0);
}

static int explain(const struct compiler_run *run, const struct child *c, char *why, size_t n)
{
    const int status = c->status;

    if (child_was_stopped(c) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) ||
        (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGXCPU))
        snprintf(why, n, "%s needs more than %d s for it", c->name, COMPILER_CPU_S);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == COMPILER_UNCONFINED)
        snprintf(why, n, "%s was not started: %s", c->name, text_str(run->said));
    else if (WIFEXITED(status) && WEXITSTATUS(status))
        snprintf(why, n, "%s refuses it", c->name);
    else if (WIFSIGNALED(status))
        snprintf(why, n, "%s ended by signal %d", c->name, WTERMSIG(status));
    else
        return 0;
    return -EINVAL;
}

// Its output goes to a file: it waits for no reader, and the end of the process is the end.
static int start_child(const struct compiler_run *run, struct child *c, const char *path)
{
    int said = memfd_create("said", MFD_CLOEXEC);

    if (said < 0)
        return -errno;
    pid_t pid = fork();
    int r = pid < 0 ? -errno : 0;
    if (!pid) {
        dup2(said, 1);
        dup2(said, 2);
        compiler_become(path, run->argv);
    }
    if (!r)
        child_take(c, pid, true, run->limit_ms);
    if (!r && !child_wait(c, run->limit_ms) && !child_end(c))
        r = -ETIMEDOUT;
    if (!r) {
        kill(-pid, SIGKILL); // its own children, which it left running
        take_said(said, run->said);
    }
    close(said);
    return r;
}

int compiler_run(const struct compiler_run *run, char *why, size_t n)
{
    static struct child child;
    char path[] = "/tmp/kamuee-program-XXXXXX";

    *why = 0;
    if (child_runs(&child)) {
        snprintf(why, n, "%s of an earlier run does not end", child.name);
        return -EBUSY;
    }
    child.name = strrchr(run->argv[0], '/') + 1;
    if (!mkdtemp(path)) {
        snprintf(why, n, "no directory in /tmp: %s", strerror(errno));
        return -errno;
    }
    int r = put_inputs(path, run);
    r = r ? r : compiler_own(path);
    r = r ? r : start_child(run, &child, path);
    r = r ? r : explain(run, &child, why, n);
    if (!r && run->output)
        r = take_output(path, run);
    if (r && !*why)
        snprintf(why, n, "%s: %s", run->argv[0], strerror(-r));
    remove_directory(path);
    return r;
}
