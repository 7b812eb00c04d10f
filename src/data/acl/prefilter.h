// SPDX-License-Identifier: BSD-3-Clause
// prefilter.h - bitmaps, and which tuple indexes and side filters suit the rules
#ifndef ACL_PREFILTER_H
#define ACL_PREFILTER_H

#include "acl/classifier.h"

#define SKETCH_WORDS 16384u // of 64 bits: a million keys or two can be counted

// Of the tuples that are planned. sketch: scratch of SKETCH_WORDS; gate_log: log2 of the words of
// each tuple index.
void prefilter_choose(struct classifier *c, const struct classifier_rules *r, uint64_t *sketch,
                      uint8_t index_log[2]);
void bitmap_drop_if_useless(struct classifier *c); // when all rules are there
// A tuple more.
void side_filters_of_tuple(struct classifier *c, struct tuple *t);
void bitmap_add_tuple(struct classifier *c, unsigned tuple);
// A rule more.
void prefilter_add_rule(struct classifier *c, unsigned tuple, const struct acl_rule *r);

#endif
