// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_plain.c - buckets in plain C; the compiler vectorizes the loops over 16 lanes
// (lane_rules_find.h)
#include "acl/lane_rules_find.h"

#include <string.h>

BUCKET_INLINE void lanes_differ(uint32_t *d, uint32_t have, const uint32_t *want,
                                const uint32_t *mask)
{
    for (unsigned k = 0; k < LANE_COUNT; k++)
        d[k] |= (have ^ want[k]) & mask[k];
}

// The source port is in the low half.
BUCKET_INLINE void lanes_beyond(uint32_t *d, uint32_t have, const uint32_t *from,
                                const uint32_t *span)
{
    uint16_t port[2] = {(uint16_t)have, (uint16_t)(have >> 16)};

    for (unsigned k = 0; k < LANE_COUNT; k++)
        d[k] |= ((uint16_t)(port[0] - (uint16_t)from[k]) > (uint16_t)span[k]) |
                ((uint16_t)(port[1] - (uint16_t)(from[k] >> 16)) > (uint16_t)(span[k] >> 16));
}

BUCKET_INLINE void lanes_differ_l4(uint32_t *d, const lane_row *row, const struct acl_key_l4 *k)
{
    uint32_t have[2];

    memcpy(have, k, sizeof have);
    lanes_differ(d, have[1], row[LANE_L4], row[LANE_L4_MASK]);
    lanes_beyond(d, have[0], row[LANE_PORT], row[LANE_SPAN]);
}

BUCKET_INLINE unsigned lanes_same(const uint32_t *d)
{
    unsigned bits = 0;

    for (unsigned k = 0; k < LANE_COUNT; k++)
        bits |= (unsigned)!d[k] << k;
    return bits;
}

BUCKET_INLINE unsigned block_match_plain(const lane_row *row, const struct acl_key_l4 *k,
                                         uint32_t addr)
{
    uint32_t d[LANE_COUNT] = {0};

    lanes_differ(d, addr, row[LANE_ADDR], row[LANE_ADDR_MASK]);
    lanes_differ_l4(d, row, k);
    return lanes_same(d);
}

void lane_rules_near_plain(const struct classifier *c, struct key_burst *b)
{
    buckets_match(b, bucket_places_plain, block_match_plain);
}
