// SPDX-License-Identifier: BSD-3-Clause
// fake_acl.h - an acl_manager that builds nothing
//
// What is prepared is ready soon, on the loop; without one when a test says so.
#ifndef CONFIG_FAKE_FAKE_ACL_H
#define CONFIG_FAKE_FAKE_ACL_H

#include <stdbool.h>

#include "base/text.h"

struct event_base;

extern struct event_base *fake_acl_loop;
void fake_acl_reset(void);
void fake_acl_refuse(const char *why); // what is prepared from now on; NULL = nothing
bool fake_acl_ready(void);             // what is being prepared is; false: nothing is
void fake_acl_state(struct text *t);

#endif
