// SPDX-License-Identifier: BSD-3-Clause
// bpf_check.c - kamuee-bpf-check: runs DPDK's checks of an operator's program in a confined process
//
// kamueed starts it (operator.h) with the object, a sealed file in memory, as descriptor 3. It
// gives up its user, files, network and most system calls, gets a few seconds, and exits with
// DPDK's error.
#include <errno.h>
#include <grp.h>
#include <linux/landlock.h>
#include <rte_errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "program_manager/operator.h"

#define OBJECT_FD 3
#define MEMORY (512ull << 20)
#define NOBODY 65534
#define OWN_USERS 0x78000000u // first user ID; one for each run, and used by nobody else

#define C(name) SCMP_SYS(name)
static const int allowed[] = {
    C(brk),     C(clock_gettime), C(close),    C(exit),      C(exit_group),     C(fcntl),
    C(fstat),   C(futex),         C(getpid),   C(getrandom), C(gettid),         C(lseek),
    C(madvise), C(mmap),          C(mprotect), C(mremap),    C(munmap),         C(newfstatat),
    C(open),    C(openat),        C(pread64),  C(read),      C(rt_sigprocmask), C(rt_sigreturn),
    C(tgkill),  C(write),         C(writev),
};
#undef C

static int limit(int what, rlim_t most, rlim_t hard)
{
    const struct rlimit r = {most, hard};

    return setrlimit(what, &r) ? -errno : 0;
}

// SIGXCPU, then SIGKILL a second later.
static int set_limits(void)
{
    const struct itimerval late = {.it_value.tv_sec = OPERATOR_CHECK_S + 1};
    int r = limit(RLIMIT_CPU, OPERATOR_CHECK_S, OPERATOR_CHECK_S + 1);

    if (!r && setitimer(ITIMER_REAL, &late, NULL))
        r = -errno;
    return r ? r : limit(RLIMIT_CORE, 0, 0);
}

static int give_up_user(void)
{
    uid_t user = OWN_USERS + (uid_t)getpid();

    if (geteuid())
        return 0;
    if (setgroups(0, NULL))
        return -errno;
    if (setresgid(user, user, user) && setresgid(NOBODY, NOBODY, NOBODY))
        return -errno;
    return setresuid(user, user, user) && setresuid(NOBODY, NOBODY, NOBODY) ? -errno : 0;
}

// Forbids opening further files. On a kernel without Landlock only file modes protect them.
static int close_files(void)
{
    const struct landlock_ruleset_attr all = {.handled_access_fs =
                                                  (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
    long set = syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    int r = set >= 0 && syscall(SYS_landlock_restrict_self, (int)set, 0) ? -errno : 0;

    if (set >= 0)
        close((int)set);
    return r;
}

static int load_filter(void)
{
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int r = f ? 0 : -ENOMEM;

    for (size_t i = 0; !r && i < sizeof allowed / sizeof *allowed; i++) {
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, allowed[i], 0);
        r = r == -EDOM ? 0 : r; // this architecture lacks the call
    }
    r = r ? r : seccomp_load(f);
    if (f)
        seccomp_release(f);
    return r;
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1 // the sanitizer's shadow memory exceeds the limit
#else
#define SANITIZED 0
#endif

static int confine_check(void)
{
    int r = set_limits();

    r = r ? r : give_up_user();
    r = r ? r : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
    r = r ? r : close_files();
    r = r || SANITIZED ? r : limit(RLIMIT_AS, MEMORY, MEMORY);
    return r || SANITIZED ? r : load_filter();
}

static bool has_prepare(void)
{
    size_t size = (size_t)lseek(OBJECT_FD, 0, SEEK_END), unused;
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, OBJECT_FD, 0);

    return map != MAP_FAILED && operator_section(map, size, OPERATOR_PREPARE, &unused);
}

int main(void)
{
    if (lseek(OBJECT_FD, 0, SEEK_END) <= 0) {
        fprintf(stderr, "kamuee-bpf-check: kamueed starts it\n");
        return EINVAL;
    }
    int r = confine_check();
    if (r) {
        fprintf(stderr, "kamuee-bpf-check: it cannot give up its rights: %s\n", strerror(-r));
        return OPERATOR_CHECK_UNCONFINED;
    }
    if (operator_load(OBJECT_FD, OPERATOR_PACKET) &&
        (!has_prepare() || operator_load(OBJECT_FD, OPERATOR_PREPARE)))
        return 0;
    return rte_errno > 0 && rte_errno < OPERATOR_CHECK_UNCONFINED ? rte_errno : EINVAL;
}
