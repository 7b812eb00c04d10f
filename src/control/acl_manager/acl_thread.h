// SPDX-License-Identifier: BSD-3-Clause
// acl_thread.h - between the files of acl_manager: its thread, and calls to and fro
#ifndef ACL_MANAGER_ACL_THREAD_H
#define ACL_MANAGER_ACL_THREAD_H

#include <stdbool.h>

// acl_manager: runs fn(arg) on the control loop, now or (its mailbox is full) a little later. `arg`
// is heap memory that fn owns.
void acl_reply(void (*fn)(void *arg), void *arg);
void acl_lint_forget(bool all); // acl_query_lint.c: what nobody has asked for lately, or all
void acl_tidy_later(void);      // something waits for a grace period

// Control: runs fn(arg) on acl_manager's thread. 0 or -errno.
int acl_manager_run(void (*fn)(void *arg), void *arg);

#endif
