// SPDX-License-Identifier: BSD-3-Clause
// prefix_rules.h - rules that check one side's prefix and nothing else: a Poptrie instead of tuples
//
// The Poptrie returns the index of the longest prefix that has a rule; first[index] is the
// lowest-numbered rule of that prefix and all prefixes around it, so one lookup decides. A change
// stores the results of the prefixes inside it, one 64-bit word each, and changes the Poptrie:
// readers see each address old or new. A freed index keeps its result until a grace period has
// passed.
//
// A prefix has one rule here. Further rules of the same prefix, and rules without a free index, go
// under a tuple.
#ifndef ACL_PREFIX_RULES_H
#define ACL_PREFIX_RULES_H

#include "acl/acl.h"

struct poptrie;

#define PREFIX_TABLES_MAX 4u // Poptries per family
#define PREFIX_RULE_NONE UINT64_MAX

struct prefix_rules {
    // readers
    struct poptrie *table;
    uint64_t *first; // [index] number << 32 | slot; [0]: PREFIX_RULE_NONE
    uint8_t side;    // 0: source
    // writer
    uint8_t family;
    // [index]: the prefix's rule. PREFIX_RULE_NONE: deleted, but memory was short to remove the
    // prefix
    uint64_t *own;
    uint32_t *free, n_free, room; // indexes
    uint32_t rules, length[129];  // number of prefixes by length
    int64_t ahead;                // the list's epoch minus the Poptrie's
};

struct prefix_rules_plan { // number of Poptries per side; 0: its rules go under tuples
    uint32_t tables[2], rules[2];
};

bool rule_is_by_prefix(const struct acl_rule *r, uint8_t family, unsigned *side);
// By the number of prefix rules on each side, and of all rules.
struct prefix_rules_plan prefix_rules_plan(const uint32_t by_prefix[2], uint32_t rules,
                                           uint8_t family, uint32_t from);
size_t prefix_rules_need(const struct prefix_rules_plan *plan); // for IPv4, estimate

struct prefix_rule_row {
    uint8_t key[16], len;
    uint64_t own;
};
void prefix_rule_row(struct prefix_rule_row *row, const struct acl_rule *r, uint32_t slot,
                     unsigned side);
// for qsort; equal prefixes by number
int prefix_rule_row_compare(const void *x, const void *y);
// From rows with different prefixes. NULL: no memory.
struct prefix_rules *prefix_rules_new(uint8_t family, unsigned side,
                                      const struct prefix_rule_row *row, uint32_t n,
                                      uint64_t epoch);
void prefix_rules_free(struct prefix_rules *p);
uint64_t prefix_rules_bytes(const struct prefix_rules *p); // memory of readers
uint64_t prefix_rules_writer_bytes(const struct prefix_rules *p);

// 0; -EEXIST: the prefix has a rule already; -ENOSPC, -ENOMEM: nothing has changed.
int prefix_rules_add(struct prefix_rules *p, const struct acl_rule *r, uint32_t slot);
// Returns the index to give back after a grace period; 0: none.
uint32_t prefix_rules_del(struct prefix_rules *p, const struct acl_rule *r, uint32_t slot);
void prefix_rules_give_back(struct prefix_rules *p, uint32_t index);
void prefix_rules_epoch(struct prefix_rules *p);
void prefix_rules_reclaim(struct prefix_rules *p, uint64_t epoch);
int prefix_rules_check(const struct prefix_rules *p, char *why, size_t n);
bool prefix_rules_has(const struct prefix_rules *p, const struct acl_rule *r, uint32_t slot);

#endif
