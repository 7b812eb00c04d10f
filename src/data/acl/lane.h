// SPDX-License-Identifier: BSD-3-Clause
// lane.h - rules side by side: a packet is compared with 16 of them at once
//
// Each rule is a lane of some rows of 16 words: one row for each word of a packet (the rest of
// acl_key_l4, ports, words of addresses), in memory order as packets have it, and one for its mask,
// or for the span of the ports. Every field is there but address sets. A rule for "established"
// takes a lane for each flag that will do.
#ifndef ACL_LANE_H
#define ACL_LANE_H

#include "acl/acl.h"

#define LANE_COUNT 16u
#define LANE_WORDS(family) ((family) == ACL_IP4 ? 1u : 4u) // of an address
#define LANE_DEAD 0xff000000u // in LANE_L4_MASK: no packet is of no part

enum lane_row {
    LANE_L4,
    LANE_L4_MASK,
    LANE_PORT,
    LANE_SPAN,
    LANE_ADDR,
    LANE_ADDR_MASK
}; // of address words: every second row
#define LANE_ROWS(words) (LANE_ADDR + 2 * (words))

typedef uint32_t lane_row[LANE_COUNT];

struct lane_sides { // which addresses the rows have
    const struct acl_side *side[2];
    unsigned n;
};

// Lanes that the rule takes.
unsigned lane_flags(const struct acl_rule *r, uint8_t flag[8]);
// One of them, for flag[i].
void lane_put(lane_row *row, unsigned lane, const struct acl_rule *r, uint8_t flag,
              const struct lane_sides *sides, unsigned words);

#endif
