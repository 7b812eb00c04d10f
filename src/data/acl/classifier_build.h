// SPDX-License-Identifier: BSD-3-Clause
// classifier_build.h - the writer's side of a core: made of all rules at once, changed in place,
// checked
#ifndef ACL_CLASSIFIER_BUILD_H
#define ACL_CLASSIFIER_BUILD_H

#include "acl/classifier.h"

// Those of the rules that are for the family, with room for more; tuple[slot]: where each rule
// went. NULL with errno: ENOMEM; ENOSPC: it takes more than max_bytes (0 = no limit).
struct core *core_new(const struct acl_config *cfg, uint8_t family, const struct core_rules *r,
                      struct core_shape shape, size_t max_bytes, uint64_t epoch, uint8_t *tuple);
void core_free(const struct acl_config *cfg, struct core *c);
size_t core_need(uint8_t family, const struct acl_rule *r, size_t n);
uint64_t core_bytes(const struct core *c);        // what readers may touch
uint64_t core_writer_bytes(const struct core *c); // beside the list's own

// The rules as linear_match.h has them, when nobody has read that since the last change.
void core_few(struct core *c, const struct core_rules *r, const uint8_t *tuple);

// --- classifier_change.c ---

struct core_block { // to be retired; n 0: none
    uint32_t ref, n;
    uint8_t promoted; // not a block, but an index of this Poptrie; CORE_NONE
};

// In place. 0, or -ENOSPC: time for a new core, nothing has changed.
int core_add(struct core *c, const struct acl_rule *r, uint32_t slot, uint8_t *tuple,
             struct core_block *old);
void core_del(struct core *c, const struct acl_rule *r, uint32_t slot, uint8_t tuple,
              struct core_block *old);
void core_epoch(struct core *c);
void core_reclaim(struct core *c, uint64_t epoch); // of promoted rules and shelves

// --- classifier_check.c ---

int core_check(const struct core *c, const struct core_rules *r, const uint8_t *tuple, char *why,
               size_t n);

#endif
