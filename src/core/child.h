// SPDX-License-Identifier: BSD-3-Clause
// child.h - the life of a process that kamueed started, or that kamueed meets and has to end
//
//     child_start() -> runs -> its limit is over, or child_stop()
//                           -> SIGTERM -> CHILD_GRACE_MS later SIGKILL -> gone: ended()
//
// A stopped process (SIGSTOP) is continued, so that it can end in order. While a process outlives
// SIGKILL, it is listed in base/unwell.h. Signals go to the whole process group of a program that
// the starter has started. Called by whoever starts a process; control role.
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
    void (*ended)(struct child *c);  // from the loop, or from child_wait(); may be NULL
    bool abruptly;                   // no SIGTERM: it would undo things that are in use
    // child.c's
    pid_t pid;                       // 0: no process
    bool ours;                       // a child, whose status wait4() tells
    enum { CHILD_RUNS, CHILD_ASKED, CHILD_KILLED } stage;
    uint64_t until_ns;               // end of this stage
    int status;                      // of wait4()
    struct child *next;
};

// The loop looks after all processes. They may be started before it is known.
int child_init(struct event_base *loop); // 0 or -ENOMEM
void child_fini(void);

// starter_run(), and at most `limit_ms` for its whole work. 0 or -errno.
int child_start(struct child *c, const char *program, const char *word, int fd, uint32_t limit_ms);
// A process that somebody else started. Its status stays unknown.
void child_meet(struct child *c, pid_t pid, uint32_t limit_ms);
bool child_runs(const struct child *c);
void child_continue(const struct child *c); // if it is stopped
void child_stop(struct child *c);   // in order; the loop, or child_wait(), sends SIGKILL later
void child_kill(struct child *c);   // at once
// Looks after the process for at most `ms`. True: it has ended, or there was none.
bool child_wait(struct child *c, uint32_t ms);
bool child_end(struct child *c);    // stops it and waits; false: it outlives SIGKILL
void child_forget(struct child *c); // it is no concern of ours any more
// "ended with status 7", "was ended by signal 9"; of the last one that has ended.
const char *child_how(const struct child *c);

#endif
