// SPDX-License-Identifier: BSD-3-Clause
// linear_match.h - up to 64 rules compared one and all, 16 at a time
//
// For few rules nothing is quicker than to look at all of them, 16 at a time (lane.h): a packet is
// held against 16 rules with a dozen instructions. The first lane that is left is the rule.
//
// Beside the tuples of the same rules (classifier.h). A change turns it off, by one store, and
// readers ask the tuples; when a grace period has passed, nobody reads it any more, and it is made
// again where it is.
#ifndef ACL_LINEAR_MATCH_H
#define ACL_LINEAR_MATCH_H

#include "acl/classifier.h"
#include "acl/lane.h"

#define FEW_BLOCKS 4u
#define FEW_ENTRIES (LANE_COUNT * FEW_BLOCKS)

struct few {
    _Alignas(64) lane_row
        row[FEW_BLOCKS][LANE_ROWS(2 * LANE_WORDS(ACL_IP6))]; // both addresses, source first
    uint32_t number[FEW_ENTRIES + 1], slot[FEW_ENTRIES + 1]; // the last one: no rule
};

// How many blocks the core's rules under tuples take; 0: there are too many, or none, or they name
// address sets. Nobody may read *f.
unsigned few_make(struct few *f, const struct core *c, const struct core_rules *r,
                  const uint8_t *tuple);

#endif
