// SPDX-License-Identifier: BSD-3-Clause
// child.c - supervises a process from its start to its end (child.h)
//
// A process is in one of three stages, runs, asked (SIGTERM) and killed (SIGKILL), and each has a
// deadline that leads to the next. One timer looks at all processes, and only while some deadline
// or end is pending. The same step function serves child_wait(), which polls without the loop. A
// process that outlives SIGKILL stays in the list until the kernel lets it go.
#include "core/child.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/unwell.h"
#include "core/process.h"
#include "core/starter.h"

#define LOOK_MS 50
#define STEP_US 1000
#define GONE_MS 1000 // from SIGKILL to the end
#define NEVER UINT64_MAX

static struct child *all;
static struct event *timer;

static uint64_t after(uint32_t ms)
{
    return ms == CHILD_NO_LIMIT ? NEVER : clock_now_ns() + ms * NS_PER_MS;
}

// The timer runs only while a deadline or an end is pending.
static void look_soon(void)
{
    const struct timeval soon = {.tv_usec = LOOK_MS * 1000};

    for (const struct child *c = all; timer && c; c = c->next)
        if (c->until_ns != NEVER || c->stage) {
            event_add(timer, &soon);
            return;
        }
}

static void send_signal(const struct child *c, int signal)
{
    kill(c->ours ? -c->pid : c->pid, signal);
}

static bool has_gone(struct child *c)
{
    if (!c->ours)
        return process_is_gone(c->pid);
    int r = waitpid(c->pid, &c->status, WNOHANG);
    return r == c->pid || (r < 0 && errno == ECHILD);
}

static void take_out(struct child *c)
{
    for (struct child **p = &all; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            break;
        }
    if (c->stage == CHILD_KILLED)
        unwell_set(c->name, NULL);
    c->pid = 0;
}

// Kills the members of its process group that ignored SIGTERM.
static void bury(struct child *c)
{
    if (c->stage && c->ours)
        kill(-c->pid, SIGKILL);
    take_out(c);
    if (c->ended)
        c->ended(c);
}

static void enter_stage(struct child *c)
{
    if (c->stage == CHILD_ASKED) {
        send_signal(c, SIGTERM);
        send_signal(c, SIGCONT);
        c->until_ns = after(CHILD_GRACE_MS);
    } else {
        send_signal(c, SIGKILL);
        c->until_ns = after(GONE_MS);
    }
    look_soon();
}

static void pass_deadline(struct child *c)
{
    char why[80];

    switch (c->stage) {
    case CHILD_RUNS:
        log_warning("process: not done in time, it is ended: name=%s pid=%d", LOG_VALUE(c->name),
                    (int)c->pid);
        c->stage = c->abruptly ? CHILD_KILLED : CHILD_ASKED;
        break;
    case CHILD_ASKED:
        log_warning("process: SIGTERM did not end it, it is killed: name=%s pid=%d",
                    LOG_VALUE(c->name), (int)c->pid);
        c->stage = CHILD_KILLED;
        break;
    case CHILD_KILLED: // stuck in the kernel, for example on a file system that does not answer
        snprintf(why, sizeof why, "process %d outlives SIGKILL", (int)c->pid);
        unwell_set(c->name, why);
    }
    enter_stage(c);
}

// Returns true if it has ended.
static bool look_at(struct child *c)
{
    if (!c->pid)
        return true;
    if (has_gone(c)) {
        bury(c);
        return true;
    }
    if (clock_now_ns() >= c->until_ns)
        pass_deadline(c);
    return false;
}

static void look_at_all(evutil_socket_t fd, short what, void *arg)
{
    for (struct child *c = all, *next; c; c = next) {
        next = c->next;
        look_at(c);
    }
    look_soon();
}

int child_init(struct event_base *loop)
{
    timer = event_new(loop, -1, 0, look_at_all, NULL);
    look_soon();
    return timer ? 0 : -ENOMEM;
}

void child_fini(void)
{
    if (timer)
        event_free(timer);
    timer = NULL;
}

void child_take(struct child *c, pid_t pid, bool ours, uint32_t limit_ms)
{
    bug_on(c->pid || pid <= 1);
    c->pid = pid;
    c->ours = ours;
    c->stage = CHILD_RUNS;
    c->status = 0;
    c->until_ns = after(limit_ms);
    c->next = all;
    all = c;
    look_soon();
}

int child_start(struct child *c, const char *program, const char *word, int fd, uint32_t limit_ms)
{
    pid_t pid;

    bug_on(c->pid);
    int r = starter_run(program, word, fd, &pid);
    if (!r)
        child_take(c, pid, true, limit_ms);
    return r;
}

bool child_runs(const struct child *c)
{
    return c->pid;
}

bool child_was_stopped(const struct child *c)
{
    return c->stage != CHILD_RUNS;
}

void child_continue(const struct child *c)
{
    if (c->pid)
        send_signal(c, SIGCONT);
}

void child_stop(struct child *c)
{
    if (!c->pid || c->stage != CHILD_RUNS)
        return;
    c->stage = c->abruptly ? CHILD_KILLED : CHILD_ASKED;
    enter_stage(c);
}

void child_kill(struct child *c)
{
    if (!c->pid || c->stage == CHILD_KILLED)
        return;
    c->stage = CHILD_KILLED;
    enter_stage(c);
}

bool child_wait(struct child *c, uint32_t ms)
{
    uint64_t until_ns = after(ms);

    while (!look_at(c)) {
        if (clock_now_ns() >= until_ns)
            return false;
        usleep(STEP_US);
    }
    return true;
}

bool child_end(struct child *c)
{
    child_stop(c);
    return child_wait(c, CHILD_GRACE_MS + GONE_MS);
}

void child_forget(struct child *c)
{
    if (c->pid)
        take_out(c);
}

const char *child_how(const struct child *c)
{
    static char how[40];

    if (WIFSIGNALED(c->status))
        snprintf(how, sizeof how, "was ended by signal %d", WTERMSIG(c->status));
    else
        snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(c->status));
    return how;
}
