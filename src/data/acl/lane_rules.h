// SPDX-License-Identifier: BSD-3-Clause
// lane_rules.h - rules side by side in lanes: compares a packet with 16 of them at once (lane.h)
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
// it. One table per side finds an address's bucket (lane_rules_net.h). A packet is compared with
// both buckets, and the lower number wins; if its addresses have none, it is done after two table
// lookups. Rules from any to any are in all buckets of one side, including the bucket for all other
// addresses.
//
// Tuples of the same rules are kept ready (classifier.h): they are used if there are too many rules
// for one form and too few or too many for the other, if a bucket would be too long or all of them
// too large, and if rules under tuples name sets.
//
// A change rebuilds the bucket, or the buckets of its prefix and of the prefixes inside it, and
// publishes each by one store; a deleted rule is only marked. A packet reads one bucket per side,
// so it sees a rule either completely or not at all. When there is no room left, readers fall back
// to tuples until a grace period has passed and the list has built new lanes.
#ifndef ACL_LANE_RULES_H
#define ACL_LANE_RULES_H

#include "acl/arena.h"
#include "acl/classifier.h"
#include "acl/lane.h"
#include "acl/lane_rules_net.h"

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

struct bucket_garbage { // waits for a grace period
    uint64_t epoch;
    uint32_t ref, n;
};

struct lane_rules {
    // readers; by side
    struct nets nets[2];
    // by number of the prefix: first block << BUCKET_BLOCKS_BITS | blocks; [0]: all other addresses
    uint32_t *place[2];
    uint8_t *block;
    uint64_t *name; // whole: [unit][LANE_COUNT], side by side for a bucket; [WHOLE_LANES]: no rule
    bool whole;     // only place[0][0], for all packets
    bool behind_prefilter; // many rules: run the prefilter first
    uint8_t words;         // of addresses in a lane
    // writer
    uint64_t epoch; // when readers were sent to tuples instead
    struct arena arena;
    size_t bytes;                   // mapped; without garbage
    struct bucket_garbage *garbage; // [garbage_from, n_garbage), by epoch
    uint32_t garbage_from, n_garbage, garbage_room;
};

// Builds them from the classifier's rules under tuples. NULL: lanes do not pay, or memory is short.
// rule: [slot]
struct lane_rules *lane_rules_new(const struct acl_config *cfg, const struct classifier *c,
                                  const struct acl_rule *rule);
size_t lane_rules_need(uint8_t family); // bytes of a whole bucket
void lane_rules_free(struct lane_rules *s);
uint64_t lane_rules_bytes(const struct lane_rules *s); // memory of readers
uint64_t lane_rules_writer_bytes(const struct lane_rules *s);
// most rules compared with a packet
uint32_t lane_rules_longest(const struct lane_rules *s);

// 0, or -ENOSPC, -ENOMEM: some buckets lack the rule, so readers must not use them.
int lane_rules_add(struct lane_rules *s, const struct acl_rule *r, uint32_t slot, uint64_t epoch);
void lane_rules_del(struct lane_rules *s, const struct acl_rule *r, uint32_t slot);
void lane_rules_reclaim(struct lane_rules *s, uint64_t epoch);
int lane_rules_check(const struct lane_rules *s, const struct classifier *c,
                     const struct classifier_rules *r, const uint8_t *tuple, char *why, size_t n);

static inline lane_row *bucket_rows(const struct lane_rules *s, uint32_t ref)
{
    return (lane_row *)(s->block + ref * s->arena.unit);
}

#endif
