// SPDX-License-Identifier: BSD-3-Clause
// linear_match.c - see linear_match.h
#include "acl/linear_match.h"

#include <string.h>

static void linear_put(struct linear_rules *f, unsigned at, const struct classifier *c,
                       const struct acl_rule *r, uint32_t slot, uint8_t flag)
{
    const struct lane_sides both = {{&r->src, &r->dst}, 2};

    lane_put(f->row[at / LANE_COUNT], at % LANE_COUNT, r, flag, &both, LANE_WORDS(c->family));
    f->number[at] = r->number;
    f->slot[at] = slot;
}

// Appends the rule's entries; false: no room.
static bool linear_put_rule(struct linear_rules *f, unsigned *n, const struct classifier *c,
                            const struct acl_rule *r, uint32_t slot)
{
    uint8_t flag[8];
    unsigned lanes = lane_flags(r, flag);

    if (*n + lanes > LINEAR_ENTRIES)
        return false;
    for (unsigned i = 0; i < lanes; i++)
        linear_put(f, (*n)++, c, r, slot, flag[i]);
    return true;
}

unsigned linear_match_build(struct linear_rules *f, const struct classifier *c,
                            const struct classifier_rules *r, const uint8_t *tuple)
{
    unsigned n = 0;

    if (!c->in_tuples || c->in_tuples > LINEAR_ENTRIES || c->sets[0] || c->sets[1])
        return 0;
    memset(f, 0, sizeof *f);
    memset(f->number, 0xff, sizeof f->number);
    memset(f->slot, 0xff, sizeof f->slot);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];

        if (is_for_tuples(c, r, i, tuple) && !linear_put_rule(f, &n, c, rule, r->slot[i]))
            return 0;
    }
    unsigned blocks = (n + LANE_COUNT - 1) / LANE_COUNT;
    for (unsigned at = n; at < blocks * LANE_COUNT; at++)
        f->row[at / LANE_COUNT][LANE_L4_MASK][at % LANE_COUNT] = LANE_DEAD;
    return blocks;
}
