// SPDX-License-Identifier: BSD-3-Clause
// classifier_build.h - the writer's side of a classifier: builds it at once, changes it in place,
// checks it. list.c calls it; its files call one another.
#ifndef ACL_CLASSIFIER_BUILD_H
#define ACL_CLASSIFIER_BUILD_H

#include "acl/classifier.h"

// Builds it from the rules of the family, with room for more; tuple[slot] gets the place of each
// rule. NULL: no memory.
struct classifier *classifier_new(const struct acl_config *cfg, uint8_t family,
                                  const struct classifier_rules *r, uint64_t epoch, uint8_t *tuple);
void classifier_free(struct classifier *c);
size_t classifier_need(uint8_t family, const struct acl_rule *r, size_t n);
uint64_t classifier_bytes(const struct classifier *c);        // memory of readers
uint64_t classifier_writer_bytes(const struct classifier *c); // besides the list's own

// --- classifier_change.c ---

// In place. 0, or -ENOSPC with nothing changed: build a new classifier.
int classifier_add(struct classifier *c, const struct acl_rule *r, uint32_t slot, uint8_t *tuple);
void classifier_del(struct classifier *c, const struct acl_rule *r, uint32_t slot, uint8_t tuple);
void classifier_epoch(struct classifier *c);
void classifier_reclaim(struct classifier *c, uint64_t epoch);
// Publishes new lanes, if they pay and readers can no longer see older ones.
void classifier_lanes_build(struct classifier *c, const struct acl_config *cfg,
                            const struct acl_rule *rule, const struct acl_order *order,
                            const uint8_t *tuple);

// --- classifier_check.c ---

int classifier_check(const struct classifier *c, const struct classifier_rules *r,
                     const uint8_t *tuple, char *why, size_t n);

// --- entry.c: a rule's keys, their filter bits, its entry in a block ---

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

// --- tuple.c: chooses the tuple of each rule ---

// Before a list is built:
void tuples_plan(struct classifier *c, const struct classifier_rules *r, const uint8_t *tuple);
// Returns the tuple for the rule, created if needed; chain(c, head) returns the number of rules
// that a head has already.
unsigned tuple_choose(struct classifier *c, const struct acl_rule *r,
                      unsigned (*chain)(const struct classifier *c, uint32_t head));

// --- prefilter.c: drops packets before any tuple is searched (readers: search.h) ---

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
