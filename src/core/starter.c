// SPDX-License-Identifier: BSD-3-Clause
// starter.c - see starter.h
//
//     starter_run()  -- number, "PROGRAM\0WORD", descriptor -->  starter: clone(CLONE_PARENT),
//                    <--  number, pid or -errno  --                       execve
//
// The number distinguishes a late answer from the expected one: a program that takes longer than
// ANSWER_S to start, for example from a file server that does not answer, is killed when its answer
// arrives. The starter exits when kamueed's end of the socket closes, however kamueed ends.
#include "core/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"

#define REQUEST_MAX (PATH_MAX + 64)
#define GIVEN_FD 3   // in the program
#define SOCKET_FD 10 // minimum in the starter: a pipe must not be GIVEN_FD

#define ANSWER_S 5

struct answer {
    uint32_t number;
    int result; // pid or -errno
};

static int to_starter = -1;
static pid_t starter;
static char *const *own_argv; // of kamueed, for its successor
static struct __user_cap_data_struct held[2]; // kamueed's capabilities: for its successor alone

#define ARGS_MAX 64

// --- in the starter ------------------------------------------------------------------------------

int starter_check(const char *program)
{
    struct stat s, own = {0};

    if (access(program, X_OK) || stat(program, &s))
        return -errno;
    bool trusted = !s.st_uid || (!stat("/proc/self/exe", &own) && s.st_uid == own.st_uid);
    return *program == '/' && S_ISREG(s.st_mode) && trusted && !(s.st_mode & (S_IWGRP | S_IWOTH))
               ? 0
               : -EPERM;
}

// dup2() of a descriptor to itself would leave close-on-exec set.
static bool give_descriptor(int fd)
{
    return fd == GIVEN_FD ? !fcntl(fd, F_SETFD, 0) : dup2(fd, GIVEN_FD) >= 0;
}

static bool set_descriptors(int fd)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
           dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 && (fd < 0 || give_descriptor(fd));
}

static void set_capabilities(const struct __user_cap_data_struct data[2])
{
    struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};

    syscall(SYS_capset, &h, data);
}

// kamueed's capabilities, environment and arguments, and STARTER_SUCCESSOR as one more.
static void be_successor(char *argv[ARGS_MAX + 3], const char *program)
{
    unsigned n = 0;

    argv[n++] = (char *)program;
    for (unsigned i = 1; own_argv[0] && own_argv[i] && n <= ARGS_MAX; i++)
        if (strcmp(own_argv[i], STARTER_SUCCESSOR))
            argv[n++] = own_argv[i];
    argv[n++] = STARTER_SUCCESSOR;
    argv[n] = NULL;
    if (geteuid()) {
        set_capabilities(held);
        for (int c = 0; c <= CAP_LAST_CAP; c++)
            if (held[c / 32].permitted & 1u << c % 32)
                prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c, 0, 0);
    }
    unsetenv("WATCHDOG_PID"); // set for this kamueed
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

static void give_up_all(void)
{
    static const struct __user_cap_data_struct none[2];

    if (geteuid())
        set_capabilities(none);
}

static void be_program(const char *program, const char *word, int fd, int failed)
{
    char *argv[ARGS_MAX + 3] = {(char *)program, *word ? (char *)word : NULL, NULL};
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;

    if (own_argv && !strcmp(word, STARTER_SUCCESSOR))
        be_successor(argv, program);
    else
        give_up_all();
    setsid();
    for (int s = 1; s < NSIG; s++)
        sigaction(s, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (set_descriptors(fd))
        execv(program, argv);
    int e = errno;
    (void)!write(failed, &e, sizeof e);
    _exit(127);
}

static int move_up(int fd)
{
    int up = fcntl(fd, F_DUPFD_CLOEXEC, SOCKET_FD);

    close(fd);
    return up;
}

// The pipe closes when the program has started.
static int start_program(const char *program, const char *word, int fd)
{
    int said[2], e = 0, checked = starter_check(program);

    if (checked)
        return checked;
    if (pipe2(said, O_CLOEXEC))
        return -errno;
    said[1] = move_up(said[1]);
    int pid = (int)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
    int r = pid < 0 ? -errno : pid;
    if (!pid)
        be_program(program, word, fd, said[1]);
    close(said[1]);
    if (r > 0 && read(said[0], &e, sizeof e) == sizeof e)
        r = -e;
    close(said[0]);
    return r;
}

// Drops all effective capabilities. They stay permitted only for a successor.
static void give_up_capabilities(void)
{
    struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};

    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    syscall(SYS_capget, &h, held);
    for (unsigned i = 0; i < 2; i++) {
        held[i].effective = held[i].inheritable = held[i].permitted;
        none[i].permitted = own_argv ? held[i].permitted : 0;
    }
    if (geteuid())
        set_capabilities(none);
}

