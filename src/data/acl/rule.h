// SPDX-License-Identifier: BSD-3-Clause
// rule.h - predicates on rules, for this folder
//
// struct rule_test is the meaning of a rule above IP, in the layout of acl_key_l4: entries, lanes
// and lint compare by it, so a new field of a rule is written here once.
#ifndef ACL_RULE_H
#define ACL_RULE_H

#include "acl/acl.h"

// Does it check addresses only?
bool rule_is_by_addresses(const struct acl_rule *r);
// Does it check address sets only?
bool rule_is_by_sets(const struct acl_rule *r);

// What a rule tests of acl_key_l4, in the key's memory order. Lanes, entries and the lint know the
// fields only in this form.
struct rule_test {
    uint32_t port, span; // source in the low half: first port; size of the range - 1
    uint32_t value;      // of the last four bytes
    uint32_t mask;       // (have ^ value) & mask must be 0
    uint8_t any;         // byte 1, the flags: one of these bits must be set; 0: none need be
};
#define TEST_FLAGS 8u // position of the flags in value and mask
struct rule_test rule_test(const struct acl_rule *r);

// Writes the sentence to why[0..n); returns -EINVAL.
__attribute__((format(printf, 3, 4))) int rule_error(char *why, size_t n, const char *format, ...);

static inline uint32_t mask4(unsigned len)
{
    return (uint32_t)(UINT64_C(0xffffffff00000000) >> len);
}

#endif
