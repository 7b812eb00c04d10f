// SPDX-License-Identifier: BSD-3-Clause
// lint.h - finds rules of a list that never decide, because an earlier one takes all their packets
//
//     shadowed       the earlier rule has another action
//     contradicting  the same, and both match exactly the same packets
//     redundant      the earlier rule has the same action
//
// Finds rules that a single earlier rule covers, not rules that only several cover together. Works
// in slices, in one thread; acl_manager calls it.
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

// n rules in the order of their numbers; rules with equal does[] have the same action. Copies its
// input; the sets belong to the list and must not change meanwhile. NULL with errno.
struct acl_lint *acl_lint_new(const struct acl_rule *r, const uint32_t *does, size_t n,
                              struct acl_set *const *set);
void acl_lint_free(struct acl_lint *l);
bool acl_lint_step(struct acl_lint *l, size_t rules); // checks so many more rules; true: done
const struct acl_finding *acl_lint_findings(const struct acl_lint *l, size_t *n);
// false: too many rules differ only in ranges, not all pairs were compared
bool acl_lint_complete(const struct acl_lint *l);
// does a match every packet that b matches?
bool acl_rule_covers(const struct acl_rule *a, const struct acl_rule *b,
                     struct acl_set *const *set);

#endif
