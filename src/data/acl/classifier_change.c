// SPDX-License-Identifier: BSD-3-Clause
// classifier_change.c - adds or deletes one rule in an existing classifier (classifier.h). Called
// by list.c.
#include <errno.h>
#include <string.h>

#include "acl/classifier_build.h"
#include "acl/lane_rules.h"

static unsigned chain_now(const struct classifier *c, uint32_t head)
{
    return block_length(c, c->head[head]);
}

static void entries_copy(const struct classifier *c, uint32_t to, uint32_t from, uint32_t n)
{
    memcpy(c->block + to * entry_bytes(c), c->block + from * entry_bytes(c), n * entry_bytes(c));
}

static void retire(struct classifier *c, uint32_t ref, uint32_t n, uint8_t prefix_table)
{
    if (n)
        *vec_push(&c->garbage) = (struct classifier_garbage){c->changed, ref, n, prefix_table};
}

static void head_publish(struct classifier *c, uint32_t *head, uint32_t ref, uint32_t n)
{
    retire(c, *head, n, INDEX_NONE);
    __atomic_store_n(head, ref, __ATOMIC_RELEASE); // partner: candidates_to_blocks in search.h
}

static void tuple_count(struct tuple *t, uint32_t by)
{
    __atomic_store_n(&t->rules, t->rules + by, __ATOMIC_RELAXED);
}

// False: the rule must go under a tuple.
static bool prefix_rule_add(struct classifier *c, const struct acl_rule *r, uint32_t slot,
                            uint8_t *tuple)
{
    unsigned side;

    if (!c->n_prefix_tables || !rule_is_by_prefix(r, c->family, &side))
        return false;
    for (unsigned i = 0; i < c->n_prefix_tables; i++)
        if (c->prefix_table[i]->side == side && !prefix_rules_add(c->prefix_table[i], r, slot)) {
            *tuple = (uint8_t)(PLACE_PREFIX_TABLE + i);
            c->rules++;
            return true;
        }
    return false;
}

// After a change: the lanes have to be replaced, or may pay now. With many rules an attempt takes
// long, so it waits until an eighth of them has changed.
static void lanes_reconsider(struct classifier *c)
{
    c->lanes_due |= c->lanes || ++c->lanes_missed > c->in_tuples / 8 || c->in_tuples <= WHOLE_LANES;
}

void classifier_lanes_build(struct classifier *c, const struct acl_config *cfg,
                            const struct acl_rule *rule, const struct acl_order *order,
                            const uint8_t *tuple)
{
    struct lane_rules *old = c->lanes,
                      *new = c->old_lanes ? NULL : lane_rules_new(cfg, c, rule, order, tuple);

    c->lanes_due = c->old_lanes;
    c->lanes_missed = 0;
    __atomic_store_n(&c->lanes, new, __ATOMIC_RELEASE); // partner: classify.c rules_match
    if (!old)
        return;
    old->epoch = c->changed;
    old->next = c->old_lanes;
    c->old_lanes = old;
}

int classifier_add(struct classifier *c, const struct acl_rule *r, uint32_t slot, uint8_t *tuple)
{
    if (prefix_rule_add(c, r, slot, tuple))
        return 0;
    if (c->in_tuples >= c->room)
        return -ENOSPC;
    unsigned at = tuple_choose(c, r, chain_now);
    struct tuple *t = &c->tuple[at];
    uint32_t *head = head_of(c, tuple_key(c, t, r)), from = *head, n = block_length(c, from),
             to = arena_alloc(&c->arena, n + 1), i = 0;

    if (!to)
        return -ENOSPC;
    while (i < n && entry_l4_at(c, from, i)->number < r->number)
        i++;
    entries_copy(c, to, from, i);
    entry_write(c, to + i, r, slot, i == n ? ENTRY_LAST : 0);
    entries_copy(c, to + i + 1, from + i, n - i);
    if (i == n && n)
        entry_l4_at(c, to, n - 1)->is &= (uint8_t)~ENTRY_LAST;
    tuple_count(t, 1);
    __atomic_store_n(&c->in_tuples, c->in_tuples + 1, __ATOMIC_RELAXED);
    if (r->number < c->least)
        __atomic_store_n(&c->least, r->number, __ATOMIC_RELAXED);
    head_publish(c, head, to, n);
    filter_set(c, tuple_key(c, t, r));
    prefilter_add_rule(c, at, r);
    *tuple = (uint8_t)at;
    c->rules++;
    lanes_reconsider(c);
    return 0;
}

static void set_rule_del(struct classifier *c, uint32_t slot)
{
    unsigned i = 0;

    while (c->set_rule[i].slot != slot || c->set_rule[i].number == UINT32_MAX)
        i++;
    // partner: set_rule_decide in key_burst.c
    __atomic_store_n(&c->set_rule[i].number, UINT32_MAX, __ATOMIC_RELAXED);
    c->rules--;
}

void classifier_del(struct classifier *c, const struct acl_rule *r, uint32_t slot, uint8_t tuple)
{
    if (tuple == PLACE_SET_RULE) {
        set_rule_del(c, slot);
        return;
    }
    if (is_prefix_rule(tuple)) {
        uint32_t index = prefix_rules_del(c->prefix_table[tuple - PLACE_PREFIX_TABLE], r, slot);
        retire(c, index, index != 0, tuple - PLACE_PREFIX_TABLE);
        c->rules--;
        return;
    }
    struct tuple *t = &c->tuple[tuple];
    uint32_t *head = head_of(c, tuple_key(c, t, r)), from = *head, n = block_length(c, from),
             to = n > 1 ? arena_alloc(&c->arena, n - 1) : 0, i = 0;

    while (entry_l4_at(c, from, i)->slot != slot || entry_l4_is_dead(entry_l4_at(c, from, i)))
        i++;
    tuple_count(t, -1u);
    __atomic_store_n(&c->in_tuples, c->in_tuples - 1, __ATOMIC_RELAXED);
    c->rules--;
    c->deleted++;
    lanes_reconsider(c);
    if (n > 1 && !to) { // no room for a shorter block
        entry_l4_kill(entry_l4_at(c, from, i));
        return;
    }
    if (to) {
        entries_copy(c, to, from, i);
        entries_copy(c, to + i, from + i + 1, n - i - 1);
        entry_l4_at(c, to, n - 2)->is |= ENTRY_LAST;
    }
    head_publish(c, head, to, n);
}

void classifier_epoch(struct classifier *c)
{
    for (unsigned i = 0; i < c->n_prefix_tables; i++)
        prefix_rules_epoch(c->prefix_table[i]);
}

static void garbage_reclaim(struct classifier *c, uint64_t epoch)
{
    size_t kept = 0;

    vec_foreach (&c->garbage, g)
        if (g->epoch > epoch)
            c->garbage.item[kept++] = *g;
        else if (g->prefix_table != INDEX_NONE)
            prefix_rules_give_back(c->prefix_table[g->prefix_table], g->ref);
        else
            arena_free(&c->arena, g->ref, g->n);
    c->garbage.n = kept;
}

void classifier_reclaim(struct classifier *c, uint64_t epoch)
{
    garbage_reclaim(c, epoch);
    for (unsigned i = 0; i < c->n_prefix_tables; i++)
        prefix_rules_reclaim(c->prefix_table[i], epoch);
    lane_rules_reclaim(&c->old_lanes, epoch);
}
