// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_check.c - checks the invariants of buckets, and computes the highest cost of a
// packet (lane_rules.h)
//
// Lanes are built from the rules and never change. So it suffices that each bucket is sorted and
// names only rules that there are, and that the first and the last address of each rule's prefix
// lead to buckets with all of its lanes.
#include "acl/lane_rules.h"

#include <errno.h>
#include <stdio.h>

#include "acl/lane_rules_find.h"

static uint32_t place_alive(const struct lane_rules *s, uint32_t place)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < place_lanes(place); i++)
        n += !lane_is_dead(s, place, i);
    return n;
}

uint32_t lane_rules_longest(const struct lane_rules *s)
{
    uint32_t both = 0;

    for (unsigned side = 0; side < 2; side++) {
        uint32_t longest = 0;

        for (uint32_t i = 0; i < s->n[side]; i++) {
            uint32_t n = place_alive(s, s->place[side][i]);

            longest = n > longest ? n : longest;
        }
        both += longest;
    }
    return both;
}

static uint32_t lanes_named(const struct lane_rules *s, uint32_t place, uint64_t name)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < place_lanes(place); i++)
        n += *lane_name(s, place, i) == name && !lane_is_dead(s, place, i);
    return n;
}

static const char *place_wrong(const struct lane_rules *s, uint32_t place,
                               const struct classifier *c, const struct classifier_rules *r,
                               const uint8_t *tuple)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < place_lanes(place); i++) {
        const uint64_t name = *lane_name(s, place, i);
        const uint32_t slot = (uint32_t)name;

        if (lane_is_dead(s, place, i))
            continue;
        if (name < last)
            return "a bucket is not sorted";
        if (r->rule[slot].number != name >> 32 || !(r->rule[slot].families & c->family) ||
            !is_under_tuple(tuple[slot]))
            return "a bucket has a lane of a rule that is not there";
        last = name;
    }
    return NULL;
}

static uint32_t place_of(const struct lane_rules *s, unsigned side, uint32_t addr)
{
    const uint16_t *words = s->net[side];
    uint32_t word = words[addr >> 16];

    for (int shift = 8; word & NET_DEEP; shift -= 8)
        word = net_chunk(words, word)[addr >> shift & (NET_CHUNK - 1)];
    return s->place[side][word];
}

static bool rule_is_there(const struct lane_rules *s, const struct acl_rule *r, uint32_t slot)
{
    const uint64_t name = (uint64_t)r->number << 32 | slot;
    uint8_t flag[8];
    uint32_t lanes = lane_flags(r, flag), addr;

    if (s->whole)
        return lanes_named(s, s->place[0][0], name) == lanes;
    for (unsigned side = 0; side < 2; side++) {
        const struct acl_side *in = side ? &r->dst : &r->src;
        const uint32_t mask = mask4(in->len);

        memcpy(&addr, in->addr, sizeof addr);
        addr = __builtin_bswap32(addr);
        if (lanes_named(s, place_of(s, side, addr & mask), name) == lanes &&
            lanes_named(s, place_of(s, side, addr | ~mask), name) == lanes)
            return true;
    }
    return false;
}

int lane_rules_check(const struct lane_rules *s, const struct classifier *c,
                     const struct classifier_rules *r, const uint8_t *tuple, char *why, size_t n)
{
    const char *wrong = NULL;

    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < s->n[side] && !wrong; i++)
            wrong = place_wrong(s, s->place[side][i], c, r, tuple);
    if (wrong)
        return rule_error(why, n, "%s", wrong);
    for (uint32_t i = 0; i < r->n; i++)
        if (is_for_tuples(c, r, i, tuple) && !rule_is_there(s, &r->rule[r->slot[i]], r->slot[i]))
            return rule_error(why, n, "rule %u is not in its lanes", r->rule[r->slot[i]].number);
    return 0;
}
