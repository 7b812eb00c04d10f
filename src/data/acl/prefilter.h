// SPDX-License-Identifier: BSD-3-Clause
// prefilter.h - drops packets before any tuple is searched: net bitmaps, tuple indexes, side
// filters
//
// The writer's part: classifier_build.c chooses and fills it, tuple.c and classifier_change.c
// extend it. Readers' part: search.h, classify_plain.c, classify_simd.c.
#ifndef ACL_PREFILTER_H
#define ACL_PREFILTER_H

#include "acl/classifier.h"

#define SKETCH_WORDS 16384u // 64 bits each: counts up to one or two million keys

// Chooses for the planned tuples. sketch: scratch of SKETCH_WORDS; index_log: log2 of the words of
// each tuple index.
void prefilter_choose(struct classifier *c, const struct classifier_rules *r, uint64_t *sketch,
                      uint8_t index_log[2]);
void bitmap_drop_if_useless(struct classifier *c); // when all rules are in
// For each new tuple:
void side_filters_of_tuple(struct classifier *c, struct tuple *t);
void bitmap_add_tuple(struct classifier *c, unsigned tuple);
// For each new rule:
void prefilter_add_rule(struct classifier *c, unsigned tuple, const struct acl_rule *r);

#endif
