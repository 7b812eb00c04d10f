// SPDX-License-Identifier: BSD-3-Clause
// lane_rules.h - rules side by side in lanes: compares a packet with 16 of them at once
//
// Each rule is one lane of several rows of 16 words: each word of a packet (ports, the rest of
// acl_key_l4, address words, all in memory order) has a row of values and a row of masks, or of
// spans for ports. Address sets have no row. A rule for "established" takes a lane for each of the
// flags.
//
// A bucket is a row of blocks of 16 rules, sorted by number. There are two forms:
//
//     whole      up to 64 lanes: one bucket of all rules, which every packet is compared with; a
//                dozen instructions compare 16
//     by prefix  IPv4, up to some thousand rules: a packet is compared with the rules near its
//                source and near its destination
//
// By prefix, each rule is filed under its source or destination prefix, whichever overlaps fewer
// other rules. Each such prefix has a bucket: the rules of that prefix and of all prefixes around
// it. One table per side finds an address's bucket (lane_rules_find.h). A packet is compared with
// both buckets, and the lower number wins; if its addresses have none, it is done after two table
// lookups. Rules from any to any are in all buckets of one side, including the bucket for all other
// addresses.
//
// Tuples of the same rules are kept ready (classifier.h): they are used if there are too many rules
// for one form and too few or too many for the other, if a bucket would be too long or all of them
// too large, and if rules under tuples name sets.
//
// Lanes never change: with each change of a rule, the list builds new ones and publishes them by
// one store. Readers may see the former ones until a grace period has passed; further changes
// meanwhile send readers to tuples, so that at most two sets of lanes wait for their end.
#ifndef ACL_LANE_RULES_H
#define ACL_LANE_RULES_H

#include "acl/classifier.h"

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

#define BUCKET_BLOCKS_BITS 4u
#define BUCKET_BLOCKS ((1u << BUCKET_BLOCKS_BITS) - 1) // per bucket
#define WHOLE_BLOCKS 4u                                // if it is the only one
#define WHOLE_LANES (WHOLE_BLOCKS * LANE_COUNT)
#define BUCKET_WORDS LANE_WORDS(ACL_IP4) // of the other address; a whole bucket has both addresses
#define WHOLE_WORDS(family) (2 * LANE_WORDS(family))
// each lane's number << 32 | slot; by prefix they are behind a block's rows
#define BUCKET_NAMES (LANE_COUNT * sizeof(uint64_t))
#define BUCKET_UNIT (LANE_ROWS(BUCKET_WORDS) * sizeof(lane_row) + BUCKET_NAMES)
#define WHOLE_UNIT(family) (LANE_ROWS(WHOLE_WORDS(family)) * sizeof(lane_row))

struct lane_rules {
    // readers; by side
    const uint16_t *net[2]; // leads from an address to the number of its prefix: lane_rules_find.h
    // by number of the prefix: first block << BUCKET_BLOCKS_BITS | blocks; [0]: all other addresses
    uint32_t *place[2];
    uint8_t *block;
    uint64_t *name; // whole: [unit][LANE_COUNT], side by side for a bucket; [WHOLE_LANES]: no rule
    bool whole;     // only place[0][0], for all packets
    bool behind_prefilter; // many rules: run the prefilter first
    uint8_t words;         // of addresses in a lane
    // writer
    uint64_t epoch; // when readers were sent elsewhere
    struct lane_rules *next;
    size_t bytes;
    uint32_t unit;      // bytes of a block
    uint32_t n[2];      // prefixes of each side
    uint32_t next_unit; // while it is built; the first one is unused
};

// Builds them from the classifier's rules under tuples. NULL: lanes do not pay, or memory is short.
// rule, tuple: [slot]
struct lane_rules *lane_rules_new(const struct acl_config *cfg, const struct classifier *c,
                                  const struct acl_rule *rule, const struct acl_order *order,
                                  const uint8_t *tuple);
size_t lane_rules_need(uint8_t family); // bytes of a whole bucket
// Frees old ones, which are newest first, if the newest was retired in this epoch or before.
void lane_rules_reclaim(struct lane_rules **old, uint64_t epoch);
// most rules compared with a packet
uint32_t lane_rules_longest(const struct lane_rules *s);
int lane_rules_check(const struct lane_rules *s, const struct classifier *c,
                     const struct classifier_rules *r, const uint8_t *tuple, char *why, size_t n);

// --- a bucket's lanes, numbered through all blocks of its place; for the builder and the check ---

static inline lane_row *bucket_rows(const struct lane_rules *s, uint32_t place, uint32_t lane)
{
    return (lane_row *)(s->block +
                        (size_t)((place >> BUCKET_BLOCKS_BITS) + lane / LANE_COUNT) * s->unit);
}

static inline uint32_t place_lanes(uint32_t place)
{
    return (place & BUCKET_BLOCKS) * LANE_COUNT;
}

// number << 32 | slot of the lane's rule
static inline uint64_t *lane_name(const struct lane_rules *s, uint32_t place, uint32_t lane)
{
    if (s->whole)
        return &s->name[(place >> BUCKET_BLOCKS_BITS) * LANE_COUNT + lane];
    return (uint64_t *)(bucket_rows(s, place, lane) + LANE_ROWS(s->words)) + lane % LANE_COUNT;
}

// Flags for the lanes of the rule; returns their number.
unsigned lane_flags(const struct acl_rule *r, uint8_t flag[8]);

static inline bool lane_is_dead(const struct lane_rules *s, uint32_t place, uint32_t lane)
{
    return bucket_rows(s, place, lane)[LANE_L4_MASK][lane % LANE_COUNT] == LANE_DEAD;
}

#endif
