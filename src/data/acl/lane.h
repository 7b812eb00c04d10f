// SPDX-License-Identifier: BSD-3-Clause
// lane.h - rules laid out as SIMD lanes: a packet is compared with 16 of them at once
//
// For lane_rules.h. Each rule is one lane of several rows of 16 words: each word of a packet
// (ports, the rest of acl_key_l4, address words, all in memory order) has a row of values and a row
// of masks, or of spans for ports. Address sets have no row. A rule for "established" takes a lane
// for each of the flags.
#ifndef ACL_LANE_H
#define ACL_LANE_H

#include "acl/acl.h"

#define LANE_COUNT 16u
#define LANE_WORDS(family) ((family) == ACL_IP4 ? 1u : 4u) // of an address
#define LANE_DEAD 0xff000000u // in LANE_L4_MASK: no match, as every packet is some part

enum lane_row {
    LANE_L4,
    LANE_L4_MASK,
    LANE_PORT,
    LANE_SPAN,
    LANE_ADDR,
    LANE_ADDR_MASK
}; // then the other address words, two rows each
#define LANE_ROWS(words) (LANE_ADDR + 2 * (words))

typedef uint32_t lane_row[LANE_COUNT];

struct lane_sides { // the addresses in the rows
    const struct acl_side *side[2];
    unsigned n;
};

// Flags for the lanes of the rule; returns their number.
unsigned lane_flags(const struct acl_rule *r, uint8_t flag[8]);
// Writes the lane for one of these flags.
void lane_put(lane_row *row, unsigned lane, const struct acl_rule *r, uint8_t flag,
              const struct lane_sides *sides, unsigned words);

#endif
