// SPDX-License-Identifier: BSD-3-Clause
// address_bucket_plain.c - shelves in plain C, whose loops over 16 lanes a compiler makes vectors
// of (address_bucket_find.h)
#include "acl/address_bucket_find.h"

#include <string.h>

SHELF_INLINE void differ(uint32_t *d, uint32_t have, const uint32_t *want, const uint32_t *mask)
{
    for (unsigned k = 0; k < LANE_COUNT; k++)
        d[k] |= (have ^ want[k]) & mask[k];
}

// Source port in the low half.
SHELF_INLINE void beyond(uint32_t *d, uint32_t have, const uint32_t *from, const uint32_t *span)
{
    uint16_t port[2] = {(uint16_t)have, (uint16_t)(have >> 16)};

    for (unsigned k = 0; k < LANE_COUNT; k++)
        d[k] |= ((uint16_t)(port[0] - (uint16_t)from[k]) > (uint16_t)span[k]) |
                ((uint16_t)(port[1] - (uint16_t)(from[k] >> 16)) > (uint16_t)(span[k] >> 16));
}

SHELF_INLINE void l4(uint32_t *d, const lane_row *row, const struct acl_key_l4 *k)
{
    uint32_t have[2];

    memcpy(have, k, sizeof have);
    differ(d, have[1], row[LANE_L4], row[LANE_L4_MASK]);
    beyond(d, have[0], row[LANE_PORT], row[LANE_SPAN]);
}

SHELF_INLINE unsigned same(const uint32_t *d)
{
    unsigned bits = 0;

    for (unsigned k = 0; k < LANE_COUNT; k++)
        bits |= (unsigned)!d[k] << k;
    return bits;
}

SHELF_INLINE unsigned match(const lane_row *row, const struct acl_key_l4 *k, uint32_t addr)
{
    uint32_t d[LANE_COUNT] = {0};

    differ(d, addr, row[LANE_ADDR], row[LANE_ADDR_MASK]);
    l4(d, row, k);
    return same(d);
}

void shelf_plain(const struct core *c, struct burst *b)
{
    shelves_ask(b, shelf_places_plain, match);
}
