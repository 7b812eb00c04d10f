// SPDX-License-Identifier: BSD-3-Clause
// entry.h - converts a rule for a classifier: its keys, their filter bits, its entry in a block.
// For the writer.
#ifndef ACL_ENTRY_H
#define ACL_ENTRY_H

#include "acl/classifier.h"

static inline const struct acl_side *rule_side(const struct acl_rule *r, enum side_index s)
{
    return s == SIDE_SRC ? &r->src : &r->dst;
}

unsigned rule_len(const struct acl_rule *r, enum side_index s); // 0 for a set
uint32_t rule_digest(const struct classifier *c, enum side_index s, const struct acl_rule *r,
                     unsigned len);
uint32_t key_salt(const struct classifier *c, unsigned i);
uint32_t tuple_key(const struct classifier *c, const struct tuple *t, const struct acl_rule *r);
void filter_set(const struct classifier *c, uint32_t key);
// is: ENTRY_LAST or 0
void entry_write(const struct classifier *c, uint32_t ref, const struct acl_rule *r, uint32_t slot,
                 uint8_t is);
uint32_t block_length(const struct classifier *c, uint32_t ref); // number of entries; 0 for ref 0

#endif
