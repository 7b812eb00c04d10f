// SPDX-License-Identifier: BSD-3-Clause
// image.h - access to the memory that readers of a table walk, and notification of changes
//
// For a copy of a table elsewhere, about which the table knows nothing. layout.h describes the
// bytes. Bursts of several tables read pages of directories; the flat directory of each table,
// shown here, is always complete.
//
// Writer's thread only, for calls and callbacks.
#ifndef POPTRIE_IMAGE_H
#define POPTRIE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct poptrie;

struct poptrie_image {
    unsigned key_bits;
    const uint32_t *dir;
    size_t dir_bytes;
    const uint8_t *arena; // of the group: the same in each of its tables
    size_t arena_bytes;   // in use; grows with allocations. The arena's tail lies behind it.
    const uint16_t *floor;
    const uint32_t *outside;
};
void poptrie_image(const struct poptrie *t, struct poptrie_image *image);

// The first three are called during a change, when its blocks are complete and before readers can
// reach them.
struct poptrie_watch {
    // first call of each change, however small
    void (*begins)(void *ctx);
    // a new block in the arena
    void (*adds_block)(void *ctx, const void *at, size_t bytes);
    // words about to be stored: in the directory of t, in the arena, or t's `outside`; at NULL: in
    // its floor
    void (*changes_words)(void *ctx, const struct poptrie *t, const void *at, size_t bytes);
    // poptrie_epoch: the end of a batch of changes
    void (*commits)(void *ctx);
    // poptrie_free: t is complete for the last time; may stop watching
    void (*ends)(void *ctx, const struct poptrie *t);
    void *ctx;
};
// Watches all tables of t's group. NULL: stops watching.
void poptrie_watch(struct poptrie *t, const struct poptrie_watch *watch);

#endif
