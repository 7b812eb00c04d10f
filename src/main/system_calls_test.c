// SPDX-License-Identifier: BSD-3-Clause
// system_calls_test.c - which calls the filter refuses and allows, each in a child process under
// the filter; its exit status is 0 if the call did as expected
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "core/starter.h"
#include "main/modules.h"
#include "tests/unit.h"

static char said[4096]; // the child's stderr

static bool refused(long r)
{
    return r == -1 && errno == EPERM;
}

// --- refused -------------------------------------------------------------------------------------

static bool run_program(void)
{
    char *const argv[] = {"true", NULL};

    return refused(execv("/bin/true", argv));
}

// libc does this with all signals blocked.
static bool fork_process(void)
{
    pid_t p = fork();

    if (!p)
        _exit(0);
    return refused(p);
}

static bool spawn_process(void)
{
    char *const argv[] = {"true", NULL};
    pid_t p;

    return posix_spawn(&p, "/bin/true", NULL, NULL, argv, NULL) == EPERM;
}

static bool look_into_parent(void)
{
    return refused(ptrace(PTRACE_ATTACH, getppid(), 0, 0)) &&
           refused(syscall(SYS_process_vm_readv, getppid(), 0, 0, 0, 0, 0)) &&
           refused(kill(getppid(), 0));
}

static bool become_other_user(void)
{
    return refused(syscall(SYS_setresuid, 1, 1, 1)) && refused(syscall(SYS_setgroups, 0, NULL)) &&
           refused(syscall(SYS_capset, 0, 0));
}

static bool make_other_namespaces(void)
{
    return refused(unshare(CLONE_NEWUSER)) && refused(unshare(CLONE_NEWNS)) &&
           refused(mount("none", "/tmp", "tmpfs", 0, "")) && refused(chroot("/tmp"));
}

static bool other_sockets(void)
{
    return refused(socket(AF_VSOCK, SOCK_STREAM, 0)) && refused(socket(AF_ALG, SOCK_SEQPACKET, 0));
}

static bool executable_memory(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p != MAP_FAILED && refused(mprotect(p, 4096, PROT_WRITE | PROT_EXEC)) &&
           mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
               MAP_FAILED &&
           errno == EPERM;
}

static bool the_kernel_itself(void)
{
    return refused(syscall(SYS_init_module, 0, 0, "")) &&
           refused(syscall(SYS_reboot, 0, 0, 0, 0)) && refused(syscall(SYS_keyctl, 0, 0)) &&
           refused(syscall(SYS_io_uring_setup, 1, 0)) &&
           refused(syscall(SYS_perf_event_open, 0, 0, 0, 0, 0)) &&
           refused(syscall(SYS_userfaultfd, 0));
}

// --- allowed -------------------------------------------------------------------------------------

static void *set_true(void *arg)
{
    return *(bool *)arg = refused(unshare(CLONE_NEWUSER)), NULL;
}

// A thread that starts later is also under the filter.
static bool a_thread(void)
{
    bool done = false;
    pthread_t t;

    return !pthread_create(&t, NULL, set_true, &done) && !pthread_join(t, NULL) && done;
}

static bool files_and_sockets(void)
{
    int s = socket(AF_INET, SOCK_DGRAM, 0), f = open("/dev/null", O_RDWR);

    return s >= 0 && f >= 0 && write(f, "x", 1) == 1 && !close(s) && !close(f) &&
           kill(getpid(), 0) == 0 && malloc(1 << 22) != NULL;
}

// The starter's programs are not under our filter.
static bool a_program_by_the_starter(void)
{
    pid_t p, sleeping;
    int status = 1;

    return !starter_run("/bin/true", "x", -1, &p) && waitpid(p, &status, 0) == p && !status &&
           !starter_run("/bin/sleep", "9", -1, &sleeping) && !kill(-sleeping, SIGTERM) &&
           waitpid(sleeping, &status, 0) == sleeping && WIFSIGNALED(status);
}

// --- the child -----------------------------------------------------------------------------------

static int in_child(bool (*check)(void), bool names_helper)
{
    char err[300] = "";
    int to[2], status;

    assert_int_equal(pipe(to), 0);
    pid_t p = fork();
    if (!p) {
        dup2(to[1], STDERR_FILENO);
        bug_on(starter_begin());
        if (system_calls_restrict(names_helper, err, sizeof err)) {
            fprintf(stderr, "%s\n", err);
            _exit(99);
        }
        _exit(check() ? 0 : 1);
    }
    close(to[1]);
    size_t n = 0;
    for (ssize_t got = 1; n < sizeof said - 1 && got > 0; n += got > 0 ? (size_t)got : 0)
        got = read(to[0], said + n, sizeof said - 1 - n);
    said[n] = 0;
    close(to[0]);
    assert_int_equal(waitpid(p, &status, 0), p);
    if (status)
        print_error("the child ended with status %x and said: %s\n", status, said);
    return status;
}

unit_test(test_refused)
{
    bool (*const checks[])(void) = {run_program,       look_into_parent,     become_other_user,
                                    other_sockets,     executable_memory,    the_kernel_itself,
                                    make_other_namespaces};

    for (unsigned i = 0; i < sizeof checks / sizeof *checks; i++) {
        assert_int_equal(in_child(checks[i], true), 0);
        assert_non_null(strstr(said, "refused by kamueed's own filter: call="));
    }
}

unit_test(test_a_process_is_refused)
{
    assert_int_equal(in_child(fork_process, true), 0);
    assert_int_equal(in_child(spawn_process, true), 0);
}

unit_test(test_the_call_is_named)
{
    assert_int_equal(in_child(run_program, true), 0);
    assert_non_null(strstr(said, "call=execve\n"));
}

unit_test(test_allowed)
{
    assert_int_equal(in_child(files_and_sockets, true), 0);
    assert_string_equal(said, "");
    assert_int_equal(in_child(a_program_by_the_starter, true), 0);
    assert_string_equal(said, "");
    assert_int_equal(in_child(a_thread, true), 0);
    assert_non_null(strstr(said, "call=unshare\n"));
}

unit_test(test_abort_ends_it)
{
    char err[300];
    int status;
    pid_t p = fork();

    if (!p) {
        if (!system_calls_restrict(true, err, sizeof err))
            abort();
        _exit(98);
    }
    assert_int_equal(waitpid(p, &status, 0), p);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0; // not in force there (system_calls.c)
#endif
    return unit_tests_run(NULL, NULL);
}
