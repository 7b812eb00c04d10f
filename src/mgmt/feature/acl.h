// SPDX-License-Identifier: BSD-3-Clause
// acl.h - access lists in force; control role
#ifndef FEATURE_ACL_H
#define FEATURE_ACL_H

#include "acl_manager/acl_manager.h"
#include "base/errors.h"
#include "restconf/operation.h"

// Reads files again (acl_manager.h: acl_manager_prepare) and puts the result in force. Runs in a
// turn of ASIDE_CHANGE (core/aside.h) and waits in it. 0, or -errno with sentences.
int acl_reload(const char *set, const char *list, struct errors *e);
int acl_temporary_change(const struct acl_temporary *t, struct errors *e); // likewise

// acl_lease.c: temporary rules that must be renewed
void acl_lease_set(const char *list, uint32_t seconds); // from now on; 0: they stay
// After acl_lease_set, which forgets the former peers: observed by the alarm flowspec-limit until
// the lease ends.
void acl_lease_peer(const char *list, const char *address, unsigned percent);
void acl_lease_look(void); // once a second
void acl_lease_stop(void);

// Later preparations build all that changes aside, and nothing is changed in place: a judge of the
// commit (config/config.h) can try it (acl_manager.h: acl_manager_content).
void acl_prepare_aside(bool on);

extern const struct feature_operation acl_operations[]; // acl_operation.c
// Reports the logged packets in the ring without waiting for the timer; for tests.
void acl_log_report(void);

#endif
