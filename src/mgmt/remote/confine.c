// SPDX-License-Identifier: BSD-3-Clause
// confine.c - see confine.h
#include "remote/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/refused_call.h"

#define C(name) SCMP_SYS(name)
static const int allowed[] = {
    // what comes and goes
    C(close), C(pread64), C(read), C(readv), C(recvfrom), C(recvmsg), C(sendmsg), C(sendto),
    C(shutdown), C(write), C(writev),
    // waiting, time
    C(clock_gettime), C(epoll_ctl), C(epoll_pwait), C(epoll_pwait2), C(epoll_wait), C(gettimeofday),
    C(setitimer), C(time),
    // memory
    C(brk), C(futex), C(madvise), C(mremap), C(munmap),
    // itself
    C(exit), C(exit_group), C(getpid), C(getrandom), C(gettid), C(restart_syscall),
    C(rt_sigprocmask), C(rt_sigreturn), C(sched_yield),
};
#undef C

static int allow_call(scmp_filter_ctx f, int call)
{
    int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 0);

    return r == -EDOM ? 0 : r; // this machine has no such call
}

// Where argument `n`, under the mask, is `value`.
static int allow_where(scmp_filter_ctx f, int call, unsigned n, uint64_t mask, uint64_t value)
{
    return seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 1,
                            SCMP_CMP64(n, SCMP_CMP_MASKED_EQ, mask, value));
}

static int fill_filter(scmp_filter_ctx f)
{
    int r = 0;

    for (unsigned i = 0; !r && i < sizeof allowed / sizeof *allowed; i++)
        r = allow_call(f, allowed[i]);
    r = r ? r : allow_where(f, SCMP_SYS(mmap), 2, PROT_EXEC, 0);
    r = r ? r : allow_where(f, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
    r = r ? r : allow_where(f, SCMP_SYS(ioctl), 1, UINT32_MAX, FIONREAD);
    return r ? r : allow_where(f, SCMP_SYS(tgkill), 0, UINT32_MAX, (uint32_t)getpid()); // abort()
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 // it starts a process at the end, which looks into this one
#else
#define SANITIZED 0
#endif

static int load_filter(void)
{
    if (SANITIZED)
        return 0;
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_TRAP);
    int r = f ? refused_call_tell("kamuee-http", NULL, 0) : -ENOMEM;

    r = r ? r : fill_filter(f);
    r = r ? r : seccomp_load(f);
    if (f)
        seccomp_release(f);
    return r;
}

// The bounding set can be given up only by who has CAP_SETPCAP; for who has nothing and starts
// nothing it means nothing.
static int give_up_capabilities(void)
{
    struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {0};

    for (int c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
        prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &h, none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

int confine(char *err, size_t err_size)
{
    int r = give_up_capabilities();

    if (!SANITIZED)
        prctl(PR_SET_DUMPABLE, 0); // nobody takes its key by /proc or ptrace
    r = r ? r : load_filter();
    if (r)
        snprintf(err, err_size, "it cannot give up its rights: %s", strerror(-r));
    return r;
}
