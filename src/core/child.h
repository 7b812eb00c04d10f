// SPDX-License-Identifier: BSD-3-Clause
// child.h - supervises a process that kamueed started, or found running and has to end
//
//     child_start() -> runs -> its time limit expires, or child_stop()
//                           -> SIGTERM -> CHILD_GRACE_MS later SIGKILL -> gone: ended()
//
// A stopped process (SIGSTOP) is continued, so that it can terminate cleanly. A process that
// survives SIGKILL is listed in base/unwell.h until it ends. Signals for our own child go to its
// whole process group. Control role; kamuee-program uses it without the loop.
#ifndef CORE_CHILD_H
#define CORE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_GRACE_MS 2000
#define CHILD_NO_LIMIT UINT32_MAX

struct event_base;

struct child {
    const char *name;                // in the log and the alarm
    void (*ended)(struct child *c);  // called by the loop or by child_wait(); may be NULL
    bool abruptly;                   // skip SIGTERM: its handler would undo things that are in use
    // Private to child.c.
    pid_t pid;                       // 0: no process
    bool ours;                       // our child; wait4() returns its status
    enum { CHILD_RUNS, CHILD_ASKED, CHILD_KILLED } stage;
    uint64_t until_ns;               // end of this stage
    int status;                      // of wait4()
    struct child *next;
};

// The loop supervises all processes. They may be started before it is set.
int child_init(struct event_base *loop); // 0 or -ENOMEM
void child_fini(void);

// Calls starter_run() and limits the program's run time to `limit_ms`. 0 or -errno.
int child_start(struct child *c, const char *program, const char *word, int fd, uint32_t limit_ms);
// Supervises a process: ours, which the caller forked and which leads its own session; or one that
// somebody else started, whose exit status stays unknown.
void child_take(struct child *c, pid_t pid, bool ours, uint32_t limit_ms);
bool child_runs(const struct child *c);
bool child_was_stopped(const struct child *c); // at its time limit, or by us
void child_continue(const struct child *c); // if it is stopped
void child_stop(struct child *c);   // SIGTERM; the loop or child_wait() sends SIGKILL later
void child_kill(struct child *c);   // SIGKILL at once
// Supervises the process for at most `ms`. True: it has ended, or there was none.
bool child_wait(struct child *c, uint32_t ms);
bool child_end(struct child *c);    // stops it and waits; false: it survived SIGKILL
void child_forget(struct child *c); // stops supervising it
// "ended with status 7" or "was ended by signal 9": how the last process ended.
const char *child_how(const struct child *c);

#endif
