// SPDX-License-Identifier: BSD-3-Clause
// kernel_avx512_each.c - IPv4 lookups of a burst whose addresses belong to different tables
//
// Eight addresses a vector, as 64-bit lanes: each gathers from its own table by absolute address. The three passes are those of
// kernel_avx512.c. Many full tables do not fit a core's caches, so what counts here is that all the
// reads of a pass are under way together; the few addresses that need more than a leaf block are walked one by one.
#include "poptrie/kernel_avx512.h"

#include <stddef.h>

#define GROUPS 8 // of 8 addresses

struct group {
    __m512i table, addr, word, block, bit; // where the table, its block for the address and the leaf in it are
    __mmask8 used, plain;
};

// Directory words; lanes that are not used get 0.
INLINE void start(struct group *g, const struct poptrie *const *each, const uint32_t *dst_be, int left)
{
    const __m256i swap = _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    const __m512i zero = _mm512_setzero_si512();

    g->used = left >= 8 ? 0xff : left > 0 ? (__mmask8)((1u << left) - 1) : 0;
    g->table = _mm512_maskz_loadu_epi64(g->used, each);
    g->addr = _mm512_cvtepu32_epi64(_mm256_shuffle_epi8(_mm256_maskz_loadu_epi32(g->used, dst_be), swap));
    __m512i pages = _mm512_mask_i64gather_epi64(zero, g->used, g->table, (void *)offsetof(struct poptrie, pages), 1);
    __m512i slot = _mm512_srli_epi64(g->addr, 32 - DIR4_BITS);
    __m512i entry = _mm512_add_epi64(g->table, _mm512_slli_epi64(_mm512_srli_epi64(slot, PAGE4_BITS), 1));
    __m256i number = _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), g->used, entry, (void *)offsetof(struct poptrie, page), 1);
    __m512i page = _mm512_and_si512(_mm512_cvtepu32_epi64(number), _mm512_set1_epi64(0xffff)); // a number has 16 bits
    __m512i at = _mm512_or_si512(_mm512_slli_epi64(page, PAGE4_BITS), _mm512_and_si512(slot, _mm512_set1_epi64((1 << PAGE4_BITS) - 1)));
    __m256i word = _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), g->used, _mm512_add_epi64(pages, _mm512_slli_epi64(at, 2)), NULL, 1);
    g->word = _mm512_cvtepu32_epi64(word);
}

// Of lanes with a leaf or mixed block: the block, and at which bit behind its run vector the leaf is.
INLINE void find_leaf(struct group *g)
{
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi64(1);
    __m512i code = _mm512_srli_epi64(g->word, WORD_CODE_SHIFT);
    __mmask8 refs = _mm512_test_epi64_mask(g->word, _mm512_set1_epi64(WORD_REF));
    __m512i special = _mm512_srlv_epi64(_mm512_set1_epi64(CODES_SPECIAL), _mm512_and_si512(code, _mm512_set1_epi64(31)));

    g->plain = _mm512_mask_testn_epi64_mask(refs, special, one);
    __m512i arena = _mm512_mask_i64gather_epi64(zero, g->plain, g->table, (void *)offsetof(struct poptrie, arena), 1);
    __m512i offset = _mm512_and_si512(g->word, _mm512_set1_epi64(WORD_OFFSET));
    g->block = _mm512_add_epi64(arena, _mm512_slli_epi64(offset, 3));
    __m512i runs = _mm512_mask_i64gather_epi64(zero, g->plain, g->block, NULL, 1);
    __m512i up = _mm512_andnot_si512(_mm512_srli_epi64(g->addr, 26 - DIR4_BITS), _mm512_set1_epi64(63)); // 63 - child
    __m512i n = _mm512_sub_epi64(popcount64(_mm512_sllv_epi64(runs, up)), one);
    __m512i width = _mm512_add_epi64(_mm512_and_si512(code, _mm512_set1_epi64(15)), one);
    g->bit = _mm512_mul_epu32(n, width);
}

