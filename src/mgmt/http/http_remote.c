// SPDX-License-Identifier: BSD-3-Clause
// http_remote.c - see http_remote.h
#include "http/http_remote.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "core/starter.h"
#include "core/thread.h"
#include "http/http_priv.h"
#include "http/http_tls.h"

#define ANSWER_MS 5000 // to TRY
#define AGAIN_MS 500   // between two starts

static const char *program; // NULL: where it usually lies
static int control = -1; // our end
static pid_t pid;
static struct event *ended, *again;
static uint64_t started_ns;

void http_remote_know(const char *path)
{
    program = path;
}

static void forget_process(void)
{
    if (ended)
        event_free(ended);
    ended = NULL;
    if (control >= 0)
        close(control);
    control = -1;
}

// It may still be ending: whoever started it last is asked for then.
static void reap(void)
{
    if (pid > 0 && waitpid(pid, NULL, WNOHANG) == pid)
        pid = 0;
}

static void start_again(evutil_socket_t fd, short what, void *arg)
{
    char err[300];

    reap();
    if (!http_remote_start(err, sizeof err))
        return;
    log_error("api: nobody is served over TCP: %s", err);
    event_add(again, &(struct timeval){.tv_sec = 10});
}

// At once, unless it has just been started.
static void on_end(evutil_socket_t fd, short what, void *arg)
{
    uint64_t ran_ms = (clock_now_ns() - started_ns) / 1000000,
             wait_ms = ran_ms < AGAIN_MS ? AGAIN_MS - ran_ms : 1;

    log_warning("api: kamuee-http has ended, and all connections over TCP; it is started again: "
                "pid=%d", (int)pid);
    forget_process();
    event_add(again, &(struct timeval){.tv_usec = (suseconds_t)wait_ms * 1000});
}

static const char *program_path(char path[PATH_MAX])
{
    return program ? program
                   : starter_find("kamuee-http", "src/mgmt/remote/kamuee-http", HTTP_PROGRAM, path);
}

static int run_process(void)
{
    char path[PATH_MAX];
    int s[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, s))
        return -errno;
    int r = starter_run(program_path(path), "", s[1], &pid);
    close(s[1]);
    if (r)
        close(s[0]);
    else
        control = s[0];
    return r;
}

int http_remote_start(char *err, size_t err_size)
{
    thread_must_be(ROLE_CONTROL);
    if (control >= 0)
        return 0;
    int r = run_process();
    if (r) {
        snprintf(err, err_size, "kamuee-http, which serves clients over TCP, cannot be started: "
                                "%s; install it (%s)", strerror(-r), HTTP_PROGRAM);
        return r;
    }
    started_ns = clock_now_ns();
    ended = event_new(http_base, control, EV_READ, on_end, NULL);
    if (!again)
        again = event_new(http_base, -1, 0, start_again, NULL);
    bug_on(!ended || !again || event_add(ended, NULL));
    log_info("api: kamuee-http started: pid=%d", (int)pid);
    http_tls_give();
    return 0;
}

// What it has of answers it still gives to the clients.
void http_remote_stop(void)
{
    forget_process();
    reap();
    if (again)
        event_free(again);
    again = NULL;
}

bool http_remote_send(enum remote_word word, bool flag, int fd)
{
    const struct remote_message m = {.word = (char)word, .flag = flag};

    return control >= 0 && descriptor_send(control, &m, sizeof m, fd);
}

bool http_remote_answer(struct remote_answer *a)
{
    struct pollfd p = {.fd = control, .events = POLLIN};
    bool there = control >= 0 && poll(&p, 1, ANSWER_MS) == 1 &&
                 recv(control, a, sizeof *a, 0) == sizeof *a;

    a->why[there ? sizeof a->why - 1 : 0] = 0;
    if (!there && control >= 0)
        on_end(control, EV_READ, NULL);
    return there;
}

// --- a connection -------------------------------------------------------------------------------

// The number stays: evhttp has noted it. The loop must not watch TCP by it any more, which goes on
// in the other process.
static void put_in_place(struct bufferevent *bev, int fd, int pair)
{
    bufferevent_setfd(bev, -1);
    bug_on(dup3(pair, fd, O_CLOEXEC) != fd);
    bufferevent_setfd(bev, fd);
}

bool http_remote_take(struct bufferevent *bev, bool tls)
{
    int fd = bufferevent_getfd(bev), at_once = 1, s[2];
    const char way = tls ? REMOTE_TLS : REMOTE_PLAIN;

    if (control < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, s))
        return false;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once); // it comes in pieces
    bool given = descriptor_send(s[0], &way, sizeof way, fd) &&
                 http_remote_send(REMOTE_CONNECTION, false, s[1]);
    if (given)
        put_in_place(bev, fd, s[0]);
    close(s[0]);
    close(s[1]);
    return given;
}
