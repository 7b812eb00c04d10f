// SPDX-License-Identifier: BSD-3-Clause
// system_calls.c - see modules.h
//
// A seccomp(2) allow-list, in force before the first client is served (docs/adr/0018). An attacker
// in control of kamueed can start only root's programs (core/starter.h), and cannot read other
// processes, change the user, load modules or create namespaces except network namespaces. Other
// calls fail with EPERM, and a log line names them, except attempts to start a process. So a
// changed library costs a feature, not the router.
//
// Some calls are allowed for a feature, only if kamueed has the capability that the feature needs.
// The report of a refused call runs inside the call, so it only copies prepared text, writes it
// with write() and puts -EPERM into the register of the result.
//
// Checking the arguments of a call costs about 100 ns. Calls that forwarders and tap_manager make
// with each burst are not checked: the kernel allows them from a bitmap.
#include "main/modules.h"

#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/capability.h"

#define CALLS_MAX 512
#define CALL_NAME 24
#define CLONE_NEW_ANY                                                                              \
    (CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER |  \
     CLONE_NEWUTS)

#define C(name) SCMP_SYS(name)
static const int allowed[] = {
    // files
    C(access), C(chdir), C(chmod), C(chown), C(close), C(close_range), C(copy_file_range),
    C(creat), C(dup), C(dup2), C(dup3), C(faccessat), C(faccessat2), C(fadvise64), C(fallocate),
    C(fchdir), C(fchmod), C(fchmodat), C(fchown), C(fchownat), C(fcntl), C(fdatasync),
    C(fgetxattr), C(flock), C(fsetxattr), C(fstat), C(fstatfs), C(fsync), C(ftruncate),
    C(getcwd), C(getdents64), C(getxattr), C(ioctl), C(lchown), C(lgetxattr), C(lseek), C(lstat),
    C(mkdir), C(mkdirat), C(newfstatat), C(open), C(openat), C(openat2), C(pipe), C(pipe2),
    C(pread64), C(preadv), C(preadv2), C(pwrite64), C(pwritev), C(pwritev2), C(read), C(readahead),
    C(readlink), C(readlinkat), C(readv), C(rename), C(renameat), C(renameat2), C(rmdir),
    C(sendfile), C(setxattr), C(splice), C(stat), C(statfs), C(statx), C(symlink), C(symlinkat),
    C(truncate), C(umask), C(unlink), C(unlinkat), C(utimensat), C(write), C(writev),
    // sockets
    C(accept), C(accept4), C(bind), C(connect), C(getpeername), C(getsockname), C(getsockopt),
    C(listen), C(recvfrom), C(recvmmsg), C(recvmsg), C(sendmmsg), C(sendmsg), C(sendto),
    C(setsockopt), C(shutdown), C(socketpair),
    // waiting, time
    C(clock_getres), C(clock_gettime), C(clock_nanosleep), C(epoll_create), C(epoll_create1),
    C(epoll_ctl), C(epoll_pwait), C(epoll_pwait2), C(epoll_wait), C(eventfd2), C(getitimer),
    C(gettimeofday), C(inotify_add_watch), C(inotify_init1), C(inotify_rm_watch), C(nanosleep),
    C(pause), C(poll), C(ppoll), C(pselect6), C(select), C(setitimer), C(signalfd4), C(time),
    C(timer_create), C(timer_delete), C(timer_settime), C(timerfd_create), C(timerfd_gettime),
    C(timerfd_settime),
    // threads, signals
    C(arch_prctl), C(exit), C(exit_group), C(futex), C(futex_waitv), C(get_robust_list),
    C(getcpu), C(membarrier), C(restart_syscall), C(rseq), C(rt_sigaction), C(rt_sigpending),
    C(rt_sigprocmask), C(rt_sigreturn), C(rt_sigsuspend), C(rt_sigtimedwait),
    C(sched_get_priority_max), C(sched_get_priority_min), C(sched_getaffinity), C(sched_getparam),
    C(sched_getscheduler), C(sched_setaffinity), C(sched_yield), C(set_robust_list),
    C(set_tid_address), C(sigaltstack),
    // memory
    C(brk), C(get_mempolicy), C(madvise), C(mbind), C(memfd_create), C(mincore), C(mlock),
    C(mlock2), C(move_pages), C(mremap), C(msync), C(munlock), C(munmap), C(set_mempolicy),
    // identity
    C(capget), C(getegid), C(geteuid), C(getgid), C(getgroups), C(getpgrp), C(getpid), C(getppid),
    C(getpriority), C(getrandom), C(getresgid), C(getresuid), C(getrlimit), C(getrusage),
    C(getsid), C(gettid), C(getuid), C(prlimit64), C(setrlimit), C(sysinfo), C(times), C(uname),
    C(wait4),
};
#undef C

