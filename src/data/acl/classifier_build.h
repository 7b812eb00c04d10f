// SPDX-License-Identifier: BSD-3-Clause
// classifier_build.h - the writer's side of a classifier: builds it at once, changes it in place,
// checks it. Called by list.c.
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

#endif
