// SPDX-License-Identifier: BSD-3-Clause
// image.c - tells the watcher of a table which memory a change writes (image.h)
//
// A transaction reports its new blocks first, then the words that it is about to store, so a copy
// made in this order is complete whenever its words change. An unwatched table pays one test per
// change.
#include "poptrie/image.h"

#include "poptrie/poptrie_priv.h"

void poptrie_image(const struct poptrie *t, struct poptrie_image *image)
{
    *image = (struct poptrie_image){
        .key_bits = t->geo.key_bits,
        .dir = t->dir,
        .dir_bytes = dir_words(t) * sizeof(*t->dir),
        .arena = t->arena,
        .arena_bytes = (size_t)t->group->blocks.top * POOL_CHUNK,
        .floor = t->floor,
        .outside = &t->outside,
    };
}

void poptrie_watch(struct poptrie *t, const struct poptrie_watch *watch)
{
    t->group->watch = watch == NULL ? (struct poptrie_watch){0} : *watch;
}

void image_txn(struct poptrie *t)
{
    const struct poptrie_watch *w = &t->group->watch;
    const struct pool *blocks = &t->group->blocks;

    if (w->begins == NULL)
        return;
    w->begins(w->ctx);
    vec_foreach (&t->txn.fresh, word)
        w->adds_block(w->ctx, pool_at(blocks, word_ref(*word)),
                      pool_block_bytes(blocks, word_ref(*word)));
    vec_foreach (&t->txn.stores, s)
        w->changes_words(w->ctx, t, s->loc, s->n * sizeof(*s->loc));
}

void image_commit(struct poptrie *t)
{
    const struct poptrie_watch *w = &t->group->watch;

    if (w->begins != NULL)
        w->commits(w->ctx);
}

void image_end(struct poptrie *t)
{
    const struct poptrie_watch *w = &t->group->watch;

    if (w->begins != NULL)
        w->ends(w->ctx, t);
}

void image_floor(struct poptrie *t)
{
    const struct poptrie_watch *w = &t->group->watch;

    if (w->begins == NULL)
        return;
    w->begins(w->ctx);
    w->changes_words(w->ctx, t, NULL, 0);
}
