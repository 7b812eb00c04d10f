// SPDX-License-Identifier: BSD-3-Clause
// rule.h - predicates on rules, for this folder
#ifndef ACL_RULE_H
#define ACL_RULE_H

#include "acl/acl.h"

// Does it check fields that later fragments lack?
bool rule_needs_header(const struct acl_rule *r);
// Does it check addresses only?
bool rule_is_by_addresses(const struct acl_rule *r);
// Does it check address sets only?
bool rule_is_by_sets(const struct acl_rule *r);

// Writes the sentence to why[0..n); returns -EINVAL.
__attribute__((format(printf, 3, 4))) int rule_error(char *why, size_t n, const char *format, ...);

static inline uint32_t mask4(unsigned len)
{
    return (uint32_t)(UINT64_C(0xffffffff00000000) >> len);
}

#endif
