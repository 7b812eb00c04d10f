// SPDX-License-Identifier: BSD-3-Clause
// lane.c - see lane.h
#include "acl/lane.h"

#include <string.h>

#include "acl/rule.h"

static uint32_t word_at(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static void side_put(lane_row *row, unsigned lane, const struct acl_side *s, unsigned words)
{
    uint8_t mask[16] = {0}, addr[16];

    for (unsigned bit = 0; bit < s->len; bit++)
        mask[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
    for (unsigned i = 0; i < sizeof addr; i++)
        addr[i] = s->addr[i] & mask[i];
    for (unsigned w = 0; w < words; w++) {
        row[2 * w][lane] = word_at(addr + 4 * w);
        row[2 * w + 1][lane] = word_at(mask + 4 * w);
    }
}

// The last four bytes of acl_key_l4.
static uint32_t l4_word(uint8_t proto, uint8_t flags, uint8_t dscp, uint8_t part)
{
    return proto | (uint32_t)flags << 8 | (uint32_t)dscp << 16 | (uint32_t)part << 24;
}

unsigned lane_flags(const struct acl_rule *r, uint8_t flag[8])
{
    unsigned n = 0;

    if (!r->tcp_any)
        flag[n++] = 0;
    for (unsigned flags = r->tcp_any; flags; flags &= flags - 1) {
        uint8_t one = (uint8_t)(flags & -flags);
        if (!(r->tcp_mask & one & ~r->tcp_value)) // else the flag must not be set
            flag[n++] = one;
    }
    return n;
}

void lane_put(lane_row *row, unsigned lane, const struct acl_rule *r, uint8_t flag,
              const struct lane_sides *sides, unsigned words)
{
    uint8_t not_part = (uint8_t)(ACL_ANY_PART & ~r->part) | (rule_needs_header(r) ? ACL_LATER : 0);
    bool any_dscp = r->dscp == ACL_DSCP_ANY;

    row[LANE_L4][lane] =
        l4_word(r->proto_any ? 0 : r->proto, r->tcp_value | flag, any_dscp ? 0 : r->dscp, 0);
    row[LANE_L4_MASK][lane] =
        l4_word(r->proto_any ? 0 : 0xff, r->tcp_mask | flag, any_dscp ? 0 : 0xff, not_part);
    row[LANE_PORT][lane] = r->sport[0] | (uint32_t)r->dport[0] << 16;
    row[LANE_SPAN][lane] =
        (uint32_t)(r->sport[1] - r->sport[0]) | (uint32_t)(r->dport[1] - r->dport[0]) << 16;
    for (unsigned s = 0; s < sides->n; s++)
        side_put(row + LANE_ROWS(s * words), lane, sides->side[s], words);
}