// Receives a request and its descriptor (-1: none); false at the end.
static bool receive(int s, char request[REQUEST_MAX + 2], int *fd)
{
    ssize_t n = descriptor_receive(s, request, REQUEST_MAX, fd);

    request[n < 0 ? 0 : n] = request[n < 0 ? 0 : n + 1] = 0;
    return n > (ssize_t)sizeof(uint32_t);
}

// The starter keeps only the socket: neither kamueed's lock nor descriptors from systemd. It
// ignores signals to the process group or the whole unit, which are meant for kamueed.
static void be_starter(int s)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP};
    char request[REQUEST_MAX + 2];
    struct answer a;
    int fd;

    s = fcntl(s, F_DUPFD_CLOEXEC, SOCKET_FD);
    close_range(STDERR_FILENO + 1, (unsigned)s - 1, 0);
    close_range((unsigned)s + 1, ~0u, 0);
    prctl(PR_SET_NAME, "kamuee-starter");
    for (unsigned i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    give_up_capabilities();
    for (; receive(s, request, &fd); close(fd)) {
        const char *program = request + sizeof a.number;
        memcpy(&a.number, request, sizeof a.number);
        a.result = start_program(program, program + strlen(program) + 1, fd);
        if (send(s, &a, sizeof a, MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

// --- in kamueed ----------------------------------------------------------------------------------

void starter_know(char *const *argv)
{
    own_argv = argv;
}

int starter_begin(void)
{
    int s[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s))
        return -errno;
    pid_t p = fork();
    int e = errno;
    if (!p) {
        close(s[0]);
        be_starter(s[1]);
    }
    close(s[1]);
    if (p < 0) {
        close(s[0]);
        return -e;
    }
    to_starter = s[0];
    starter = p;
    return 0;
}

void starter_end(void)
{
    if (to_starter >= 0)
        close(to_starter);
    to_starter = -1;
}

const char *starter_find(const char *name, const char *in_build, const char *installed,
                         char path[PATH_MAX])
{
    const char *const beside[] = {name, in_build};
    char self[PATH_MAX] = "";

    if (readlink("/proc/self/exe", self, sizeof self - 1) > 0 && strrchr(self, '/'))
        *strrchr(self, '/') = 0;
    for (unsigned i = 0; i < sizeof beside / sizeof *beside; i++)
        if (snprintf(path, PATH_MAX, "%s/%s", self, beside[i]) < PATH_MAX && !access(path, X_OK))
            return path;
    return installed;
}

// Continues the starter first, in case it is stopped.
static int receive_answer(uint32_t number)
{
    uint64_t until_ns = clock_now_ns() + ANSWER_S * NS_PER_SECOND;
    struct answer a;

    kill(starter, SIGCONT);
    while (descriptor_until(to_starter, until_ns)) {
        ssize_t n = recv(to_starter, &a, sizeof a, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n != sizeof a)
            return -EPIPE;
        if (a.number == number)
            return a.result;
        if (a.result > 0)
            kill(-a.result, SIGKILL);
    }
    log_error("starter: no answer within %d s: pid=%d", ANSWER_S, (int)starter);
    return -ETIMEDOUT;
}

int starter_run(const char *program, const char *word, int fd, pid_t *pid)
{
    static uint32_t number;
    char request[REQUEST_MAX];
    size_t a = strlen(program) + 1, b = strlen(word) + 1;

    *pid = 0;
    if (sizeof number + a + b > sizeof request)
        return -ENAMETOOLONG;
    number++;
    memcpy(request, &number, sizeof number);
    memcpy(request + sizeof number, program, a);
    memcpy(request + sizeof number + a, word, b);
    if (to_starter < 0 || !descriptor_send(to_starter, request, sizeof number + a + b, fd))
        return -EPIPE;
    int r = receive_answer(number);
    *pid = r > 0 ? r : 0;
    return r > 0 ? 0 : r;
}
