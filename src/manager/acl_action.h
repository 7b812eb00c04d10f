// SPDX-License-Identifier: BSD-3-Clause
// acl_action.h - from what a rule says to what forwarders do; acl_manager's own
#ifndef MANAGER_ACL_ACTION_H
#define MANAGER_ACL_ACTION_H

#include "manager/acl_line.h"
#include "table/acl.h"

struct acl_action acl_action_of(uint32_t number, uint8_t verb, const struct acl_more *more); // more: NULL = nothing more

#endif
