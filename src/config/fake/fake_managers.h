// SPDX-License-Identifier: BSD-3-Clause
// fake_managers.h - managers that record calls and fail on demand, for unit tests of mgmt
//
// They hold what they were told as the real ones do (ports, vports, virtual
// routers, bindings, assignments), so that a test can compare the state after
// a failed change with the state before it.
#ifndef CONFIG_FAKE_FAKE_MANAGERS_H
#define CONFIG_FAKE_FAKE_MANAGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

extern struct text fake_calls; // "attach p0\n" …
extern int fake_fail_at;       // the n-th call from now fails (1 = the next), 0 = none
extern void (*fake_step)(void); // called at each call, or NULL

extern uint32_t fake_journal_mib, fake_audit_interval_s; // as set last
extern bool fake_journal_fails;
extern uint64_t fake_link_changes; // of every port
extern int fake_celsius;           // of every port; 0: it does not tell

// Records a call; 0, or -EIO with a sentence: it is the one that is to fail.
int fake_called(char *err, size_t n, const char *what, const char *name);

// --- fake_acl.c: an acl_manager that builds nothing. What is prepared is ready soon, on the loop; without one when a test says so ---
extern struct event_base *fake_acl_loop;
void fake_acl_reset(void);
void fake_acl_refuse(const char *why); // what is prepared from now on; NULL = nothing
bool fake_acl_ready(void);             // what is being prepared is; false: nothing is
void fake_acl_state(struct text *t);

void fake_link(const char *port, bool up); // changes, as far as listeners are told
// Notes the call; 0, or -EIO with a sentence when it is the one to fail.
int fake_called(char *err, size_t n, const char *what, const char *name);
void fake_reset(void);
// Everything the managers hold, sorted, one thing a line.
void fake_state(struct text *t);

#endif
