// SPDX-License-Identifier: BSD-3-Clause
// lane.c - writes a rule into one lane of the rows (lane.h)
//
// Addresses are stored with their masks applied. A lane can only demand that all of its flags are
// set, so a rule that accepts any of several TCP flags takes one lane for each. A flag that the
// rule also demands to be clear gets no lane, because no packet could match it.
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

unsigned lane_flags(const struct acl_rule *r, uint8_t flag[8])
{
    const struct rule_test t = rule_test(r);
    const uint8_t clear = (uint8_t)((t.mask & ~t.value) >> TEST_FLAGS); // must not be set
    unsigned n = 0;

    if (!t.any)
        flag[n++] = 0;
    for (unsigned flags = t.any; flags; flags &= flags - 1) {
        uint8_t one = (uint8_t)(flags & -flags);
        if (!(clear & one))
            flag[n++] = one;
    }
    return n;
}

void lane_put(lane_row *row, unsigned lane, const struct acl_rule *r, uint8_t flag,
              const struct lane_sides *sides, unsigned words)
{
    const struct rule_test t = rule_test(r);
    const uint32_t set = (uint32_t)flag << TEST_FLAGS;

    row[LANE_L4][lane] = t.value | set;
    row[LANE_L4_MASK][lane] = t.mask | set;
    row[LANE_PORT][lane] = t.port;
    row[LANE_SPAN][lane] = t.span;
    for (unsigned s = 0; s < sides->n; s++)
        side_put(row + LANE_ROWS(s * words), lane, sides->side[s], words);
}
