// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_check.c - checks the invariants of buckets, and computes the highest cost of a
// packet (lane_rules.h)
#include "acl/lane_rules_block.h"

#include <errno.h>
#include <stdio.h>

uint32_t lane_rules_longest(const struct lane_rules *s)
{
    uint32_t both = 0;

    if (s->whole)
        return place_alive(s, s->place[0][0]);
    for (unsigned side = 0; side < 2; side++) {
        uint32_t longest = 0;

        for (uint32_t i = 0; i < s->nets[side].n; i++) {
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
        n += lane_name(s, place, i) == name && !lane_is_dead(s, place, i);
    return n;
}

static const char *place_wrong(const struct lane_rules *s, uint32_t place)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < place_lanes(place); i++) {
        if (lane_is_dead(s, place, i))
            continue;
        if (lane_name(s, place, i) < last)
            return "a bucket is not sorted";
        last = lane_name(s, place, i);
    }
    return NULL;
}

// Adds the number of lanes found to *copies.
static const char *rule_wrong(const struct lane_rules *s, const struct acl_rule *r, uint32_t slot,
                              uint64_t *copies)
{
    const uint64_t name = (uint64_t)r->number << 32 | slot;
    uint8_t flag[8];
    uint32_t lanes = lane_flags(r, flag);

    if (s->whole) {
        *copies += lanes;
        return lanes_named(s, s->place[0][0], name) == lanes ? NULL : "a rule is not in its lanes";
    }
    for (unsigned side = 0; side < 2 && lanes; side++) {
        const struct net p = side_net(r, side);
        const struct nets *t = &s->nets[side];
        uint32_t at = nets_at(t, p.addr, p.len);

        if (at == t->n || t->net[at].addr != p.addr || t->net[at].len != p.len ||
            !lanes_named(s, s->place[side][t->net[at].number], name))
            continue;
        for (; at < t->n && net_inside(&t->net[at], p.addr, p.len); at++, *copies += lanes)
            if (lanes_named(s, s->place[side][t->net[at].number], name) != lanes)
                return "a rule is not in all buckets inside its prefix, or has lanes too many or "
                       "too few";
        return NULL;
    }
    return lanes ? "a rule is in no bucket" : NULL;
}

static const char *buckets_wrong(const struct lane_rules *s, const struct classifier *c,
                                 const struct classifier_rules *r, const uint8_t *tuple)
{
    uint64_t lanes = s->whole ? place_alive(s, s->place[0][0]) : 0, copies = 0;
    const char *wrong = s->whole ? place_wrong(s, s->place[0][0]) : NULL;

    for (unsigned side = 0; side < 2 && !wrong && !s->whole; side++) {
        if (!nets_check(&s->nets[side]))
            return "an address finds another prefix's bucket";
        for (uint32_t i = 0; i < s->nets[side].n && !wrong; i++) {
            wrong = place_wrong(s, s->place[side][i]);
            lanes += place_alive(s, s->place[side][i]);
        }
    }
    for (uint32_t i = 0; i < r->n && !wrong; i++)
        if (is_for_tuples(c, r, i, tuple))
            wrong = rule_wrong(s, &r->rule[r->slot[i]], r->slot[i], &copies);
    return wrong             ? wrong
           : copies != lanes ? "buckets have lanes of rules that are not there"
                             : NULL;
}

int lane_rules_check(const struct lane_rules *s, const struct classifier *c,
                     const struct classifier_rules *r, const uint8_t *tuple, char *why, size_t n)
{
    const char *wrong = buckets_wrong(s, c, r, tuple);

    if (wrong)
        snprintf(why, n, "%s", wrong);
    return wrong ? -EINVAL : 0;
}
