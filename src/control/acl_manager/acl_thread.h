// SPDX-License-Identifier: BSD-3-Clause
// acl_thread.h - acl_manager's thread and its calls to control and back; acl_manager's own
#ifndef ACL_MANAGER_ACL_THREAD_H
#define ACL_MANAGER_ACL_THREAD_H

#include <stdbool.h>

void acl_lint_forget(bool all); // acl_query_lint.c: drops jobs not asked for lately, or all
void acl_tidy_later(void);      // something waits for a grace period

// On control: runs fn(arg) on acl_manager's thread. 0 or -errno.
int acl_manager_run(void (*fn)(void *arg), void *arg);

#endif
