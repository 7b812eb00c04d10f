// SPDX-License-Identifier: BSD-3-Clause
// classifier_cost.c - the highest cost of a packet: `show acl NAME cost`
//
// The maxima are counted in the structures that readers use. The mean number of filter lookups
// comes from a sample of the rules: for each, it counts the tuples that the prefilter leaves open
// for a matching packet.
#include "acl/classifier_build.h"
#include "acl/list.h"
#include "acl/lane_rules.h"

#define SAMPLE 1024u // rules

// Filter lookups for a packet with the first addresses that the rule covers.
static unsigned probes_of(const struct classifier *c, const struct acl_rule *r)
{
    uint32_t open = 0;

    for (unsigned t = 0; t < c->n_tuples; t++)
        open |= (uint32_t)(c->tuple[t].rules != 0) << t;
    for (unsigned s = 0; s < 2; s++) {
        const struct tuple_index *g = &c->tuple_index[s];
        if (g->level != INDEX_NONE)
            open &= *tuple_index_word(g, rule_digest(c, s, r, c->len[s][g->level])) | g->always;
    }
    for (unsigned g = 0; g < c->n_side_filters; g++) {
        const struct side_filter *side_filter = &c->side_filter[g];
        if (filter_has(c, rule_digest(c, side_filter->side, r,
                                      c->len[side_filter->side][side_filter->level]) ^
                              side_filter->salt))
            continue;
        for (unsigned t = 0; t < c->n_tuples; t++)
            if (c->tuple[t].side_filter[side_filter->side] == g)
                open &= ~(1u << t);
    }
    return c->n_side_filters + (unsigned)__builtin_popcount(open);
}

static void probes_mean(const struct acl *a, struct acl_cost *cost)
{
    uint32_t step = a->slots / SAMPLE + 1, n = 0;

    for (uint32_t s = 0; s < a->slots; s += step)
        for (unsigned f = 0; f < 2; f++) {
            if (!a->classifier[f] || !(a->rule[s].families & a->classifier[f]->family))
                continue;
            if (is_under_tuple(a->tuple[f][s]))
                cost->probes_mean += probes_of(a->classifier[f], &a->rule[s]);
            n++;
        }
    cost->probes_mean /= n + !n;
}

static void cost_of_classifier(const struct classifier *c, struct acl_cost *cost)
{
    uint32_t tuples = 0;

    for (unsigned t = 0; t < c->n_tuples; t++)
        tuples += c->tuple[t].rules != 0;
    if (tuples + c->n_side_filters > cost->probes_max)
        cost->probes_max = tuples + c->n_side_filters;
    cost->tuples += tuples;
    uint32_t compared = c->lanes ? lane_rules_longest(c->lanes) : 0;
    if (c->lanes && c->lanes->whole)
        cost->few += compared;
    else
        cost->shelf = compared > cost->shelf ? compared : cost->shelf;
    for (uint32_t h = 0; h < 1u << (32 - c->head_shift); h++) {
        uint32_t n = block_length(c, c->head[h]);
        if (n > cost->block_max)
            cost->block_max = n;
    }
}

void acl_cost(const struct acl *a, struct acl_cost *cost)
{
    *cost = (struct acl_cost){0};
    for (unsigned f = 0; f < 2; f++)
        if (a->classifier[f])
            cost_of_classifier(a->classifier[f], cost);
    probes_mean(a, cost);
    for (uint32_t s = 0; s < a->slots; s++)
        for (unsigned f = 0; f < 2; f++)
            if (a->classifier[f] && (a->rule[s].families & a->classifier[f]->family) &&
                !is_under_tuple(a->tuple[f][s])) {
                cost->address_only++;
                break;
            }
}