// The answers; the lanes that a leaf block alone does not answer.
INLINE __mmask8 finish(const struct group *g, uint32_t *value)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i code = _mm512_and_si512(_mm512_srli_epi64(g->word, WORD_CODE_SHIFT), _mm512_set1_epi64(31));
    __m512i w1 = _mm512_and_si512(code, _mm512_set1_epi64(15));
    __m512i at = _mm512_add_epi64(g->block, _mm512_srli_epi64(g->bit, 3));
    __m512i leaf = _mm512_mask_i64gather_epi64(zero, g->plain, at, (void *)8, 1);
    __m512i cut = _mm512_sub_epi64(_mm512_set1_epi64(31), w1);

    leaf = _mm512_and_si512(_mm512_srlv_epi64(leaf, _mm512_and_si512(g->bit, _mm512_set1_epi64(7))),
                            _mm512_srlv_epi64(_mm512_set1_epi64(UINT32_MAX), cut));
    __mmask8 mixed = _mm512_mask_cmpgt_epu64_mask(g->plain, code, _mm512_set1_epi64(CODE_MIXED));
    __mmask8 refs = _mm512_test_epi64_mask(g->word, _mm512_set1_epi64(WORD_REF));
    __mmask8 deep = (refs & ~g->plain) | _mm512_mask_test_epi64_mask(mixed, leaf, _mm512_sllv_epi64(_mm512_set1_epi64(1), w1));
    leaf = _mm512_mask_mov_epi64(g->word, g->plain, leaf);
    __mmask8 none = _mm512_mask_testn_epi64_mask(g->used, leaf, leaf);
    if (none) { // the floor's, of the lane's table
        __m512i top = _mm512_slli_epi64(_mm512_srli_epi64(g->addr, 32 - FLOOR_BITS), 1);
        __m256i floor = _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), none, _mm512_add_epi64(g->table, top),
                                                    (void *)offsetof(struct poptrie, floor), 1);
        leaf = _mm512_mask_and_epi64(leaf, none, _mm512_cvtepu32_epi64(floor), _mm512_set1_epi64(0xffff));
    }
    _mm256_mask_storeu_epi32(value, g->used, _mm512_cvtepi64_epi32(leaf));
    return deep;
}

INLINE void burst(const struct poptrie *const *each, const uint32_t *dst_be, uint32_t *value, unsigned groups, unsigned n)
{
    struct group g[GROUPS];
    uint64_t deep = 0;

#pragma GCC unroll 8
    for (unsigned k = 0; k < groups; k++)
        start(&g[k], each + 8 * k, dst_be + 8 * k, (int)n - 8 * (int)k);
#pragma GCC unroll 8
    for (unsigned k = 0; k < groups; k++)
        find_leaf(&g[k]);
#pragma GCC unroll 8
    for (unsigned k = 0; k < groups; k++)
        deep |= (uint64_t)finish(&g[k], value + 8 * k) << 8 * k;
    for (; deep; deep &= deep - 1) {
        unsigned i = (unsigned)__builtin_ctzll(deep);
        uint32_t dst = __builtin_bswap32(dst_be[i]);
        value[i] = walk_answer4(each[i], word_load(&each[i]->dir[dst >> (32 - DIR4_BITS)]), dst);
    }
}

#ifdef __AVX512VPOPCNTDQ__
#define find4_each find4_each_avx512_vpopcnt
#else
#define find4_each find4_each_avx512
#endif

void find4_each(const struct poptrie *const *each, const uint32_t *dst_be, uint32_t *value, unsigned n)
{
    for (; n >= 64; n -= 64, each += 64, dst_be += 64, value += 64)
        burst(each, dst_be, value, 8, 64);
    if (n > 32)
        burst(each, dst_be, value, 8, n);
    else if (n > 16)
        burst(each, dst_be, value, 4, n);
    else if (n)
        burst(each, dst_be, value, 2, n);
}
