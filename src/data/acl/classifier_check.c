// SPDX-License-Identifier: BSD-3-Clause
// classifier_check.c - checks all invariants of a classifier (acl_check); for tests
//
// The check begins with the rules: each must have its entry in the place that the writer has noted,
// and the prefilters and the filter must let its packets pass. Then the counts of tuples, set rules
// and prefix tables must add up, and the blocks must be sorted and hold exactly as many live
// entries as there are rules under tuples. So it finds a superfluous entry as well as a missing
// one. The first violation ends it with a sentence.
#include "acl/classifier_build.h"

#include <errno.h>

#include "acl/lane_rules.h"

static bool bitmap_lets_pass(const struct net_bitmap *f, unsigned tuple, const uint8_t *addr)
{
    unsigned i = (unsigned)addr[0] << 8 | addr[1];

    return !f->bits || f->always >> tuple & 1 || f->bits[i / 32] >> i % 32 & 1;
}

// Does the prefilter pass the rule's first address?
static bool side_lets_pass(const struct classifier *c, enum side_index s, unsigned tuple,
                           const struct acl_rule *r)
{
    const struct tuple_index *tuple_index = &c->tuple_index[s];
    const struct side_filter *side_filter =
        &c->side_filter[c->tuple[tuple].side_filter[s] % SIDE_FILTERS_MAX];
    struct acl_rule first = *r;
    struct acl_side *side = s == SIDE_SRC ? &first.src : &first.dst;

    for (unsigned bit = side->len; bit < 128; bit++)
        side->addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
    if (!bitmap_lets_pass(&c->bitmap[s], tuple, side->addr))
        return false;
    if (c->tuple[tuple].side_filter[s] != INDEX_NONE &&
        !filter_has(c,
                    rule_digest(c, s, &first, c->len[s][side_filter->level]) ^ side_filter->salt))
        return false;
    return tuple_index->level == INDEX_NONE ||
           ((*tuple_index_word(tuple_index,
                               rule_digest(c, s, &first, c->len[s][tuple_index->level])) |
             tuple_index->always) >>
                tuple &
            1);
}

// The rule is in the place that `tuple` names, and filter and prefilter let its packets pass.
static int rule_check(const struct classifier *c, const struct acl_rule *r, uint32_t slot,
                      unsigned tuple, char *why, size_t n)
{
    const struct tuple *t = &c->tuple[tuple];
    uint32_t key = tuple_key(c, t, r), ref = *head_of(c, key), i = 0;

    if (tuple >= c->n_tuples)
        return rule_error(why, n, "rule %u is of tuple %u, there are %u", r->number, tuple,
                          c->n_tuples);
    if (!filter_has(c, key))
        return rule_error(why, n, "the filter lacks rule %u", r->number);
    for (unsigned s = 0; s < 2; s++)
        if (!side_lets_pass(c, s, tuple, r))
            return rule_error(why, n, "the prefilter of side %u lacks rule %u", s, r->number);
    while (ref &&
           (entry_l4_at(c, ref, i)->slot != slot || entry_l4_is_dead(entry_l4_at(c, ref, i)))) {
        if (entry_l4_at(c, ref, i)->is & ENTRY_LAST)
            ref = 0;
        i++;
    }
    if (!ref)
        return rule_error(why, n, "rule %u is not in its block", r->number);
    if (entry_l4_at(c, ref, i)->number != r->number)
        return rule_error(why, n, "slot %u has number %u instead of %u", slot,
                          entry_l4_at(c, ref, i)->number, r->number);
    return 0;
}

static int prefix_rule_check(const struct classifier *c, const struct acl_rule *r, uint32_t slot,
                             unsigned at, char *why, size_t n)
{
    if (at < c->n_prefix_tables && prefix_rules_has(c->prefix_table[at], r, slot))
        return 0;
    return rule_error(why, n, "rule %u is in no prefix table", r->number);
}

