// SPDX-License-Identifier: BSD-3-Clause
// txn.c - a change of the table as a transaction: collects it, then publishes or undoes all of it
//
// edit.c and block.c collect new blocks, words to store, unused words, and the former content of
// the writer's memory. If the arena is full, that content is restored and new blocks are freed;
// readers have seen nothing. Otherwise txn_finish() publishes word by word, each store leading from
// one complete answer to another, and then retires the blocks behind the old words: nothing can
// fail. Other copies of the table get the new blocks first, then the same stores.
#include "poptrie/walk.h"

#include <errno.h>

void txn_set(struct poptrie *t, uint32_t *loc, uint32_t v)
{
    if (*loc == v)
        return;
    if (!t->txn.whole_tree)
        *vec_push(&t->txn.undo) = (struct undo){loc, *loc};
    *loc = v;
}

void txn_stage(struct poptrie *t, uint32_t *loc, uint32_t n, uint32_t word)
{
    struct store *last = t->txn.stores.n > 0 ? vec_end(&t->txn.stores) - 1 : NULL;

    if (n == 0)
        return;
    if (last != NULL && last->loc + last->n == loc && last->word == word)
        last->n += n;
    else
        *vec_push(&t->txn.stores) = (struct store){loc, n, word};
}

// Retires the blocks behind `w`, down to the first that is not a skip.
void txn_retire(struct poptrie *t, uint32_t w)
{
    while (word_is_ref(w)) {
        const struct skip *s = pool_at(&t->group->blocks, word_ref(w));

        *vec_push(&t->txn.dead) = w;
        if (word_code(w) != CODE_SKIP) {
            __builtin_prefetch(s); // its leaves will be counted
            return;
        }
        w = s->in;
    }
}

void *txn_block(struct poptrie *t, size_t bytes, uint32_t code, uint32_t *word)
{
    uint32_t ref = pool_alloc(&t->group->blocks, bytes);

    *word = 0;
    if (ref == 0) {
        t->txn.full = true;
        return NULL;
    }
    *word = *vec_push(&t->txn.fresh) = word_make(ref, code);
    t->rebuilt++;
    return pool_at(&t->group->blocks, ref);
}

void txn_begin(struct poptrie *t, bool whole_tree)
{
    t->txn.undo.n = t->txn.fresh.n = t->txn.dead.n = t->txn.stores.n = 0;
    t->txn.whole_tree = whole_tree;
    t->txn.full = false;
}

static void undo_all(struct poptrie *t)
{
    for (size_t i = t->txn.undo.n; i-- > 0;)
        *t->txn.undo.item[i].loc = t->txn.undo.item[i].old;
    vec_foreach (&t->txn.fresh, word)
        pool_free(&t->group->blocks, word_ref(*word));
}

// A load needs megabytes, changes of routes only kilobytes.
#define VEC_TRIM(v) ((v)->cap > 65536 ? (void)vec_free(v) : (void)0)

static void store_publish(const struct store *s, uint32_t *loc)
{
    for (uint32_t j = 0; j < s->n; j++)
        if (loc[j] != s->word)
            word_publish(&loc[j], s->word);
}

// Publishes in the first copy. Readers of pages see the stores when they read the table's own pages
// again.
static void store_publish_first(struct poptrie *t, const struct store *s)
{
    bool in_dir = s->loc >= t->dir && s->loc < t->dir + dir_words(t), any = false;

    for (uint32_t *loc = s->loc; loc < s->loc + s->n; loc++)
        if (*loc != s->word) {
            word_publish(loc, s->word);
            if (in_dir)
                touched_mark(t->dir_touched, (size_t)(loc - t->dir) * sizeof(*loc));
            any = true;
        }
    if (any && in_dir && t->group->places > 1)
        table_group_page_leave(t, s->loc, s->n);
}

static void publish_copy(const struct poptrie *t, const struct poptrie *c)
{
    vec_foreach (&t->txn.fresh, word) {
        const void *block = pool_at(&t->group->blocks, word_ref(*word));

        memcpy(copy_at(t, c, block), block, pool_block_bytes(&t->group->blocks, word_ref(*word)));
    }
    vec_foreach (&t->txn.stores, s)
        store_publish(s, copy_at(t, c, s->loc));
}

// Counts n blocks that readers of the table can now reach (+), or no longer reach (-).
static void blocks_count(struct poptrie *t, const uint32_t *w, size_t n, int sign)
{
    for (size_t i = 0; i < n; i++) {
        t->reach.bytes += sign * (int64_t)pool_block_bytes(&t->group->blocks, word_ref(w[i]));
        t->reach.leaves += sign * (int64_t)block_leaves(t->arena, w[i]);
    }
    t->reach.blocks += sign * (int64_t)n;
}

static void publish(struct poptrie *t)
{
    if (t->txn.whole_tree)
        t->reach = (struct reach){0};
    else
        blocks_count(t, t->txn.dead.item, t->txn.dead.n, -1);
    blocks_count(t, t->txn.fresh.item, t->txn.fresh.n, 1);
    image_txn(t);
    for (unsigned k = 0; k < t->n_copies; k++)
        publish_copy(t, t->copy[k]);
    vec_foreach (&t->txn.stores, s)
        store_publish_first(t, s);
    vec_foreach (&t->txn.dead, word)
        table_group_retire(t->group, word_ref(*word));
}

int txn_finish(struct poptrie *t)
{
    if (t->txn.full)
        undo_all(t);
    else
        publish(t);
    VEC_TRIM(&t->txn.undo);
    VEC_TRIM(&t->txn.fresh);
    VEC_TRIM(&t->txn.dead);
    VEC_TRIM(&t->txn.stores);
    return t->txn.full ? -ENOSPC : 0;
}

uint64_t txn_bytes(const struct txn *x)
{
    return x->undo.cap * sizeof(struct undo) + (x->fresh.cap + x->dead.cap) * sizeof(uint32_t) +
           x->stores.cap * sizeof(struct store);
}

void txn_fini(struct poptrie *t)
{
    vec_free(&t->txn.undo);
    vec_free(&t->txn.fresh);
    vec_free(&t->txn.dead);
    vec_free(&t->txn.stores);
}
