// SPDX-License-Identifier: BSD-3-Clause
// dedupe.c - shares equal trees and pages between tables of a group (poptrie_dedupe)
//
// When two tables become equal, the later one finds the other. So only slots changed since the last
// call are compared.
#include "poptrie/walk.h"

#include <stdlib.h>

#define CHANGED_MAX 4096u // more changes than that: compare everything

// --- changed slots ---

void dedupe_later(struct poptrie *t, uint32_t from, uint32_t n)
{
    const struct changed *last = t->changed.n > 0 ? vec_end(&t->changed) - 1 : NULL;

    if (t->group->tables == 1 || t->all_changed)
        return;
    if (last && last->from == from && last->n == n)
        return;
    if (t->changed.n == CHANGED_MAX || n == dir_words(t))
        t->all_changed = true;
    else
        *vec_push(&t->changed) = (struct changed){from, n};
}

// --- trees ---

// Bytes of leaves after the run vector, or after the heads.
static size_t leaves_bytes(const uint8_t *arena, uint32_t w)
{
    uint64_t last;

    if (word_code(w) != CODE_WIDE)
        return (block_leaves(arena, w) * word_width(w) + 7) / 8;
    memcpy(&last, block_at(arena, w) + WIDE_HEAD_BYTES - sizeof(last), sizeof(last));
    return (block_leaves(arena, w) * (last >> 48) + 7) / 8;
}

// Bytes after the last leaf of a block are undefined.
static bool tree_equal(const uint8_t *arena, uint32_t a, uint32_t b)
{
    const uint8_t *p = block_at(arena, a), *q = block_at(arena, b);
    const uint32_t *slot;

    if (a == b || !word_is_ref(a) || !word_is_ref(b))
        return a == b;
    if (word_code(a) != word_code(b))
        return false;
    if (word_code(a) == CODE_SKIP) {
        const struct skip *x = (const void *)p, *y = (const void *)q;

        return x->out == y->out && x->bits == y->bits && x->key == y->key &&
               tree_equal(arena, x->in, y->in);
    }
    if (word_code(a) == CODE_WIDE)
        return memcmp(p, q, WIDE_HEAD_BYTES) == 0 &&
               memcmp(p + WIDE_HEAD_BYTES, q + WIDE_HEAD_BYTES, leaves_bytes(arena, a)) == 0;
    if (memcmp(p, q, 8) != 0)
        return false;
    if (word_code(a) == CODE_BRANCH) {
        for (unsigned i = 0; i <= run_of(p, 63); i++)
            if (!tree_equal(arena, ((const uint32_t *)(p + 8))[i], ((const uint32_t *)(q + 8))[i]))
                return false;
        return true;
    }
    if (memcmp(p + 8, q + 8, leaves_bytes(arena, a)) != 0)
        return false;
    FOR_WORDS_BELOW(arena, a, slot)
    if (!tree_equal(arena, *slot, *(const uint32_t *)(q + ((const uint8_t *)slot - p))))
        return false;
    return true;
}

// Finds another table with an equal tree in this slot, preferably one that already shares it.
static struct poptrie *table_with_equal_tree(const struct poptrie *t, uint32_t slot)
{
    const struct table_group *g = t->group;
    struct poptrie *found = NULL;

    for (unsigned k = 0; k < g->places; k++) {
        struct poptrie *o = g->table[k];

        if (o == NULL || o == t || !word_is_ref(o->dir[slot]) ||
            (found != NULL && !slot_is_marked(o, slot)))
            continue;
        if (tree_equal(t->arena, t->dir[slot], o->dir[slot])) {
            found = o;
            if (slot_is_marked(o, slot))
                break;
        }
    }
    return found;
}

static bool slot_dedupe(struct poptrie *t, uint32_t slot)
{
    struct poptrie *o;

    if (!word_is_ref(t->dir[slot]) || slot_is_shared(t, slot))
        return false;
    o = table_with_equal_tree(t, slot);
    return o != NULL && share_adopt(t, slot, o) == 0;
}

// --- pages ---

static bool page_dedupe(struct poptrie *t, unsigned p)
{
    const struct table_group *g = t->group;
    size_t at = (size_t)p << page_bits(t), bytes = sizeof(*t->dir) << page_bits(t);

    if (t->page[p] != page_own(t, p))
        return false;
    for (unsigned k = 0; k < g->places; k++) {
        struct poptrie *o = g->table[k];

        if (o == NULL || o == t || o->routes == 0 || memcmp(o->dir + at, t->dir + at, bytes) != 0)
            continue;
        return table_group_page_share(t, o, p);
    }
    return false;
}

// --- everything ---

// Dedupes the slots, and sets page[] for their pages.
static bool range_dedupe(struct poptrie *t, struct changed c, bool page[PAGES])
{
    bool any = false;

    for (uint32_t slot = c.from; slot < c.from + c.n; slot++) {
        any |= slot_dedupe(t, slot);
        page[slot >> page_bits(t)] = true;
    }
    return any;
}

bool poptrie_dedupe(struct poptrie *t)
{
    bool any = false, page[PAGES] = {false};

    if (t->all_changed)
        any = range_dedupe(t, (struct changed){0, dir_words(t)}, page);
    for (size_t i = 0; !t->all_changed && i < t->changed.n; i++)
        any |= range_dedupe(t, t->changed.item[i], page);
    for (unsigned p = 0; (t->all_changed || t->changed.n > 0) && p < PAGES; p++)
        if (page[p])
            any |= page_dedupe(t, p);
    t->all_changed = false;
    t->changed.n = 0;
    return any;
}
