// SPDX-License-Identifier: BSD-3-Clause
// linear_match.h - for up to 64 entries: compares every packet with all of them, 16 at a time
// (lane.h)
//
// The fastest way for few rules: a dozen instructions compare 16. The first matching lane is the
// rule. Tuples of the same rules are kept ready (classifier.h): a change turns linear matching off
// by one store, readers use tuples, and after a grace period the layout is rebuilt in place.
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

// Lays out the classifier's rules under tuples and returns the number of blocks; 0: there are too
// many or none, or they name address sets. No reader may use *f.
unsigned linear_match_build(struct linear_rules *f, const struct classifier *c,
                            const struct classifier_rules *r, const uint8_t *tuple);

#endif