// --- reporting a refused call --------------------------------------------------------------------

static const char words[] = "system_calls: refused by kamueed's own filter: call=";
static char name_of[CALLS_MAX][CALL_NAME];

static void set_answer(ucontext_t *c, long answer)
{
#if defined(__x86_64__)
    c->uc_mcontext.gregs[REG_RAX] = answer;
#elif defined(__aarch64__)
    c->uc_mcontext.regs[0] = (unsigned long long)answer;
#endif
}

static const char *number_text(unsigned number, char text[12])
{
    char *at = text + 11;

    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10));
    return at;
}

// Runs in the calling thread; the system call returns -EPERM.
static void on_refused(int sig, siginfo_t *s, void *context)
{
    char line[sizeof words + CALL_NAME + 1], digits[12];
    unsigned number = (unsigned)s->si_syscall;
    const char *name =
        number < CALLS_MAX && name_of[number][0] ? name_of[number] : number_text(number, digits);
    size_t at = sizeof words - 1, n = strlen(name);
    int e = errno;

    memcpy(line, words, at);
    memcpy(line + at, name, n);
    line[at + n] = '\n';
    (void)!write(STDERR_FILENO, line, at + n + 1);
    set_answer(context, -EPERM);
    errno = e;
}

static int say_refused(void)
{
    struct sigaction a = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO | SA_RESTART};

    for (int i = 0; i < CALLS_MAX; i++) {
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);
        snprintf(name_of[i], sizeof name_of[i], "%s", name ? name : "");
        free(name);
    }
    return sigaction(SIGSYS, &a, NULL) ? -errno : 0;
}

// --- the list ------------------------------------------------------------------------------------

static int allow(scmp_filter_ctx f, int call)
{
    int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 0);

    return r == -EDOM ? 0 : r; // this architecture has no such call
}

// Allows `call` if argument `n`, masked, equals `value`.
static int allow_if(scmp_filter_ctx f, int call, unsigned n, uint64_t mask, uint64_t value)
{
    int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 1,
                             SCMP_CMP64(n, SCMP_CMP_MASKED_EQ, mask, value));

    return r == -EDOM ? 0 : r;
}

static int allow_each(scmp_filter_ctx f, int call, const int *value, unsigned n)
{
    int r = 0;

    for (unsigned i = 0; !r && i < n; i++)
        r = allow_if(f, call, 0, UINT32_MAX, (uint32_t)value[i]);
    return r;
}

// Allows threads, but no processes. glibc tries clone3 first, whose arguments no filter can see. It
// starts a process with all signals blocked (posix_spawn; fork since 2.41), so a trap would end
// kamueed there.
static int allow_threads(scmp_filter_ctx f)
{
    int r = allow_if(f, SCMP_SYS(clone), 0, CLONE_THREAD | CLONE_NEW_ANY, CLONE_THREAD);

    r = r ? r : seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                 SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    r = r ? r : seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    r = r ? r : allow_if(f, SCMP_SYS(tgkill), 0, UINT32_MAX, (uint32_t)getpid()); // abort()
    r = r ? r : allow_if(f, SCMP_SYS(kill), 0, UINT32_MAX, (uint32_t)getpid()); // `shutdown`
    r = r ? r : allow_if(f, SCMP_SYS(kill), 1, UINT32_MAX, SIGTERM); // core/child.c
    r = r ? r : allow_if(f, SCMP_SYS(kill), 1, UINT32_MAX, SIGCONT);
    return r ? r : allow_if(f, SCMP_SYS(kill), 1, UINT32_MAX, SIGKILL);
}

