// SPDX-License-Identifier: BSD-3-Clause
// lint.h - rules of a list that never decide, because one before them takes all their packets
//
//     shadowed       the earlier rule does something else
//     contradicting  the same, and both match exactly the same packets
//     redundant      the earlier rule does the same
//
// Only what a single earlier rule covers is found, not what several cover together. Work is done in
// slices. One thread.
#ifndef ACL_LINT_H
#define ACL_LINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"

enum acl_finding_kind { ACL_SHADOWED, ACL_CONTRADICTING, ACL_REDUNDANT };

struct acl_finding {
    uint32_t rule, by; // indexes
    uint8_t kind;      // enum acl_finding_kind
};

struct acl_lint;

// n rules in the order of their numbers, and what each does: two with the same `does` do the same.
// All of it is kept; sets are the list's and must not change meanwhile. NULL with errno.
struct acl_lint *acl_lint_new(const struct acl_rule *r, const uint32_t *does, size_t n,
                              struct acl_set *const *set);
void acl_lint_free(struct acl_lint *l);
bool acl_lint_step(struct acl_lint *l, size_t rules); // looks at so many more; true: that was all
const struct acl_finding *acl_lint_findings(const struct acl_lint *l, size_t *n);
// false: rules alike but for ranges are so many that not all pairs were compared
bool acl_lint_complete(const struct acl_lint *l);
// all that b matches
bool acl_rule_covers(const struct acl_rule *a, const struct acl_rule *b,
                     struct acl_set *const *set);

#endif
