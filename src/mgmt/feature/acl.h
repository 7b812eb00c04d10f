// SPDX-License-Identifier: BSD-3-Clause
// acl.h - access lists and address sets of a configuration; control role
#ifndef FEATURE_ACL_H
#define FEATURE_ACL_H

#include "acl_manager/acl_desired.h"
#include "config/model.h"
#include "restconf/operation.h"

const struct acl_desired *model_acls(const struct model *m); // shared with acl_manager

// Reads files again (acl_manager.h: acl_manager_prepare) and puts what they say in force.
// In a turn of ASIDE_CHANGE (core/aside.h), which waits for it. 0, or -errno with sentences.
int acl_reload(const char *set, const char *list, struct errors *e);

extern const struct feature_operation acl_operations[]; // acl_operation.c
// Reports logged packets that are in the ring, without waiting for the timer: tests.
void acl_log_report(void);

#endif
