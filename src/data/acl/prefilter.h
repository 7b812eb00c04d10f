// SPDX-License-Identifier: BSD-3-Clause
// prefilter.h - fences, and which gates and guards suit the rules
#ifndef ACL_PREFILTER_H
#define ACL_PREFILTER_H

#include "acl/classifier.h"

#define SKETCH_WORDS 16384u // of 64 bits: a million keys or two can be counted

// Of the tuples that are planned. sketch: scratch of SKETCH_WORDS; gate_log: log2 of the words of
// each gate.
void gates_choose(struct core *c, const struct core_rules *r, uint64_t *sketch,
                  uint8_t gate_log[2]);
void fence_judge(struct core *c); // when all rules are there
// A tuple more.
void guards_of_tuple(struct core *c, struct tuple *t);
void fence_of_tuple(struct core *c, unsigned tuple);
// A rule more.
void gates_add(struct core *c, unsigned tuple, const struct acl_rule *r);

#endif