// No memory that is writable and executable at once. DPDK compiles the filter of a capture, and
// name services load libraries, so written memory may be made executable later.
static int allow_memory(scmp_filter_ctx f)
{
    static const uint64_t protections[] = {0, PROT_WRITE, PROT_EXEC};
    int r = 0;

    for (unsigned i = 0; !r && i < sizeof protections / sizeof *protections; i++) {
        r = allow_if(f, SCMP_SYS(mmap), 2, PROT_WRITE | PROT_EXEC, protections[i]);
        r = r ? r : allow_if(f, SCMP_SYS(mprotect), 2, PROT_WRITE | PROT_EXEC, protections[i]);
    }
    return r;
}

static int allow_sockets(scmp_filter_ctx f)
{
    static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_XDP};

    return allow_each(f, SCMP_SYS(socket), families, sizeof families / sizeof *families);
}

static int allow_prctl(scmp_filter_ctx f)
{
    static const int options[] = {PR_SET_NAME, PR_GET_NAME, PR_SET_TIMERSLACK, PR_GET_DUMPABLE,
                                  PR_CAPBSET_READ,
                                  0x53564d41 /* PR_SET_VMA: names memory */};

    return allow_each(f, SCMP_SYS(prctl), options, sizeof options / sizeof *options);
}

// For virtual routers in namespaces, and af_xdp.
static int allow_features(scmp_filter_ctx f, bool names_helper)
{
    bool admin = capability_is_held(CAPABILITY_SYS_ADMIN);
    int r = 0;

    if (admin) {
        r = allow_if(f, SCMP_SYS(setns), 1, UINT32_MAX, CLONE_NEWNET);
        r = r ? r : allow_if(f, SCMP_SYS(unshare), 0, UINT32_MAX, CLONE_NEWNET);
    }
    if (admin && !names_helper) {
        r = r ? r : allow(f, SCMP_SYS(mount));
        r = r ? r : allow(f, SCMP_SYS(umount2));
    }
    if (!r && (admin || capability_is_held(CAPABILITY_BPF)))
        r = allow(f, SCMP_SYS(bpf));
    return r;
}

static int fill(scmp_filter_ctx f, bool names_helper)
{
    int r = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);

    r = r ? r : seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2); // a tree, not a chain
    if (!r)
        seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1); // else Linux before 5.16 slows down all code
    for (unsigned i = 0; !r && i < sizeof allowed / sizeof *allowed; i++)
        r = allow(f, allowed[i]);
    r = r ? r : allow_threads(f);
    r = r ? r : allow_memory(f);
    r = r ? r : allow_sockets(f);
    r = r ? r : allow_prctl(f);
    return r ? r : allow_features(f, names_helper);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 // at the end it starts a process that inspects this one
#else
#define SANITIZED 0
#endif

int system_calls_restrict(bool names_helper, char *err, size_t err_size)
{
    if (SANITIZED)
        return 0;
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_TRAP);
    int r = f ? say_refused() : -ENOMEM;

    r = r ? r : fill(f, names_helper);
    r = r ? r : seccomp_load(f);
    if (f)
        seccomp_release(f);
    if (r)
        snprintf(err, err_size,
                 "the filter of system calls cannot be set: %s: the kernel needs "
                 "CONFIG_SECCOMP_FILTER, and a container must allow seccomp(2)",
                 strerror(-r));
    return r;
}
