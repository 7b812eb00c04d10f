// SPDX-License-Identifier: BSD-3-Clause
// compiler_confine.c - see compiler_priv.h: confines a compiler's process before it runs
//
// Namespaces (no network, no other process) and Landlock (only system files and its own directory)
// are used if the kernel has them. User, limits, no_new_privs and the system call filter are
// mandatory: without them nothing runs.
#include "compiler/compiler_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/compiler.h"

#define NOBODY 65534          // user and group, where only the first 65,536 exist
#define OWN_USERS 0x70000000u // first user id for runs, one per run; used by nobody else

#define C(name) SCMP_SYS(name)
static const int allowed[] = {
    // files
    C(access), C(chmod), C(close), C(dup), C(dup2), C(dup3), C(faccessat), C(faccessat2),
    C(fadvise64), C(fallocate), C(fchmod), C(fchmodat), C(fcntl), C(flock), C(fstat), C(fstatfs),
    C(fsync), C(ftruncate), C(getcwd), C(getdents64), C(ioctl), C(link), C(lseek), C(lstat),
    C(mkdir), C(mkdirat), C(newfstatat), C(open), C(openat), C(pipe), C(pipe2), C(poll), C(ppoll),
    C(pread64), C(pwrite64), C(read), C(readlink), C(readlinkat), C(readv), C(rename), C(renameat),
    C(renameat2), C(rmdir), C(stat), C(statfs), C(statx), C(umask), C(unlink), C(unlinkat),
    C(write), C(writev),
    // memory
    C(brk), C(madvise), C(mmap), C(mprotect), C(mremap), C(munmap),
    // processes and threads
    C(arch_prctl), C(execve), C(exit), C(exit_group), C(fork), C(futex), C(getegid),
    C(geteuid), C(getgid), C(getpid), C(getppid), C(getrandom), C(getrlimit), C(getrusage),
    C(gettid), C(getuid), C(membarrier), C(prlimit64), C(rseq), C(rt_sigaction), C(rt_sigprocmask),
    C(rt_sigreturn), C(sched_getaffinity), C(sched_yield), C(set_robust_list), C(set_tid_address),
    C(setrlimit), C(sigaltstack), C(sysinfo), C(tgkill), C(uname), C(vfork), C(wait4), C(waitid),
    // time
    C(clock_gettime), C(clock_nanosleep), C(gettimeofday), C(nanosleep), C(restart_syscall),
    C(time), C(times),
};
#undef C

static uid_t user = NOBODY; // the child's user if we are root

int compiler_own(const char *path)
{
    if (geteuid()) {
        user = geteuid();
        return 0;
    }
    user = OWN_USERS + (uid_t)getpid();
    if (!chown(path, user, user))
        return 0;
    user = NOBODY;
    return chown(path, user, user) ? -errno : 0;
}

uid_t compiler_user(void)
{
    return user;
}

static int limit(int what, rlim_t most)
{
    const struct rlimit r = {most, most};

    return setrlimit(what, &r) ? -errno : 0;
}

static int set_limits(void)
{
    int r = limit(RLIMIT_CPU, COMPILER_CPU_S);

    r = r ? r : limit(RLIMIT_FSIZE, 4 * COMPILER_OUTPUT_MAX);
    r = r ? r : limit(RLIMIT_NOFILE, 64);
    return r ? r : limit(RLIMIT_CORE, 0);
}

#define NAMESPACES                                                                                 \
    (CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER |  \
     CLONE_NEWUTS)

// All other calls return ENOSYS, as from a kernel without them. Threads and processes are allowed,
// but not a new namespace, in which the child would be root.
static int load_filter(void)
{
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int r = f ? 0 : -ENOMEM;

    for (size_t i = 0; !r && i < sizeof allowed / sizeof *allowed; i++) {
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, allowed[i], 0);
        r = r == -EDOM ? 0 : r; // this architecture lacks the call
    }
    r = r ? r :
            seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                             SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, NAMESPACES, 0));
    r = r ? r : seccomp_load(f);
    if (f)
        seccomp_release(f);
    return r;
}

static int allow_below(int ruleset, const char *path, uint64_t access)
{
    struct landlock_path_beneath_attr at = {.allowed_access = access};

    at.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (at.parent_fd < 0)
        return errno == ENOENT ? 0 : -errno;
    long r = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &at, 0);
    close(at.parent_fd);
    return r ? -errno : 0;
}

// The child may use only system programs and libraries and its own directory. Without Landlock,
// only the file modes protect files.
static int close_files(const char *path)
{
    const uint64_t look =
        LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    const struct landlock_ruleset_attr all = {.handled_access_fs =
                                                  (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
    static const char *const readable[] = {"/usr", "/bin", "/lib", "/lib64"};
    long set = syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    int r = 0;

    if (set < 0)
        return 0;
    for (size_t i = 0; !r && i < sizeof readable / sizeof *readable; i++)
        r = allow_below((int)set, readable[i], look);
    r = r ? r : allow_below((int)set, "/etc/ld.so.cache", LANDLOCK_ACCESS_FS_READ_FILE);
    r = r ? r
          : allow_below((int)set, "/dev/null",
                        LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
    r = r ? r : allow_below((int)set, path, all.handled_access_fs);
    if (!r && syscall(SYS_landlock_restrict_self, (int)set, 0))
        r = -errno;
    close((int)set);
    return r;
}

static int give_up_user(void)
{
    if (geteuid())
        return 0;
    int r = limit(RLIMIT_NPROC, 256); // not for other users: it counts all processes of a user
    if (r)
        return r;
    if (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user))
        return -errno;
    return 0;
}

static int confine_child(const char *path)
{
    int r = set_limits();

    r = r ? r : give_up_user();
    r = r ? r : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
    r = r ? r : prctl(PR_SET_PDEATHSIG, SIGKILL) ? -errno : 0;
    r = r ? r : close_files(path);
    r = r ? r : chdir(path) ? -errno : 0;
    r = r ? r : load_filter();
    // Last, because the shadow memory of a sanitizer in this process is larger.
    return r ? r : limit(RLIMIT_AS, COMPILER_MEMORY);
}

static void fail(const char *what, int e)
{
    dprintf(2, "%s: %s", what, strerror(e));
    _exit(COMPILER_UNCONFINED);
}

// Waits for the first process of the namespace; when it ends, the kernel kills the others in it.
static void wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void enter_namespaces(void)
{
    const int spaces = CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC;

    if (unshare(spaces) && unshare(CLONE_NEWUSER | spaces))
        return; // in a container without namespaces: the filter allows no socket either
    pid_t pid = fork();
    if (pid < 0)
        fail("fork", errno);
    if (pid)
        wait_for(pid);
}

void compiler_become(const char *path, const char *const *argv)
{
    char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=.",
                                 "SOURCE_DATE_EPOCH=0", NULL};

    int none = open("/dev/null", O_RDONLY);

    setsid(); // no terminal to send input to
    if (none < 0 || dup2(none, 0) < 0 || close_range(3, ~0u, 0))
        fail("/dev/null", errno);
    enter_namespaces();
    int r = confine_child(path);
    if (r)
        fail("it cannot give up its rights", -r);
    execve(argv[0], (char *const *)argv, environment);
    fail(argv[0], errno);
    abort();
}
