// SPDX-License-Identifier: BSD-3-Clause
// acl_thread.h - calls between queries and acl_manager's thread
#ifndef ACL_MANAGER_ACL_THREAD_H
#define ACL_MANAGER_ACL_THREAD_H

#include <stdbool.h>

void acl_lint_forget(bool all); // acl_query_lint.c: drops jobs not queried lately, or all
void acl_tidy_later(void);      // something waits for a grace period

#endif