static int prefix_tables_check(const struct classifier *c, uint32_t rules, char *why, size_t n)
{
    int rc = 0;

    for (unsigned i = 0; i < c->n_prefix_tables && !rc; i++) {
        rc = prefix_rules_check(c->prefix_table[i], why, n);
        rules -= c->prefix_table[i]->rules;
    }
    return rc || !rules ? rc : rule_error(why, n, "%u prefix rules are in no table", rules);
}

static int set_rule_check(const struct classifier *c, const struct acl_rule *r, uint32_t slot,
                          char *why, size_t n)
{
    for (unsigned i = 0; i < c->n_set_rules; i++)
        if (c->set_rule[i].slot == slot && c->set_rule[i].number == r->number)
            return 0;
    return rule_error(why, n, "rule %u is not among the set rules", r->number);
}

// Blocks are sorted and contain exactly the rules.
static int blocks_check(const struct classifier *c, uint32_t rules, char *why, size_t n)
{
    uint32_t alive = 0;

    for (uint32_t h = 0; h < 1u << (32 - c->head_shift); h++) {
        uint32_t ref = c->head[h], i = 0;

        for (bool more = ref != 0; more; i++) {
            const struct entry_l4 *e = entry_l4_at(c, ref, i);

            if (ref + i >= c->arena.top)
                return rule_error(why, n, "the block of head %u runs over", h);
            if (i && e[0].number <= entry_l4_at(c, ref, i - 1)->number && !entry_l4_is_dead(e))
                return rule_error(why, n, "the block of head %u is not sorted", h);
            alive += !entry_l4_is_dead(e);
            more = !(e->is & ENTRY_LAST);
        }
    }
    return alive == rules ? 0
                          : rule_error(why, n, "there are %u entries of %u rules", alive, rules);
}

int classifier_check(const struct classifier *c, const struct classifier_rules *r,
                     const uint8_t *tuple, char *why, size_t n)
{
    uint32_t count[TUPLES_MAX] = {0}, rules = 0, in_set_rules = 0, in_prefix_tables = 0;
    int rc = 0;

    for (uint32_t i = 0; i < r->n && !rc; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];

        if (!(rule->families & c->family))
            continue;
        if (tuple[r->slot[i]] == PLACE_SET_RULE) {
            rc = set_rule_check(c, rule, r->slot[i], why, n);
            in_set_rules++;
            continue;
        }
        if (is_prefix_rule(tuple[r->slot[i]])) {
            rc = prefix_rule_check(c, rule, r->slot[i], tuple[r->slot[i]] - PLACE_PREFIX_TABLE, why,
                                   n);
            in_prefix_tables++;
            continue;
        }
        if (rule->number < c->least)
            return rule_error(
                why, n, "rule %u comes before %u, which is said to be the first under a tuple",
                rule->number, c->least);
        rc = rule_check(c, rule, r->slot[i], tuple[r->slot[i]], why, n);
        count[tuple[r->slot[i]] % TUPLES_MAX]++;
        rules++;
    }
    for (unsigned t = 0; t < TUPLES_MAX && !rc; t++)
        if (count[t] != (t < c->n_tuples ? c->tuple[t].rules : 0))
            rc = rule_error(why, n, "tuple %u counts %u rules and has %u", t, c->tuple[t].rules,
                            count[t]);
    if (!rc && (rules != c->in_tuples || rules + in_set_rules + in_prefix_tables != c->rules))
        rc = rule_error(
            why, n, "%u rules are under tuples and %u beside them; %u and %u are counted", rules,
            in_set_rules + in_prefix_tables, c->in_tuples, c->rules - c->in_tuples);
    if (!rc)
        rc = prefix_tables_check(c, in_prefix_tables, why, n);
    if (!rc && c->lanes)
        rc = lane_rules_check(c->lanes, c, r, tuple, why, n);
    return rc ? rc : blocks_check(c, rules, why, n);
}
