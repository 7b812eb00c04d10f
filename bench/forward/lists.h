// SPDX-License-Identifier: BSD-3-Clause
// lists.h - access lists for forward_bench, and packets for them
//
// All rules permit, so that every packet takes the whole path and its verdict has its full cost.
#ifndef BENCH_LISTS_H
#define BENCH_LISTS_H

#include <stdint.h>

enum lists_case {
    LISTS_NO_CASE, // packets as in all other cases
    LISTS_NONE,    // packets for lists, without a list
    LISTS_EMPTY,   // a list without rules
    LISTS_BLOCKLIST, // one rule, an address set of a million members
    LISTS_FULL,    // also 10,000 five-tuple rules after it
    N_LISTS
};

void lists_make(void); // becomes ROLE_ACL_MANAGER
uint16_t lists_id(enum lists_case c); // 0 = nothing
// A source address, of which one in twenty is in the set, and ports; four bytes each.
void lists_packet(uint8_t *source, uint8_t *ports);

#endif
