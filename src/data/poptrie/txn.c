// SPDX-License-Identifier: BSD-3-Clause
// txn.c - a change of the table as a transaction: collects it, then publishes or undoes all of it
//
// edit.c and block.c collect new blocks, words to store, unused words, and the former content of
// the writer's memory. If memory runs out, that content is restored and new blocks are freed;
// readers have seen nothing. Otherwise txn_finish() publishes word by word, each store leading from
// one complete answer to another, and then retires the blocks behind the old words. Room for the
// retired blocks is reserved before the first store, so nothing can fail after it. Other copies of
// the table get the new blocks first, then the same stores.
#include "poptrie/walk.h"

#include <errno.h>
#include <stdlib.h>

struct undo {
    uint32_t *loc, old;
};

bool vec_reserve(struct vec *v, size_t n, size_t size)
{
    size_t cap = v->cap == 0 ? 64 : v->cap;
    void *p;

    while (cap < n)
        cap *= 2;
    if (cap == v->cap)
        return true;
    p = realloc(v->v, cap * size);
    if (p == NULL)
        return false;
    v->v = p;
    v->cap = cap;
    return true;
}

#define VEC_PUSH(t, vec, type, ...)                                                                \
    do {                                                                                           \
        if (vec_reserve((vec), (vec)->n + 1, sizeof(type)))                                        \
            ((type *)(vec)->v)[(vec)->n++] = (type)__VA_ARGS__;                                    \
        else                                                                                       \
            (t)->txn.error = -ENOMEM;                                                              \
    } while (0)

void txn_set(struct poptrie *t, uint32_t *loc, uint32_t v)
{
    if (*loc == v)
        return;
    if (!t->txn.whole_tree) {
        size_t n = t->txn.undo.n;

        VEC_PUSH(t, &t->txn.undo, struct undo, {loc, *loc});
        // not undoable, so not done
        if (t->txn.undo.n == n)
            return;
    }
    *loc = v;
}

void txn_stage(struct poptrie *t, uint32_t *loc, uint32_t n, uint32_t word)
{
    struct vec *s = &t->txn.stores;
    struct store *last = s->n > 0 ? (struct store *)s->v + s->n - 1 : NULL;

    if (n == 0)
        return;
    if (last != NULL && last->loc + last->n == loc && last->word == word)
        last->n += n;
    else
        VEC_PUSH(t, s, struct store, {loc, n, word});
}

// Retires the blocks behind `w`, down to the first that is not a skip.
void txn_retire(struct poptrie *t, uint32_t w)
{
    while (word_is_ref(w)) {
        const struct skip *s = pool_at(&t->group->blocks, word_ref(w));

        VEC_PUSH(t, &t->txn.dead, uint32_t, {w});
        if (word_code(w) != CODE_SKIP) {
            __builtin_prefetch(s); // its leaves will be counted
            return;
        }
        w = s->in;
    }
}

void *txn_block(struct poptrie *t, size_t bytes, uint32_t code, uint32_t *word)
{
    size_t n = t->txn.fresh.n;
    uint32_t ref = pool_alloc(&t->group->blocks, bytes);

    *word = 0;
    if (ref == 0) {
        t->txn.error = -ENOSPC;
        return NULL;
    }
    VEC_PUSH(t, &t->txn.fresh, uint32_t, {word_make(ref, code)});
    if (t->txn.fresh.n == n) {
        pool_free(&t->group->blocks, ref);
        return NULL;
    }
    *word = word_make(ref, code);
    t->rebuilt++;
    return pool_at(&t->group->blocks, ref);
}

void txn_begin(struct poptrie *t, bool whole_tree)
{
    t->txn.undo.n = t->txn.fresh.n = t->txn.dead.n = t->txn.stores.n = 0;
    t->txn.whole_tree = whole_tree;
    t->txn.error = 0;
}

static void undo_all(struct poptrie *t)
{
    const struct undo *u = t->txn.undo.v;
    const uint32_t *fresh = t->txn.fresh.v;

    for (size_t i = t->txn.undo.n; i-- > 0;)
        *u[i].loc = u[i].old;
    for (size_t i = 0; i < t->txn.fresh.n; i++)
        pool_free(&t->group->blocks, word_ref(fresh[i]));
}

// A load needs megabytes, changes of routes only kilobytes.
static void vec_trim(struct vec *v)
{
    if (v->cap > 65536) {
        free(v->v);
        *v = (struct vec){0};
    }
}

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
    const uint32_t *fresh = t->txn.fresh.v;
    const struct store *s = t->txn.stores.v;

    for (size_t i = 0; i < t->txn.fresh.n; i++) {
        const void *block = pool_at(&t->group->blocks, word_ref(fresh[i]));

        memcpy(copy_at(t, c, block), block,
               pool_block_bytes(&t->group->blocks, word_ref(fresh[i])));
    }
    for (size_t i = 0; i < t->txn.stores.n; i++)
        store_publish(&s[i], copy_at(t, c, s[i].loc));
}

// Counts blocks that readers of the table can now reach (+), or no longer reach (-).
static void blocks_count(struct poptrie *t, const struct vec *blocks, int sign)
{
    const uint32_t *w = blocks->v;

    for (size_t i = 0; i < blocks->n; i++) {
        t->reach.bytes += sign * (int64_t)pool_block_bytes(&t->group->blocks, word_ref(w[i]));
        t->reach.leaves += sign * (int64_t)block_leaves(t->arena, w[i]);
    }
    t->reach.blocks += sign * (int64_t)blocks->n;
}

int txn_finish(struct poptrie *t)
{
    const struct store *s = t->txn.stores.v;
    const uint32_t *dead = t->txn.dead.v;
    int error = t->txn.error;

    if (error == 0 && !table_group_garbage_reserve(t->group, t->txn.dead.n + PAGES))
        error = -ENOMEM;
    if (error != 0) {
        undo_all(t);
    } else {
        if (t->txn.whole_tree)
            t->reach = (struct reach){0};
        else
            blocks_count(t, &t->txn.dead, -1);
        blocks_count(t, &t->txn.fresh, 1);
        image_txn(t);
        for (unsigned k = 0; k < t->n_copies; k++)
            publish_copy(t, t->copy[k]);
        for (size_t i = 0; i < t->txn.stores.n; i++)
            store_publish_first(t, &s[i]);
        for (size_t i = 0; i < t->txn.dead.n; i++)
            table_group_retire(t->group, word_ref(dead[i]));
    }
    vec_trim(&t->txn.undo);
    vec_trim(&t->txn.fresh);
    vec_trim(&t->txn.dead);
    vec_trim(&t->txn.stores);
    return error;
}

uint64_t txn_bytes(const struct txn *x)
{
    return x->undo.cap * sizeof(struct undo) + (x->fresh.cap + x->dead.cap) * sizeof(uint32_t) +
           x->stores.cap * sizeof(struct store);
}

void txn_fini(struct poptrie *t)
{
    free(t->txn.undo.v);
    free(t->txn.fresh.v);
    free(t->txn.dead.v);
    free(t->txn.stores.v);
}
