// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_block.c - allocates a bucket's blocks and fills their lanes (lane_rules_block.h)
//
// All lanes of a new block are dead: LANE_DEAD in the mask matches no packet, and all bits of the
// name are set, which means no rule. lane_copy() copies one lane, from a rule or from another
// bucket, together with the name of its rule.
#include "acl/lane_rules_block.h"

#include <string.h>

uint32_t place_alive(const struct lane_rules *s, uint32_t place)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < place_lanes(place); i++)
        n += !lane_is_dead(s, place, i);
    return n;
}

uint32_t bucket_units(const struct lane_rules *s, uint32_t blocks)
{
    return s->whole ? WHOLE_BLOCKS + 1 : blocks; // one more for the name of no rule
}

uint32_t place_new(struct lane_rules *s, uint32_t rule_lanes)
{
    // a whole bucket without lanes has a block, too, so that readers find the name of no rule
    uint32_t n = (rule_lanes + s->whole * !rule_lanes + LANE_COUNT - 1) / LANE_COUNT,
             units = bucket_units(s, n),
             ref = n && n <= blocks_most(s->whole) ? arena_alloc(&s->arena, units) : 0;

    for (uint32_t i = 0; i < units && ref; i++) {
        lane_row *row = bucket_rows(s, ref + i);

        memset(row, 0, s->arena.unit);
        for (unsigned lane = 0; lane < LANE_COUNT; lane++)
            row[LANE_L4_MASK][lane] = LANE_DEAD;
        memset(bucket_names(s, ref + i), 0xff, BUCKET_NAMES);
    }
    return ref ? ref << BUCKET_BLOCKS_BITS | n : 0;
}

void lanes_make(const struct lane_rules *s, struct lanes_of_rule *l, const struct acl_rule *r,
                uint32_t slot, unsigned side)
{
    const struct lane_sides in_rows = s->whole ? (struct lane_sides){{&r->src, &r->dst}, 2}
                                               : (struct lane_sides){{side ? &r->src : &r->dst}, 1};
    uint8_t flag[8];

    l->n = lane_flags(r, flag);
    l->name = (uint64_t)r->number << 32 | slot;
    for (unsigned i = 0; i < l->n; i++)
        lane_put(l->row, i, r, flag[i], &in_rows, s->words / in_rows.n);
}

void lane_copy(const struct lane_rules *s, uint32_t place, uint32_t at, const lane_row *row,
               unsigned lane, uint64_t name)
{
    uint32_t ref = place_ref(place, at);
    lane_row *to = bucket_rows(s, ref);

    for (unsigned r = 0; r < LANE_ROWS(s->words); r++)
        to[r][at % LANE_COUNT] = row[r][lane];
    bucket_names(s, ref)[at % LANE_COUNT] = name;
}
