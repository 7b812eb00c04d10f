// SPDX-License-Identifier: BSD-3-Clause
// tuple.h - chooses the tuple of each rule, for the writer
#ifndef ACL_TUPLE_H
#define ACL_TUPLE_H

#include "acl/classifier.h"

// Before a list is built:
void tuples_plan(struct classifier *c, const struct classifier_rules *r, const uint8_t *tuple);
// Returns the tuple for the rule, created if needed; chain(c, head) returns the number of rules
// that a head has already.
unsigned tuple_choose(struct classifier *c, const struct acl_rule *r,
                      unsigned (*chain)(const struct classifier *c, uint32_t head));

#endif
