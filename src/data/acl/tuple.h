// SPDX-License-Identifier: BSD-3-Clause
// tuple.h - the writer chooses under which tuple a rule goes
#ifndef ACL_TUPLE_H
#define ACL_TUPLE_H

#include "acl/classifier.h"

// Before a list is built:
void tuples_plan(struct classifier *c, const struct classifier_rules *r, const uint8_t *tuple);
// The tuple that the rule goes to, made if need be; chain(c, head) says how many rules a head has
// already.
unsigned tuple_choose(struct classifier *c, const struct acl_rule *r,
                      unsigned (*chain)(const struct classifier *c, uint32_t head));

#endif
