// SPDX-License-Identifier: BSD-3-Clause
// kernel_avx512_loads.c - IPv4 lookups with AVX-512 for CPUs whose gathers are slow
// (base/cpu.h); IPv6 is looked up by gathers, which win there even on these
//
// Unlike kernel_avx512.c, it loads each word separately and prefetches every line as soon as its
// address is known. A prefetch retires at once; a gather of many small steps stays in the CPU's
// window until its slowest line arrives, and holds up later loads. So in passes over 64 addresses,
// as many lines as the core can wait for are always in flight, which matters most when the burst
// belongs to several tables.
//
// Eight addresses per vector, as 64-bit lanes; arithmetic as in kernel_avx512_each.c. Addresses
// that need more than a leaf block are walked one by one.
#include "poptrie/kernel_avx512.h"

#include <stddef.h>

#define BURST 64u
#define LANES 8u

struct leaf_burst {
    const uint32_t *at[BURST];   // in the directory, or in one of its pages
    uint32_t word[BURST];        // at that place
    const uint8_t *block[BURST]; // the word's block; for other words the start of the arena
    const uint8_t *leaf[BURST];  // 8 bytes before the bytes with the leaf
    uint64_t shift[BURST];       // bits below the leaf
};

INLINE __m128i load_two(const uint8_t *a, const uint8_t *b)
{
    return _mm_castpd_si128(
        _mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64((const void *)a)), (const void *)b));
}

// Loads eight bytes at `offset` from each of eight addresses.
INLINE __m512i load_eight(const uint8_t *const *p, unsigned offset)
{
    __m256i low = _mm256_set_m128i(load_two(p[2] + offset, p[3] + offset),
                                   load_two(p[0] + offset, p[1] + offset));
    __m256i high = _mm256_set_m128i(load_two(p[6] + offset, p[7] + offset),
                                    load_two(p[4] + offset, p[5] + offset));

    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

INLINE __m512i load_addresses(const uint32_t *dst_be, __mmask8 used)
{
    const __m256i swap = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

    return _mm512_cvtepu32_epi64(_mm256_shuffle_epi8(_mm256_maskz_loadu_epi32(used, dst_be), swap));
}

INLINE __m512i load_words(const uint32_t *word)
{
    return _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)word));
}

INLINE __m512i width_of(__m512i word) // of leaf and mixed blocks
{
    __m512i code = _mm512_srli_epi64(word, WORD_CODE_SHIFT);

    return _mm512_add_epi64(_mm512_and_si512(code, _mm512_set1_epi64(15)), _mm512_set1_epi64(1));
}

// Lanes with a leaf or mixed block.
INLINE __mmask8 plain_of(__m512i word)
{
    __m512i code =
        _mm512_and_si512(_mm512_srli_epi64(word, WORD_CODE_SHIFT), _mm512_set1_epi64(31));
    __m512i special = _mm512_srlv_epi64(_mm512_set1_epi64(CODES_SPECIAL), code);

    return _mm512_mask_testn_epi64_mask(_mm512_test_epi64_mask(word, _mm512_set1_epi64(WORD_REF)),
                                        special, _mm512_set1_epi64(1));
}

// Computes the places of the leaves.
INLINE void find_leaves(struct leaf_burst *b, unsigned i, __m512i addr)
{
    __m512i word = load_words(b->word + i), runs = load_eight(b->block + i, 0);
    // 63 - child
    __m512i up =
        _mm512_andnot_si512(_mm512_srli_epi64(addr, 26 - DIR4_BITS), _mm512_set1_epi64(63));
    __m512i n = _mm512_sub_epi64(popcount64(_mm512_sllv_epi64(runs, up)), _mm512_set1_epi64(1));
    __m512i bit = _mm512_maskz_mul_epu32(plain_of(word), n, width_of(word));

    _mm512_storeu_si512(
        b->leaf + i, _mm512_add_epi64(_mm512_loadu_si512(b->block + i), _mm512_srli_epi64(bit, 3)));
    _mm512_storeu_si512(b->shift + i, _mm512_and_si512(bit, _mm512_set1_epi64(7)));
}

