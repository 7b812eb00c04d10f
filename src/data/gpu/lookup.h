// SPDX-License-Identifier: BSD-3-Clause
// lookup.h - longest-prefix match in a copy of a Poptrie table's memory
//
// One source for the tests on the host, the emulated device and a GPU: compiled as C, and as OpenCL
// C by clang into PTX. Written for our own layout (poptrie/layout.h), and compared with
// poptrie_find on random tables (gpu_lookup_test.c).
//
// All loads are aligned, as GPUs require. A word may be replaced while it is read: the reader sees
// the old or the new one, and the block behind either is valid (mirror.h).
#ifndef GPU_LOOKUP_H
#define GPU_LOOKUP_H

#include "poptrie/layout.h"

// One table, in the device's memory; dir and arena are addresses there.
struct gpu_table {
    uint64_t dir, arena;
    uint32_t key_bits; // 0: no table
    uint32_t outside;
    uint16_t floor[FLOOR_ENTRIES];
};

// Loads a word that another side may store to concurrently.
static inline uint32_t gpu_word(const uint32_t *p)
{
#ifdef __OPENCL_C_VERSION__
    return *(const volatile uint32_t *)p;
#else
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
#endif
}

static inline const uint32_t *gpu_block(const struct gpu_table *t, uint32_t w)
{
    return (const uint32_t *)(t->arena + (uint64_t)word_ref(w) * POOL_UNIT);
}

// `width` bits at bit `bit` of the leaves at p, which are 32-bit aligned; reads 64 bits.
static inline uint32_t gpu_leaf(const uint32_t *p, uint32_t bit, uint32_t width)
{
    uint64_t two = gpu_word(&p[bit / 32]) | (uint64_t)gpu_word(&p[bit / 32 + 1]) << 32;

    return (uint32_t)(two >> bit % 32) & 0xffffffffu >> (32 - width);
}

// The number of child c's leaf or word.
static inline uint32_t gpu_run(const uint32_t *block, uint32_t c)
{
    uint64_t runs = block[0] | (uint64_t)block[1] << 32;

    return (uint32_t)__builtin_popcountll(runs << (63 - c)) - 1;
}

static inline uint32_t gpu_wide_leaf(const uint32_t *block, uint32_t c)
{
    const uint32_t *head = block + c / 32 * 2;
    uint32_t width = head[1] >> 16;
    uint32_t leaf =
        (uint32_t)__builtin_popcount(head[0] << (31 - c % 32)) + (head[1] & 0xffff) - 1;

    return gpu_leaf(block + WIDE_HEAD_BYTES / 4, leaf * width, width);
}

// Walks from word w at depth `depth` (0..63) of the address hi:lo to its leaf. It ends because each
// block uses up bits of the address; `left` bounds it even if the memory is not a table.
static inline uint32_t gpu_walk(const struct gpu_table *t, uint32_t w, uint64_t hi, uint64_t lo,
                                uint32_t depth)
{
    for (uint32_t left = 64; word_is_ref(w) && left > 0; left--) {
        const uint32_t *block = gpu_block(t, w);
        uint32_t c = (uint32_t)(hi << depth >> 58), code = word_code(w), width, leaf;

        if (code == CODE_SKIP) {
            uint64_t key = block[2] | (uint64_t)block[3] << 32;
            uint32_t bits = block[1] >> 16;

            if ((hi ^ key) >> (64 - bits) != 0)
                return block[1] & 0xffff;
            depth = bits;
            w = block[0];
        } else if (code == CODE_BRANCH) {
            w = gpu_word(block + 2 + gpu_run(block, c));
            depth += 6;
        } else if (code == CODE_WIDE) {
            return gpu_wide_leaf(block, (uint32_t)(hi << WIDE_DEPTH >> 56));
        } else {
            width = word_width(w);
            leaf = gpu_leaf(block + 2, gpu_run(block, c) * width, width);
            if (code < CODE_MIXED || leaf >> (width - 1) == 0)
                return leaf;
            w = gpu_word(block + (leaf & ~(1u << (width - 1))));
            depth += 6;
        }
        if (depth >= 64) {
            hi = lo;
            depth = 0;
        }
    }
    return word_is_ref(w) ? 0 : w;
}

static inline uint32_t gpu_answer(const struct gpu_table *t, uint32_t leaf, uint32_t top)
{
    return leaf != 0 ? leaf : *(const volatile uint16_t *)&t->floor[top];
}

// dst: host order. 0: no route.
static inline uint32_t gpu_find4(const struct gpu_table *t, uint32_t dst)
{
    const uint32_t *dir = (const uint32_t *)t->dir;
    uint32_t w = gpu_word(&dir[dst >> (32 - DIR4_BITS)]);

    return gpu_answer(t, gpu_walk(t, w, (uint64_t)dst << 32, 0, DIR4_BITS),
                      dst >> (32 - FLOOR_BITS));
}

// hi, lo: the halves of the address in host order. 0: no route.
static inline uint32_t gpu_find6(const struct gpu_table *t, uint64_t hi, uint64_t lo)
{
    const uint32_t *dir = (const uint32_t *)t->dir;
    bool slotted = hi >> 61 == 1;
    uint32_t w = gpu_word(slotted ? &dir[hi >> (64 - DIR6_BITS) & (DIR6_WORDS - 1)] : &t->outside);

    return gpu_answer(t, gpu_walk(t, w, hi, lo, slotted ? DIR6_BITS : 0),
                      (uint32_t)(hi >> (64 - FLOOR_BITS)));
}

#endif
