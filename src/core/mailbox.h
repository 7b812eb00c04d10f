// SPDX-License-Identifier: BSD-3-Clause
// mailbox.h - calls from one manager role to another
//
// All communication between manager roles outside the tables is a call posted to the other role's
// loop. A box is bounded and in order per sender; a full box refuses, and the caller must handle
// it. Forwarders use rings instead (table/exchange.h).
#ifndef CORE_MAILBOX_H
#define CORE_MAILBOX_H

#include "core/thread.h"

#define MAILBOX_CALLS 4096

struct event_base;

// Opens the calling role's box on its event loop (once per manager thread). 0 or -errno.
int mailbox_open(struct event_base *loop);
void mailbox_close(void);
// A descriptor that is readable while the calling role has calls, for sleeping outside its loop.
int mailbox_fd(void);

// Any thread: runs fn(arg) on `role`'s loop. 0, -EAGAIN (box full), -ENOTCONN (role has no box).
int mailbox_post(enum thread_role role, void (*fn)(void *arg), void *arg);

// Control only, for short work or in aside(): posts and waits for room in the box and for the
// result, at most `timeout_ms`. 0, or an error of mailbox_post: arg belongs to the caller again.
// -ETIMEDOUT: the call will still run, then drop(arg) on the same thread (NULL: arg stays valid
// forever). fn NULL: waits until earlier calls have run.
int mailbox_call(enum thread_role role, void (*fn)(void *arg), void *arg, void (*drop)(void *arg),
                 int timeout_ms);

#endif
