// SPDX-License-Identifier: BSD-3-Clause
// kernel_scalar.c - lookups without vector instructions, for any CPU
//
// Bulk lookups make two passes over the burst, directory words, then blocks, so that the loads of a
// pass overlap. They do not branch on data, because random addresses would mispredict it: an
// address answered by its directory word reads block 0. Plain loops over arrays, which compilers
// can unroll for other CPUs.
#include "poptrie/walk.h"

#define BURST 64u

uint32_t poptrie_find4(const struct poptrie *t, uint32_t dst_be)
{
    uint32_t dst = __builtin_bswap32(dst_be);
    uint32_t w = word_load(&t->dir[dst >> (32 - DIR4_BITS)]);

    if (word_is_ref(w)) {
        if (__builtin_expect(word_code(w) >= CODE_MIXED, 0))
            return walk_answer4(t, w, dst);
        w = block_leaf(t->arena, w, dst >> 8 & 63);
        if (__builtin_expect(w != 0, 1))
            return w;
    }
    return leaf_answer(t, w, dst >> (32 - FLOOR_BITS));
}

uint32_t poptrie_find6(const struct poptrie *t, const uint8_t dst[16])
{
    uint64_t hi = load_be64(dst);
    unsigned depth;
    uint32_t w = start6(t, hi, &depth);

    w = walk_nodes(t->arena, w, hi, load_be64(dst + 8), depth);
    return leaf_answer(t, w, hi >> (64 - FLOOR_BITS));
}

// Looks up address i in table `one`, or, if that is NULL, in each[i]. Caches hold little of many
// tables, so blocks are prefetched early.
static inline __attribute__((always_inline)) void scalar_burst4(const struct poptrie *one,
                                                                const struct poptrie *const *each,
                                                                const uint32_t *dst_be,
                                                                uint32_t *value, unsigned n)
{
    uint32_t word[BURST], deep = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct poptrie *t = one ? one : each[i];
        uint32_t slot = __builtin_bswap32(dst_be[i]) >> (32 - DIR4_BITS);
        word[i] = word_load(one ? &t->dir[slot] : page_word(t, slot, PAGE4_BITS));
        if (!one)
            __builtin_prefetch(block_at(t->arena, word[i] & -(uint32_t)word_is_plain(word[i])));
    }
    for (unsigned i = 0; i < n; i++) {
        const struct poptrie *t = one ? one : each[i];
        uint32_t w = word[i], dst = __builtin_bswap32(dst_be[i]);
        uint32_t used = -(uint32_t)word_is_plain(w); // all ones: use the block's leaf, else the
                                                     // word
        uint32_t leaf = block_leaf(t->arena, w & used, dst << DIR4_BITS >> 26);

        deep |= (word_is_ref(w) & !word_is_plain(w)) | leaf_is_place(w & used, leaf);
        w = (leaf & used) | (w & ~used);
        value[i] = leaf_answer(t, w, dst >> (32 - FLOOR_BITS));
    }
    for (unsigned i = 0; deep && i < n; i++)
        if (word_is_ref(word[i]) && word_code(word[i]) >= CODE_MIXED)
            value[i] = walk_answer4(one ? one : each[i], word[i], __builtin_bswap32(dst_be[i]));
}

static void scalar_find4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value,
                         unsigned n)
{
    for (unsigned i = 0; i < n; i += BURST)
        scalar_burst4(t, NULL, dst_be + i, value + i, n - i < BURST ? n - i : BURST);
}

void poptrie_find4_each_scalar(const struct poptrie *const *each, const uint32_t *dst_be,
                               uint32_t *value, unsigned n)
{
    for (unsigned i = 0; i < n; i += BURST)
        scalar_burst4(NULL, each + i, dst_be + i, value + i, n - i < BURST ? n - i : BURST);
}

// About four levels: too branchy for passes to pay off, so start the directory loads ahead instead.
static inline __attribute__((always_inline)) void scalar_burst6(const struct poptrie *one,
                                                                const struct poptrie *const *each,
                                                                const uint8_t (*dst)[16],
                                                                uint32_t *value, unsigned n)
{
    uint32_t word[BURST];
    unsigned depth[BURST];

    for (unsigned i = 0; i < n; i++) {
        const struct poptrie *t = one ? one : each[i];
        word[i] = one ? start6(t, load_be64(dst[i]), &depth[i])
                      : start6_paged(t, load_be64(dst[i]), &depth[i]);
        __builtin_prefetch(t->arena + (size_t)word_ref(word[i]) * POOL_UNIT);
    }
    for (unsigned i = 0; i < n; i++) {
        const struct poptrie *t = one ? one : each[i];
        uint64_t hi = load_be64(dst[i]);
        uint32_t leaf = walk_nodes(t->arena, word[i], hi, load_be64(dst[i] + 8), depth[i]);

        value[i] = leaf_answer(t, leaf, hi >> (64 - FLOOR_BITS));
    }
}

void poptrie_find6_scalar(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value,
                          unsigned n)
{
    for (unsigned i = 0; i < n; i += BURST)
        scalar_burst6(t, NULL, dst + i, value + i, n - i < BURST ? n - i : BURST);
}

void poptrie_find6_each_scalar(const struct poptrie *const *each, const uint8_t (*dst)[16],
                               uint32_t *value, unsigned n)
{
    for (unsigned i = 0; i < n; i += BURST)
        scalar_burst6(NULL, each + i, dst + i, value + i, n - i < BURST ? n - i : BURST);
}

const struct kernel poptrie_kernel_scalar = {"scalar", scalar_find4, poptrie_find6_scalar,
                                             poptrie_find4_each_scalar, poptrie_find6_each_scalar,
                                             NULL};
