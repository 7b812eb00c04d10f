// SPDX-License-Identifier: BSD-3-Clause
// prefix_rules.h - rules that look at one side's address alone, by prefix: a Poptrie instead of
// tuples
//
// The Poptrie answers with an index: of the longest prefix that has a rule. For each index stands
// the first rule (the lowest number) among the prefix's own and those of all prefixes around it, so
// that one look decides. A change stores the answers of the prefixes inside it, one 64-bit word
// each, and the Poptrie's own words: readers see each address old or new. An index that was given
// up keeps its answer until a grace period has passed.
//
// A prefix has one rule here. Another one of the same prefix, and what finds no index, goes under a
// tuple: the lowest number wins in the end.
#ifndef ACL_PREFIX_RULES_H
#define ACL_PREFIX_RULES_H

#include "acl/acl.h"

struct poptrie;

#define PROMOTED_MAX 4u // Poptries of a family
#define PROMOTED_NONE UINT64_MAX

struct promoted {
    // readers
    struct poptrie *table;
    uint64_t *first; // [index] number << 32 | slot; [0]: PROMOTED_NONE
    uint8_t side;    // 0: source
    // writer
    uint8_t family;
    uint64_t *own; // [index]: the prefix's rule; PROMOTED_NONE: it had one, and no memory to forget
                   // the prefix
    uint32_t *free, n_free, room; // indexes
    uint32_t rules, length[129]; // prefixes of each length
    uint64_t limit; // bytes, 0 = none
    int64_t ahead;  // what an epoch of the list is ahead of the Poptrie's
};

struct promoted_plan { // how many Poptries for each side; 0: its rules go under tuples
    uint32_t tables[2], rules[2];
};

bool rule_is_promotable(const struct acl_rule *r, uint8_t family, unsigned *side);
// From the number of promotable rules of each side, and of all.
struct promoted_plan promoted_plan(const uint32_t promotable[2], uint32_t rules, uint8_t family,
                                   uint32_t from);
size_t promoted_need(const struct promoted_plan *plan); // bytes, about; of IPv4

struct promoted_row {
    uint8_t key[16], len;
    uint64_t own;
};
void promoted_row(struct promoted_row *row, const struct acl_rule *r, uint32_t slot, unsigned side);
int promoted_by_prefix(const void *x,
                       const void *y); // for qsort; of equal prefixes the lowest number first
// Of rows with different prefixes. NULL: no memory.
struct promoted *promoted_new(uint8_t family, unsigned side, const struct promoted_row *row,
                              uint32_t n, uint64_t epoch);
void promoted_free(struct promoted *p);
uint64_t promoted_bytes(const struct promoted *p);        // what readers may touch
uint64_t promoted_writer_bytes(const struct promoted *p);

// 0; -EEXIST: the prefix has a rule; -ENOSPC, -ENOMEM: nothing has changed.
int promoted_add(struct promoted *p, const struct acl_rule *r, uint32_t slot);
// The index to be given back after a grace period; 0: none.
uint32_t promoted_del(struct promoted *p, const struct acl_rule *r, uint32_t slot);
void promoted_give_back(struct promoted *p, uint32_t index);
void promoted_epoch(struct promoted *p);
void promoted_reclaim(struct promoted *p, uint64_t epoch);
int promoted_check(const struct promoted *p, char *why, size_t n);
bool promoted_has(const struct promoted *p, const struct acl_rule *r, uint32_t slot);

#endif