// Reads the answers of leaf blocks and floors. Returns the lanes that need more.
INLINE __mmask8 read_leaves(const struct leaf_burst *b, unsigned i, __m512i table, __m512i addr,
                            __m256i *value)
{
    __m512i word = load_words(b->word + i), width = width_of(word), one = _mm512_set1_epi64(1);
    __m512i leaf = _mm512_srlv_epi64(load_eight(b->leaf + i, 8), _mm512_loadu_si512(b->shift + i));
    __mmask8 plain = plain_of(word),
             refs = _mm512_test_epi64_mask(word, _mm512_set1_epi64(WORD_REF));
    const __m512i mixed_from = _mm512_set1_epi64(WORD_REF | (CODE_MIXED + 1) << WORD_CODE_SHIFT);
    __mmask8 mixed = _mm512_mask_cmpge_epu64_mask(plain, word, mixed_from);

    leaf = _mm512_and_si512(leaf, _mm512_sub_epi64(_mm512_sllv_epi64(one, width), one));
    __mmask8 places = _mm512_mask_test_epi64_mask(
        mixed, leaf, _mm512_sllv_epi64(one, _mm512_sub_epi64(width, one)));
    leaf = _mm512_mask_mov_epi64(word, plain, leaf);
    __mmask8 none = _mm512_testn_epi64_mask(leaf, leaf);
    if (none) {
        __m512i at =
            _mm512_add_epi64(table, _mm512_slli_epi64(_mm512_srli_epi64(addr, 32 - FLOOR_BITS), 1));
        __m256i floor = _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), none, at,
                                                    (void *)offsetof(struct poptrie, floor), 1);
        leaf = _mm512_mask_and_epi64(leaf, none, _mm512_cvtepu32_epi64(floor),
                                     _mm512_set1_epi64(0xffff));
    }
    *value = _mm512_cvtepi64_epi32(leaf);
    return (refs & ~plain) | places;
}

// Mask of the first `left` lanes.
INLINE __mmask8 used_of(unsigned left)
{
    return left >= LANES ? 0xff : (__mmask8)((1u << left) - 1);
}

// Looks up n addresses (1..64) in table t; or, if `each` is not NULL, each in its own table.
// `near`: all tables are of t's group and share its memory.
INLINE void loads_burst4(const struct poptrie *t, const struct poptrie *const *each, bool near,
                         const uint32_t *dst_be, uint32_t *value, unsigned n)
{
    const __m512i one = _mm512_set1_epi64((long long)(uintptr_t)t);
    const uint8_t *const arena = t->arena;
    struct leaf_burst b;
    uint64_t deep = 0;

    for (unsigned i = 0; i < n; i++) {
        uint32_t slot = __builtin_bswap32(dst_be[i]) >> (32 - DIR4_BITS);
        b.at[i] = each ? page_word_of(each[i], near ? t->pages : each[i]->pages, slot, PAGE4_BITS)
                       : &t->dir[slot];
        __builtin_prefetch(b.at[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        uint32_t w = word_load(b.at[i]);
        b.word[i] = w;
        b.block[i] =
            (near ? arena : each[i]->arena) + (size_t)word_ref(w & -(w / WORD_REF)) * POOL_UNIT;
        __builtin_prefetch(b.block[i]);
    }
    for (unsigned i = n; i % LANES; i++) { // unused lanes
        b.word[i] = 0;
        b.block[i] = arena;
    }
    for (unsigned i = 0; i < n; i += LANES)
        find_leaves(&b, i, load_addresses(dst_be + i, used_of(n - i)));
    for (unsigned i = 0; i < n; i += LANES) {
        __mmask8 used = used_of(n - i);
        __m512i table = each ? tables8(one, used, each + i) : one;
        __m256i found;
        deep |=
            (uint64_t)(read_leaves(&b, i, table, load_addresses(dst_be + i, used), &found) & used)
            << i;
        if (used == 0xff)
            _mm256_storeu_si256((__m256i *)(value + i), found);
        else
            _mm256_mask_storeu_epi32(value + i, used, found);
    }
    for (; deep; deep &= deep - 1) {
        unsigned i = (unsigned)__builtin_ctzll(deep);
        value[i] = walk_answer4(each ? each[i] : t, b.word[i], __builtin_bswap32(dst_be[i]));
    }
}

static void loads_find4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value,
                        unsigned n)
{
    for (; n > BURST; n -= BURST, dst_be += BURST, value += BURST)
        loads_burst4(t, NULL, true, dst_be, value, BURST);
    loads_burst4(t, NULL, true, dst_be, value, n);
}

INLINE void loads_each4(const struct poptrie *const *each, const uint32_t *dst_be, uint32_t *value,
                        unsigned n)
{
    if (tables_are_near(each, n))
        loads_burst4(each[0], each, true, dst_be, value, n);
    else
        loads_burst4(each[0], each, false, dst_be, value, n);
}

static void loads_find4_each(const struct poptrie *const *each, const uint32_t *dst_be,
                             uint32_t *value, unsigned n)
{
    for (; n > BURST; n -= BURST, each += BURST, dst_be += BURST, value += BURST)
        loads_each4(each, dst_be, value, BURST);
    loads_each4(each, dst_be, value, n);
}

const struct kernel poptrie_kernel_avx512_loads = {"avx512-loads",
                                                   loads_find4,
                                                   poptrie_find6_avx512_vpopcnt,
                                                   loads_find4_each,
                                                   poptrie_find6_each_avx512_vpopcnt,
                                                   NULL};
