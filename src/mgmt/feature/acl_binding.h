// SPDX-License-Identifier: BSD-3-Clause
// acl_binding.h - access lists of an interface: its own, or inherited from its virtual router or
// from `forwarding`; control role
#ifndef FEATURE_ACL_BINDING_H
#define FEATURE_ACL_BINDING_H

#include <libyang/libyang.h>

#include "acl_manager/acl_desired.h"
#include "config/change.h"

struct acl_binding { // names of access lists, "" = none; zero after their ends
    char in[ACL_NAME_MAX], out[ACL_NAME_MAX];
};

// Reads the container `acl` of an entry of this schema from the entry's children.
struct acl_binding acl_binding_read(const struct lyd_node *first, const struct lysc_node *parent);
// Inherits missing lists. A list of the provider also replaces a list that belongs to a virtual
// router, so that a tenant cannot disable the provider's list.
void acl_binding_inherit(struct acl_binding *b, const struct acl_binding *from,
                         const struct acl_desired *lists);
// A list that belongs to a virtual router is only for that virtual router; `what`: "interface p1".
struct errors;
void acl_binding_check(const struct acl_binding *b, const struct acl_desired *lists,
                       const char *what, const char *vr, unsigned line, struct errors *e);
// Adds a step if they differ. The lists are in force by then (PHASE_LISTS).
void acl_binding_plan(struct change *c, const char *interface, const struct acl_binding *from,
                      const struct acl_binding *to, unsigned line);

#endif
