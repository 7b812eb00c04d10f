// SPDX-License-Identifier: BSD-3-Clause
// few.h - up to 64 rules compared one and all, 16 at a time
//
// For few rules nothing is quicker than to look at all of them: each rule is a lane of some rows of 16, one row for each word of a packet
// (addresses, ports, the rest of acl_key_l4) and its mask, and a packet is held against 16 rules with a dozen instructions. The first lane
// that is left is the rule. Every field is there but address sets. A rule for "established" is one entry for each flag that will do.
//
// Beside the tuples of the same rules (core.h). A change turns it off, by one store, and readers ask the tuples; when a grace period
// has passed, nobody reads it any more, and it is made again where it is.
#ifndef ACL_FEW_H
#define ACL_FEW_H

#include "acl/core.h"

#define FEW_LANES 16u
#define FEW_BLOCKS 4u
#define FEW_ENTRIES (FEW_LANES * FEW_BLOCKS)
#define FEW_WORDS(family) ((family) == ACL_IP4 ? 2u : 8u) // of both addresses, source first

enum few_row { FEW_L4, FEW_L4_MASK, FEW_PORT, FEW_SPAN, FEW_ADDR, FEW_ADDR_MASK, FEW_ROWS = FEW_ADDR + 2 * 8 }; // of words: every second row

struct few {
    _Alignas(64) uint32_t row[FEW_BLOCKS][FEW_ROWS][FEW_LANES]; // in memory order, as packets have them; ports: source port in the low half
    uint32_t number[FEW_ENTRIES + 1], slot[FEW_ENTRIES + 1]; // the last one: no rule
};

// How many blocks the core's rules under tuples take; 0: there are too many, or none, or they name address sets. Nobody may read *f.
unsigned few_make(struct few *f, const struct core *c, const struct core_rules *r, const uint8_t *tuple);

#endif
