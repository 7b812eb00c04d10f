// SPDX-License-Identifier: BSD-3-Clause
// instance.c - see modules.h
//
// The lock is flock() on RUN_DIR/kamueed.lock, which the kernel releases however its owner ends, so
// the file of a killed kamueed is no obstacle. A killed process takes a moment to end, because its
// sockets have much to free; a new one waits while the process with the pid in the file is ending.
// A process that still holds the lock then is left over from an upgrade and is killed. Only the
// owner may read the file, because a reader could lock it.
#include "main/modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/log.h"
#include "core/child.h"
#include "core/process.h"

#define LOCK_WAIT_MS 200
#define LOCK_WAIT_ENDING_MS 15000
#define LOCK_STEP_MS 20
#define LEFTOVER_MS 1000 // a new kamueed that has just taken over writes its pid meanwhile

static int lock_fd = -1;
static char lock_path[PATH_MAX];

static int make_run_dir(const char *dir, char *err, size_t err_size)
{
    struct stat st;

    if (mkdir(dir, 0755) && errno != EEXIST) {
        int e = errno;
        snprintf(err, err_size, "run directory %s: %s: create it, or use another with --run-dir",
                 dir, strerror(e));
        return -e;
    }
    if (stat(dir, &st) || !S_ISDIR(st.st_mode)) {
        snprintf(err, err_size, "run directory %s: not a directory: use another with --run-dir",
                 dir);
        return -ENOTDIR;
    }
    return 0;
}

static int read_lock_owner(int fd)
{
    char text[24] = "";

    return pread(fd, text, sizeof text - 1, 0) > 0 ? atoi(text) : 0;
}

// In another pid namespace, the owner may be alive under another pid.
static bool is_in_our_pid_namespace(pid_t pid)
{
    struct stat own, its;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
    return !stat("/proc/self/ns/pid", &own) && !stat(path, &its) && own.st_dev == its.st_dev &&
           own.st_ino == its.st_ino;
}

static bool has_open(pid_t pid, const struct stat *file)
{
    char path[64];
    struct dirent *e;
    struct stat st;
    bool found = false;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    while (d && !found && (e = readdir(d)))
        found = !fstatat(dirfd(d), e->d_name, &st, 0) && st.st_dev == file->st_dev &&
                st.st_ino == file->st_ino;
    if (d)
        closedir(d);
    return found;
}

static void end_leftover(pid_t pid)
{
    struct child left = {.name = "what an upgrade left", .abruptly = true};
    char name[16];

    process_name(pid, name);
    log_error("main: a process that an upgrade left behind has the lock and is ended: pid=%d "
              "name=%s", (int)pid, LOG_VALUE(name));
    child_take(&left, pid, false, CHILD_NO_LIMIT);
    child_end(&left);
    child_forget(&left);
}

// The owner died during an upgrade, and the new kamueed, which inherited the lock's file, does not
// notice. No other process has this file open.
static void end_leftovers(int fd)
{
    struct dirent *e;
    struct stat file;
    DIR *d = fstat(fd, &file) ? NULL : opendir("/proc");

    while (d && (e = readdir(d))) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid > 1 && pid != getpid() && has_open(pid, &file) && is_in_our_pid_namespace(pid))
            end_leftover(pid);
    }
    if (d)
        closedir(d);
}

static bool lock_take(int fd)
{
    bool looked = false;

    for (unsigned ms = 0; flock(fd, LOCK_EX | LOCK_NB); ms += LOCK_STEP_MS) {
        int e = errno, owner = read_lock_owner(fd);
        bool ending = process_is_gone(owner);
        if (e != EWOULDBLOCK || ms >= (ending ? LOCK_WAIT_ENDING_MS : LOCK_WAIT_MS))
            return false;
        if (owner && ending && ms >= LEFTOVER_MS && !looked) {
            end_leftovers(fd);
            looked = true;
        }
        usleep(LOCK_STEP_MS * 1000);
    }
    return true;
}

int instance_lock(const char *run_dir, char *err, size_t err_size)
{
    int r = make_run_dir(run_dir, err, err_size);

    if (r)
        return r;
    snprintf(lock_path, sizeof lock_path, "%s/kamueed.lock", run_dir);
    int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, 0600)) { // it may be another version's
        r = -errno;
        snprintf(err, err_size, "%s: %s: check that this user may write there (--run-dir)",
                 lock_path, strerror(-r));
        if (fd >= 0)
            close(fd);
        return r;
    }
    if (!lock_take(fd)) {
        snprintf(err, err_size,
                 "another kamueed is running here (pid %d): stop it, or start this one with its "
                 "own --run-dir (now %s)",
                 read_lock_owner(fd), run_dir);
        close(fd);
        return -EBUSY;
    }
    lock_fd = fd;
    instance_write_pid();
    return 0;
}

void instance_write_pid(void)
{
    char pid[24];
    int n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());

    if (ftruncate(lock_fd, 0) || pwrite(lock_fd, pid, (size_t)n, 0) != n)
        log_warning("main: lock file: path=%s error=\"%m\"", lock_path);
}

// The lock belongs to the open file: every process with a descriptor of it holds the lock.
int instance_lock_fd(void)
{
    return lock_fd;
}

void instance_take_lock(const char *run_dir, int fd)
{
    snprintf(lock_path, sizeof lock_path, "%s/kamueed.lock", run_dir);
    lock_fd = fd;
}

void instance_unlock(void)
{
    if (lock_fd < 0)
        return;
    unlink(lock_path);
    close(lock_fd);
    lock_fd = -1;
}

// Starting takes about 60 descriptors; each port, TAP, virtual router and client takes a few.
#define DESCRIPTORS_MIN 256

static int check_descriptors(char *err, size_t err_size)
{
    struct rlimit n;

    if (getrlimit(RLIMIT_NOFILE, &n))
        return 0;
    n.rlim_cur = n.rlim_max;
    setrlimit(RLIMIT_NOFILE, &n);
    if (n.rlim_max >= DESCRIPTORS_MIN)
        return 0;
    snprintf(err, err_size,
             "the limit of open files is %lu (RLIMIT_NOFILE), but at least %u are needed: run "
             "'ulimit -Hn 65536' before the "
             "start, or set LimitNOFILE=65536 in the unit",
             (unsigned long)n.rlim_max, DESCRIPTORS_MIN);
    return -EMFILE;
}

int instance_check_machine(char *err, size_t err_size)
{
    if (capability_check(CAPABILITY_NET_ADMIN, "making interfaces", err, err_size) ||
        capability_check(CAPABILITY_NET_RAW, "sending packets", err, err_size))
        return -EPERM;
    if (check_descriptors(err, err_size))
        return -EMFILE;
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        int e = errno;
        snprintf(err, err_size, "/dev/net/tun: %s: %s", strerror(e),
                 e == ENOENT || e == ENODEV ? "load the kernel module (modprobe tun), or pass the "
                                              "device into the container"
                                            : "allow this user, or the container, to use it");
        return -e;
    }
    close(fd);
    return 0;
}
