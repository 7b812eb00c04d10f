// SPDX-License-Identifier: BSD-3-Clause
// walk.h - walks one address block by block: for the scalar kernel, and for addresses that vector
// kernels do not finish
//
// Reads only; bounded, because each block resolves more bits of the address.
#ifndef POPTRIE_WALK_H
#define POPTRIE_WALK_H

#include "poptrie/poptrie_priv.h"

static inline const uint8_t *block_at(const uint8_t *arena, uint32_t w)
{
    return arena + (size_t)word_ref(w) * POOL_UNIT;
}

// Loads `width` bits at bit `bit` of the leaves at p; over-reads by up to three bytes.
static inline uint32_t leaf_load(const uint8_t *p, unsigned bit, unsigned width)
{
    uint32_t v;

    memcpy(&v, p + bit / 8, sizeof(v));
    return v >> bit % 8 & UINT32_MAX >> (-width & 31);
}

// Number of child c's leaf in the block with run vector p.
static inline unsigned run_of(const uint8_t *p, unsigned c)
{
    uint64_t runs;

    memcpy(&runs, p, sizeof(runs));
    return __builtin_popcountll(runs << (~c & 63)) - 1;
}

// Child c's leaf in the leaf or mixed block of word w.
static inline uint32_t block_leaf(const uint8_t *arena, uint32_t w, unsigned c)
{
    const uint8_t *p = block_at(arena, w);

    return leaf_load(p + 8, run_of(p, c) * word_width(w), word_width(w));
}

static inline bool leaf_is_place(uint32_t w, uint32_t leaf) // is the leaf of a mixed block the
                                                            // place of a word?
{
    return word_code(w) > CODE_MIXED && leaf >> (word_width(w) - 1) != 0;
}

// The word for child c of a mixed or branch block; NULL: child c has a leaf.
static inline uint32_t *block_slot(const uint8_t *arena, uint32_t w, unsigned c)
{
    const uint8_t *p = block_at(arena, w);
    uint32_t leaf;

    if (word_code(w) == CODE_BRANCH)
        return (uint32_t *)(uintptr_t)(p + 8) + run_of(p, c);
    leaf = block_leaf(arena, w, c);
    if (!leaf_is_place(w, leaf))
        return NULL;
    return (uint32_t *)(uintptr_t)p + (leaf & ~(1u << (word_width(w) - 1)));
}

// Number of leaves in the block of word w: runs of equal children, including words.
static inline unsigned block_leaves(const uint8_t *arena, uint32_t w)
{
    const uint8_t *p = block_at(arena, w);
    uint64_t last;

    if (word_code(w) == CODE_SKIP)
        return 0;
    if (word_code(w) != CODE_WIDE)
        return run_of(p, 63) + 1;
    memcpy(&last, p + WIDE_HEAD_BYTES - sizeof(last), sizeof(last));
    return (last >> 32 & 0xffff) + __builtin_popcount((uint32_t)last);
}

// Children that start a run in a mixed or branch block; 0 for other blocks.
static inline uint64_t runs_that_lead_on(const uint8_t *arena, uint32_t w)
{
    uint64_t runs = 0;

    if (word_code(w) == CODE_BRANCH || (word_code(w) > CODE_MIXED && word_code(w) != CODE_SKIP))
        memcpy(&runs, block_at(arena, w), sizeof(runs));
    return runs;
}

// Iterates over words of the block that lead on.
#define FOR_WORDS_BELOW(arena, w, slot)                                                            \
    for (uint64_t left_ = runs_that_lead_on((arena), (w)); left_ != 0; left_ &= left_ - 1)         \
        if (((slot) = block_slot((arena), (w), (unsigned)__builtin_ctzll(left_))) != NULL &&       \
            word_is_ref(*(slot)))

static inline uint32_t wide_leaf(const uint8_t *arena, uint32_t w, unsigned c)
{
    const uint8_t *p = block_at(arena, w);
    unsigned width;
    uint64_t head;

    memcpy(&head, p + c / 32 * 8, sizeof(head));
    width = head >> 48;
    c = __builtin_popcount((uint32_t)head << (31 - c % 32)) + (head >> 32 & 0xffff) - 1;
    return leaf_load(p + WIDE_HEAD_BYTES, c * width, width);
}

// Walks from word w at depth `depth` (0..63) of the address hi:lo to its leaf. Calls visit, unless
// it is NULL, for the word and the depth in its half of the address of each block.
static inline __attribute__((always_inline)) uint32_t
walk_visit(const uint8_t *arena, uint32_t w, uint64_t hi, uint64_t lo, unsigned depth,
           void (*visit)(void *ctx, uint32_t w, unsigned depth), void *ctx)
{
    while (word_is_ref(w)) {
        unsigned c = hi << depth >> 58;
        uint32_t leaf;

        if (visit != NULL)
            visit(ctx, w, depth);
        switch (word_code(w)) {
        case CODE_SKIP: {
            const struct skip *s = (const void *)block_at(arena, w);

            if ((hi ^ s->key) >> (64 - s->bits) != 0)
                return s->out;
            depth = s->bits;
            w = s->in;
            break;
        }
        case CODE_BRANCH:
            // Partner: word_publish; words in a block are replaced in place.
            w = word_load(block_slot(arena, w, c));
            depth += 6;
            break;
        case CODE_WIDE:
            return wide_leaf(arena, w, hi << WIDE_DEPTH >> 56);
        default:
            leaf = block_leaf(arena, w, c);
            if (!leaf_is_place(w, leaf))
                return leaf;
            w = word_load(block_slot(arena, w, c));
            depth += 6;
        }
        if (depth >= 64) { // 60 + 6 ends the first half, and so does a skip over all of it
            hi = lo;
            depth = 0;
        }
    }
    return w;
}

static inline uint32_t walk_nodes(const uint8_t *arena, uint32_t w, uint64_t hi, uint64_t lo,
                                  unsigned depth)
{
    return walk_visit(arena, w, hi, lo, depth, NULL, NULL);
}

// top: the first FLOOR_BITS bits of the address. Partner: floor_refresh.
static inline uint32_t leaf_answer(const struct poptrie *t, uint32_t leaf, uint32_t top)
{
    uint32_t floor = __atomic_load_n(&t->floor[top], __ATOMIC_ACQUIRE);

    return leaf != 0 ? leaf : floor;
}

// From a directory word to the answer.
static __attribute__((noinline, unused)) uint32_t walk_answer4(const struct poptrie *t, uint32_t w,
                                                               uint32_t dst)
{
    uint32_t leaf = walk_nodes(t->arena, w, (uint64_t)dst << 32, 0, DIR4_BITS);

    return leaf_answer(t, leaf, dst >> (32 - FLOOR_BITS));
}

// The first word of an IPv6 address and, in *depth, the number of bits used so far.
static inline uint32_t start6(const struct poptrie *t, uint64_t hi, unsigned *depth)
{
    bool slotted = hi >> 61 == 1;

    *depth = slotted ? DIR6_BITS : 0;
    return word_load(slotted ? &t->dir[hi >> (64 - DIR6_BITS) & (DIR6_WORDS - 1)] : &t->outside);
}

// The same for a burst of several tables.
static inline uint32_t start6_paged(const struct poptrie *t, uint64_t hi, unsigned *depth)
{
    bool slotted = hi >> 61 == 1;

    *depth = slotted ? DIR6_BITS : 0;
    return word_load(slotted ? page_word(t, hi >> (64 - DIR6_BITS) & (DIR6_WORDS - 1), PAGE6_BITS)
                             : &t->outside);
}

#endif
