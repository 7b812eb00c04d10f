// SPDX-License-Identifier: BSD-3-Clause
// acl_diff.h - differences between desired rules and rules in force; acl_manager's own
#ifndef ACL_MANAGER_ACL_DIFF_H
#define ACL_MANAGER_ACL_DIFF_H

#include "acl_manager/acl_build.h"
#include "acl_manager/acl_desired.h"

struct acl_difference {
    size_t n;      // added plus deleted; a changed rule counts as two
    size_t added;  // index of the last added rule
    uint32_t gone; // number of the last deleted rule
    bool comes;    // a rule was added
};

// Both sides are sorted and use the same indexes for sets.
// Against the list in force.
struct acl_difference acl_diff_build(const struct acl_lines *l, const struct acl_build *b);
struct acl_difference acl_diff_lines(const struct acl_lines *new, const struct acl_lines *old);
// Appends the rules in force that do not come from the configuration `was`: the rules of the list's
// file, as it was read.
void acl_diff_keep_file_rules(const struct acl_desired_list *was, const struct acl_build *b,
                              struct acl_lines *l);

#endif
