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

#define PREFIX_TABLES_MAX 4u // Poptries of a family
#define PREFIX_RULE_NONE UINT64_MAX

struct prefix_rules {
    // readers
    struct poptrie *table;
    uint64_t *first; // [index] number << 32 | slot; [0]: PROMOTED_NONE
    uint8_t side;    // 0: source
    // writer
    uint8_t family;
    // [index]: the prefix's rule; PROMOTED_NONE: it had one, and no memory to forget the prefix
    uint64_t *own;
    uint32_t *free, n_free, room; // indexes
    uint32_t rules, length[129];  // prefixes of each length
    uint64_t limit;               // bytes, 0 = none
    int64_t ahead;                // what an epoch of the list is ahead of the Poptrie's
};

struct prefix_rules_plan { // how many Poptries for each side; 0: its rules go under tuples
    uint32_t tables[2], rules[2];
};

bool rule_is_by_prefix(const struct acl_rule *r, uint8_t family, unsigned *side);
// From the number of promotable rules of each side, and of all.
struct prefix_rules_plan prefix_rules_plan(const uint32_t by_prefix[2], uint32_t rules,
                                           uint8_t family, uint32_t from);
size_t prefix_rules_need(const struct prefix_rules_plan *plan); // bytes, about; of IPv4

struct prefix_rule_row {
    uint8_t key[16], len;
    uint64_t own;
};
void prefix_rule_row(struct prefix_rule_row *row, const struct acl_rule *r, uint32_t slot,
                     unsigned side);
// for qsort; of equal prefixes the lowest number first
int prefix_rule_row_compare(const void *x, const void *y);
// Of rows with different prefixes. NULL: no memory.
struct prefix_rules *prefix_rules_new(uint8_t family, unsigned side,
                                      const struct prefix_rule_row *row, uint32_t n,
                                      uint64_t epoch);
void prefix_rules_free(struct prefix_rules *p);
uint64_t prefix_rules_bytes(const struct prefix_rules *p); // what readers may touch
uint64_t prefix_rules_writer_bytes(const struct prefix_rules *p);

// 0; -EEXIST: the prefix has a rule; -ENOSPC, -ENOMEM: nothing has changed.
int prefix_rules_add(struct prefix_rules *p, const struct acl_rule *r, uint32_t slot);
// The index to be given back after a grace period; 0: none.
uint32_t prefix_rules_del(struct prefix_rules *p, const struct acl_rule *r, uint32_t slot);
void prefix_rules_give_back(struct prefix_rules *p, uint32_t index);
void prefix_rules_epoch(struct prefix_rules *p);
void prefix_rules_reclaim(struct prefix_rules *p, uint64_t epoch);
int prefix_rules_check(const struct prefix_rules *p, char *why, size_t n);
bool prefix_rules_has(const struct prefix_rules *p, const struct acl_rule *r, uint32_t slot);

#endif
