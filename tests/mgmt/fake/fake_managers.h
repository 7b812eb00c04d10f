// SPDX-License-Identifier: BSD-3-Clause
// fake_managers.h - managers that record calls and fail on demand, for unit tests of mgmt
//
// They hold their settings like the real ones (ports, vports, virtual routers, bindings,
// assignments), so that a test can compare the state after a failed change with the state before
// it.
#ifndef CONFIG_FAKE_FAKE_MANAGERS_H
#define CONFIG_FAKE_FAKE_MANAGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "fake/fake_acl.h"
#include "fake/fake_call.h"

extern uint32_t fake_journal_mib, fake_audit_interval_s; // as set last
extern bool fake_journal_fails;
extern uint64_t fake_link_changes; // of every port
extern uint64_t fake_offload_cut;  // of every port
extern int fake_celsius;           // of every port; 0: not reported
extern bool fake_lag;              // lag0 exists, with p0 and p1
extern unsigned fake_missing;      // of its members: p1
extern int fake_readers;           // sockets of other programs that receive route events
extern bool fake_down;             // every port
extern const char *fake_bgp_peer;  // an established session, or NULL
extern uint64_t fake_waiting;      // for each of them, bytes

void fake_link(const char *port, bool up); // changes, as far as listeners are told
void fake_member(const char *port, const char *status,
                 const char *reason); // a member of lag0 comes into use or goes out of it, likewise
bool fake_has_port(const char *name);
bool fake_has_interface(const char *name);
bool fake_has_vr(const char *name);
void fake_program_reset(void);
void fake_reset(void);
// Everything that the managers hold, sorted, one object per line.
void fake_state(struct text *t);

#endif
