// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_block.h - access to the lanes of a bucket's blocks, for code that writes or checks
// buckets
//
// A place is a word of lane_rules.place: a bucket's first block and its number of blocks.
#ifndef ACL_LANE_RULES_BLOCK_H
#define ACL_LANE_RULES_BLOCK_H

#include "acl/lane_rules.h"

struct lanes_of_rule { // of one rule
    lane_row row[LANE_ROWS(WHOLE_WORDS(ACL_IP6))];
    uint64_t name;
    unsigned n;
};

// Prefix of a side of an IPv4 rule; bits beyond its length are cleared.
static inline struct net side_net(const struct acl_rule *r, unsigned side)
{
    const struct acl_side *from = side ? &r->dst : &r->src;
    uint32_t addr = (uint32_t)from->addr[0] << 24 | (uint32_t)from->addr[1] << 16 |
                    (uint32_t)from->addr[2] << 8 | from->addr[3];

    return (struct net){.addr = addr & mask4(from->len), .len = from->len};
}

static inline uint32_t blocks_most(bool whole) // of a bucket
{
    return whole ? WHOLE_BLOCKS : BUCKET_BLOCKS;
}

static inline uint64_t *bucket_names(const struct lane_rules *s, uint32_t ref)
{
    return s->whole ? s->name + ref * LANE_COUNT
                    : (uint64_t *)(bucket_rows(s, ref) + LANE_ROWS(s->words));
}

// Lanes are numbered through all blocks of a place.
static inline uint32_t place_ref(uint32_t place, uint32_t lane)
{
    return (place >> BUCKET_BLOCKS_BITS) + lane / LANE_COUNT;
}

static inline uint32_t place_lanes(uint32_t place)
{
    return (place & BUCKET_BLOCKS) * LANE_COUNT;
}

static inline uint64_t lane_name(const struct lane_rules *s, uint32_t place, uint32_t lane)
{
    return bucket_names(s, place_ref(place, lane))[lane % LANE_COUNT];
}

static inline bool lane_is_dead(const struct lane_rules *s, uint32_t place, uint32_t lane)
{
    return bucket_rows(s, place_ref(place, lane))[LANE_L4_MASK][lane % LANE_COUNT] == LANE_DEAD;
}

uint32_t place_alive(const struct lane_rules *s, uint32_t place);   // lanes in use
uint32_t bucket_units(const struct lane_rules *s, uint32_t blocks); // of the arena
// A bucket with so many lanes, all dead. 0: no room
uint32_t place_new(struct lane_rules *s, uint32_t rule_lanes);
// side: 0 if the source's prefix has the bucket, 1 if the destination's
void lanes_make(const struct lane_rules *s, struct lanes_of_rule *l, const struct acl_rule *r,
                uint32_t slot, unsigned side);
void lane_copy(const struct lane_rules *s, uint32_t place, uint32_t at, const lane_row *row,
               unsigned lane, uint64_t name);

#endif
