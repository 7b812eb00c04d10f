// SPDX-License-Identifier: BSD-3-Clause
// manager.h - common base of managers: a thread with a role, an event loop and a mailbox
//
// A manager is the only writer of its tables and runs the events of its loop and the calls in its
// mailbox. Control reaches it in two ways: manager_call() waits until the call has run (in aside(),
// so that control's loop continues); manager_ask() returns at once, and the manager answers with
// manager_reply(). No answer is lost: while control's mailbox is full, answers wait in order.
#ifndef CORE_MANAGER_H
#define CORE_MANAGER_H

#include <stddef.h>

#include "base/vec.h"
#include "core/thread.h"

struct event;
struct event_base;

struct manager {
    enum thread_role role;
    unsigned slot;
    const char *name;
    int (*begin)(struct event_base *loop); // on the thread, before any call; 0 or -errno
    // On the thread, in place of the loop; ends after event_base_got_break(). May be NULL.
    void (*run)(struct event_base *loop);
    void (*end)(void);         // on the thread, after the last call, also when begin() failed
    void (*before_call)(void); // on the thread, before each manager_call(); may be NULL
    // Private to manager.c.
    struct thread *thread; // NULL: not running
    struct event_base *loop;
    struct event *retry;
    VEC(struct manager_reply {
        void (*fn)(void *arg);
        void *arg;
    }) replies; // answers that did not fit into control's mailbox
};

// Any thread with a loop: frees the event, if there is one.
void drop_event(struct event **e);

// --- control ---
// Returns after begin(): 0, or -errno and nothing runs.
int manager_start(struct manager *m);
// Runs the calls in the mailbox first; returns when the thread has ended.
void manager_stop(struct manager *m);
// Runs fn on the manager with a copy of the `size` bytes of `arg`, waits, and returns its result or
// -errno. The copy is made before the wait. -ENOTCONN: the manager does not run. -ETIMEDOUT: fn may
// still run.
int manager_call(enum thread_role role, int (*fn)(void *arg), const void *arg, size_t size);
// The same for work so short that control's loop may wait.
int manager_call_short(enum thread_role role, int (*fn)(void *arg), const void *arg, size_t size,
                       int timeout_ms);
// Runs fn on the manager with a heap copy of `arg`. fn owns the copy and passes it to
// manager_reply() or frees it. 0, -ENOMEM, or an error of mailbox_post.
int manager_ask(enum thread_role role, void (*fn)(void *arg), const void *arg, size_t size);

// --- the manager's thread ---
// Runs fn(arg) on control's loop, now or, if its mailbox is full, a little later. fn owns `arg`,
// which is heap memory; it is freed if control is stopping.
void manager_reply(void (*fn)(void *arg), void *arg);

#endif
