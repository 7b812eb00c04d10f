// SPDX-License-Identifier: BSD-3-Clause
// classifier_change.c - a core is changed in place: one rule more, one less (classifier.h)
#include <errno.h>
#include <string.h>

#include "acl/classifier_build.h"
#include "acl/entry.h"
#include "acl/prefilter.h"
#include "acl/address_bucket.h"
#include "acl/tuple.h"

static unsigned chain_now(const struct core *c, uint32_t head)
{
    return block_length(c, c->head[head]);
}

static void entries_copy(const struct core *c, uint32_t to, uint32_t from, uint32_t n)
{
    memcpy(c->block + to * entry_bytes(c), c->block + from * entry_bytes(c), n * entry_bytes(c));
}

static void publish(struct core *c, uint32_t *head, uint32_t ref, struct core_block *old,
                    uint32_t n)
{
    *old = (struct core_block){*head, n, CORE_NONE};
    __atomic_store_n(head, ref, __ATOMIC_RELEASE); // partner: heads_read in search.h
}

static void tuple_count(struct tuple *t, uint32_t by)
{
    __atomic_store_n(&t->rules, t->rules + by, __ATOMIC_RELAXED);
}

// False: it has to go under a tuple.
static bool promoted_take(struct core *c, const struct acl_rule *r, uint32_t slot, uint8_t *tuple)
{
    unsigned side;

    if (!c->n_promoted || !rule_is_promotable(r, c->family, &side))
        return false;
    for (unsigned i = 0; i < c->n_promoted; i++)
        if (c->promoted[i]->side == side && !promoted_add(c->promoted[i], r, slot)) {
            *tuple = (uint8_t)(CORE_PROMOTED + i);
            c->rules++;
            return true;
        }
    return false;
}

// Rules that name address sets have no place there.
static void shelf_take(struct core *c, const struct acl_rule *r, uint32_t slot)
{
    if (!c->shelf || (r->src.set == ACL_NO_SET && r->dst.set == ACL_NO_SET &&
                      !shelf_add(c->shelf, r, slot, c->changed)))
        return;
    __atomic_store_n(&c->shelf, NULL, __ATOMIC_RELEASE); // partner: classify.c ask
    c->shelf_full = true;
}

int core_add(struct core *c, const struct acl_rule *r, uint32_t slot, uint8_t *tuple,
             struct core_block *old)
{
    *old = (struct core_block){0};
    if (promoted_take(c, r, slot, tuple))
        return 0;
    if (c->in_tuples >= c->room)
        return -ENOSPC;
    __atomic_store_n(&c->few_blocks, 0, __ATOMIC_RELAXED);
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
    publish(c, head, to, old, n);
    filter_set(c, tuple_key(c, t, r));
    gates_add(c, at, r);
    *tuple = (uint8_t)at;
    c->rules++;
    shelf_take(c, r, slot);
    return 0;
}

static bool is_dead(const struct entry_l4 *e)
{
    return e->not_part == ENTRY_DEAD;
}

static void apart_del(struct core *c, uint32_t slot)
{
    unsigned i = 0;

    while (c->by_sets[i].slot != slot || c->by_sets[i].number == UINT32_MAX)
        i++;
    __atomic_store_n(&c->by_sets[i].number, UINT32_MAX,
                     __ATOMIC_RELAXED); // partner: apart_decide in key_burst.c
    c->rules--;
}

void core_del(struct core *c, const struct acl_rule *r, uint32_t slot, uint8_t tuple,
              struct core_block *old)
{
    *old = (struct core_block){0};
    if (tuple == CORE_APART) {
        apart_del(c, slot);
        return;
    }
    if (is_promoted(tuple)) {
        uint32_t index = promoted_del(c->promoted[tuple - CORE_PROMOTED], r, slot);
        *old = (struct core_block){index, index != 0, tuple - CORE_PROMOTED};
        c->rules--;
        return;
    }
    __atomic_store_n(&c->few_blocks, 0, __ATOMIC_RELAXED);
    if (c->shelf)
        shelf_del(c->shelf, r, slot);
    struct tuple *t = &c->tuple[tuple];
    uint32_t *head = head_of(c, tuple_key(c, t, r)), from = *head, n = block_length(c, from),
             to = n > 1 ? arena_alloc(&c->arena, n - 1) : 0, i = 0;

    while (entry_l4_at(c, from, i)->slot != slot || is_dead(entry_l4_at(c, from, i)))
        i++;
    tuple_count(t, -1u);
    __atomic_store_n(&c->in_tuples, c->in_tuples - 1, __ATOMIC_RELAXED);
    c->rules--;
    c->deleted++;
    if (n > 1 && !to) { // no room to make a shorter one
        uint32_t *word = (uint32_t *)&entry_l4_at(c, from, i)
                             ->proto; // not_part is its last byte; partner: l4_differs
        __atomic_store_n(word, *word | (uint32_t)ENTRY_DEAD << 24, __ATOMIC_RELAXED);
        return;
    }
    if (to) {
        entries_copy(c, to, from, i);
        entries_copy(c, to + i, from + i + 1, n - i - 1);
        entry_l4_at(c, to, n - 2)->is |= ENTRY_LAST;
    }
    publish(c, head, to, old, n);
}

void core_epoch(struct core *c)
{
    for (unsigned i = 0; i < c->n_promoted; i++)
        promoted_epoch(c->promoted[i]);
}

void core_reclaim(struct core *c, uint64_t epoch)
{
    for (unsigned i = 0; i < c->n_promoted; i++)
        promoted_reclaim(c->promoted[i], epoch);
    if (c->own_shelf)
        shelf_reclaim(c->own_shelf, epoch);
}
