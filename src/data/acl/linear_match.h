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

#define LINEAR_BLOCKS 4u
#define LINEAR_ENTRIES (LANE_COUNT * LINEAR_BLOCKS)

struct linear_rules {
    // both addresses, source first
    _Alignas(64) lane_row row[LINEAR_BLOCKS][LANE_ROWS(2 * LANE_WORDS(ACL_IP6))];
    uint32_t number[LINEAR_ENTRIES + 1], slot[LINEAR_ENTRIES + 1]; // the last one: no rule
};

// How many blocks the core's rules under tuples take; 0: there are too many, or none, or they name
// address sets. Nobody may read *f.
unsigned linear_match_build(struct linear_rules *f, const struct classifier *c,
                            const struct classifier_rules *r, const uint8_t *tuple);

#endif
