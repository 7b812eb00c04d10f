// SPDX-License-Identifier: BSD-3-Clause
// acl_binding.h - access lists that an interface has of its own, or from its virtual router, or
// from `forwarding`; control role
#ifndef FEATURE_ACL_BINDING_H
#define FEATURE_ACL_BINDING_H

#include <libyang/libyang.h>

#include "acl_manager/acl_desired.h"
#include "config/change.h"

struct acl_binding { // names of access lists, "" = none; all of it zero behind them
    char in[ACL_NAME_MAX], out[ACL_NAME_MAX];
};

// The container `acl` of an entry of this schema, among its children.
struct acl_binding acl_binding_read(const struct lyd_node *first, const struct lysc_node *parent);
// What it lacks; and instead of a list that belongs to a virtual router, what is the router's own:
// a tenant does not put the provider's list out of force.
void acl_binding_inherit(struct acl_binding *b, const struct acl_binding *from,
                         const struct acl_desired *lists);
// A list that belongs to a virtual router is for that one alone; `what`: "interface p1".
struct errors;
void acl_binding_check(const struct acl_binding *b, const struct acl_desired *lists,
                       const char *what, const char *vr, unsigned line, struct errors *e);
// A step if they differ. The lists are in force by then (PHASE_LISTS).
void acl_binding_plan(struct change *c, const char *interface, const struct acl_binding *from,
                      const struct acl_binding *to, unsigned line);

#endif
