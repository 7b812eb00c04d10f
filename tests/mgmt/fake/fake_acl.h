// SPDX-License-Identifier: BSD-3-Clause
// fake_acl.h - an acl_manager that builds nothing
//
// A prepared change becomes ready soon, on the loop, or without a loop when a test calls for it.
#ifndef CONFIG_FAKE_FAKE_ACL_H
#define CONFIG_FAKE_FAKE_ACL_H

#include <stdbool.h>

#include "base/text.h"

struct event_base;

extern struct event_base *fake_acl_loop;
void fake_acl_reset(void);
void fake_acl_refuse(const char *why); // refuses changes from now on; NULL = accepts
bool fake_acl_ready(void);             // completes the current preparation; false: there is none
void fake_acl_state(struct text *t);

#endif
