// SPDX-License-Identifier: BSD-3-Clause
// kernel_avx2.c - bulk lookups with AVX2
//
// The passes of kernel_avx512.c with 8 (IPv4) or 4 (IPv6) addresses per vector and no mask
// registers: idle lanes read the arena's first bytes, which are never used and zero. IPv4 addresses
// that need more than one block are finished one by one.
//
// All directory lines are prefetched before the first is read: a gather made of many small steps
// (Zen 3) delays later loads until its slowest lane has arrived. IPv4's words are read one by one,
// so that their blocks can be prefetched, too. A burst of several tables takes its directory words
// from their pages; after that it is like a burst of one table, because they share an arena.
#include "poptrie/walk.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define GROUPS4 8u // of 8 addresses
#define EACH4 64u
#define GROUPS6 8u // of 4 addresses

INLINE __m256i popcount64(__m256i v)
{
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i count =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    __m256i lo = _mm256_shuffle_epi8(count, _mm256_and_si256(v, nibble));
    __m256i hi = _mm256_shuffle_epi8(count, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble));

    return _mm256_sad_epu8(_mm256_add_epi8(lo, hi), _mm256_setzero_si256());
}

// --- IPv4 ---

INLINE __m256i width_less_1(__m256i word)
{
    return _mm256_and_si256(_mm256_srli_epi32(word, WORD_CODE_SHIFT), _mm256_set1_epi32(15));
}

// The bit offset of child `c`'s leaf among the leaves of `ref`'s block; 0 for leaves of 0 bits.
INLINE __m256i leaf_bit4(const uint8_t *arena, __m256i ref, __m256i width, __m256i c)
{
    __m256i up = _mm256_xor_si256(c, _mm256_set1_epi32(63)), n;
    __m256i lo =
        _mm256_i32gather_epi64((const long long *)arena, _mm256_castsi256_si128(ref), POOL_UNIT);
    __m256i hi = _mm256_i32gather_epi64((const long long *)arena, _mm256_extracti128_si256(ref, 1),
                                        POOL_UNIT);

    lo = _mm256_sllv_epi64(lo, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(up)));
    hi = _mm256_sllv_epi64(hi, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(up, 1)));
    // the even dwords of both: 0 2 4 6 of lo, then of hi
    n = _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(popcount64(lo)),
                                              _mm256_castsi256_ps(popcount64(hi)), 0x88));
    n = _mm256_permute4x64_epi64(n, 0xd8);
    n = _mm256_and_si256(_mm256_add_epi32(n, _mm256_set1_epi32(-1)), _mm256_set1_epi32(0xffff));
    return _mm256_madd_epi16(n, width);
}

// Replaces leaves of 0 by the floor's value.
INLINE __m256i floor4(const struct poptrie *t, __m256i leaf, __m256i addr)
{
    __m256i none = _mm256_cmpeq_epi32(leaf, _mm256_setzero_si256()), floor;

    if (_mm256_testz_si256(none, none))
        return leaf;
    floor = _mm256_i32gather_epi32((const int *)t->floor, _mm256_srli_epi32(addr, 32 - FLOOR_BITS),
                                   sizeof(*t->floor));
    floor = _mm256_and_si256(floor, _mm256_set1_epi32(0xffff));
    return _mm256_or_si256(leaf, _mm256_and_si256(none, floor));
}

// Reads the directory's words one by one; prefetches all lines first, and each word's block as soon
// as it is known.
INLINE void words4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *word, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        __builtin_prefetch(&t->dir[__builtin_bswap32(dst_be[i]) >> (32 - DIR4_BITS)]);
    for (unsigned i = 0; i < n; i++) {
        word[i] = word_load(&t->dir[__builtin_bswap32(dst_be[i]) >> (32 - DIR4_BITS)]);
        __builtin_prefetch(block_at(t->arena, word[i] & -(word[i] / WORD_REF)));
    }
}

// The same with a table for each address.
INLINE void floors4(const struct poptrie *const *each, __m256i leaf, const uint32_t *dst_be,
                    uint32_t *value)
{
    __m256i none = _mm256_cmpeq_epi32(leaf, _mm256_setzero_si256());

    for (unsigned m = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(none)); m; m &= m - 1) {
        unsigned i = (unsigned)__builtin_ctz(m);
        value[i] = leaf_answer(each[i], 0, __builtin_bswap32(dst_be[i]) >> (32 - FLOOR_BITS));
    }
}

// `found`: the directory's words. All addresses in table t, or, if `each` is not NULL, each in its
// own table, with t's arena.
INLINE void avx2_burst4(const struct poptrie *t, const struct poptrie *const *each,
                        const uint32_t *found, const uint32_t *dst_be, uint32_t *value,
                        unsigned groups)
{
    const __m256i swap = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi32(1);
    __m256i addr[GROUPS4], word[GROUPS4], bit[GROUPS4], ref[GROUPS4], use[GROUPS4];
    const uint32_t mixed = WORD_REF | CODE_MIXED << WORD_CODE_SHIFT | WORD_OFFSET; // below them
    __m256i any = zero;

#pragma GCC unroll 8
    for (unsigned g = 0; g < groups; g++) {
        addr[g] = _mm256_shuffle_epi8(_mm256_loadu_si256((const void *)(dst_be + 8 * g)), swap);
        word[g] = _mm256_loadu_si256((const void *)(found + 8 * g));
    }
#pragma GCC unroll 8
    for (unsigned g = 0; g < groups; g++) {
        __m256i c = _mm256_srli_epi32(_mm256_slli_epi32(addr[g], DIR4_BITS), 26);
        __m256i is_ref = _mm256_srai_epi32(word[g], 31);
        __m256i code =
            _mm256_and_si256(_mm256_srli_epi32(word[g], WORD_CODE_SHIFT), _mm256_set1_epi32(31));
        __m256i deep = _mm256_srlv_epi32(_mm256_set1_epi32((int)CODES_SPECIAL), code);

        deep = _mm256_and_si256(is_ref, _mm256_srai_epi32(_mm256_slli_epi32(deep, 31), 31));
        any = _mm256_or_si256(any, deep);
        use[g] = _mm256_andnot_si256(deep, is_ref);
        ref[g] =
            _mm256_and_si256(word[g], _mm256_and_si256(use[g], _mm256_set1_epi32(WORD_OFFSET)));
        bit[g] = leaf_bit4(t->arena, ref[g], _mm256_add_epi32(width_less_1(word[g]), one), c);
        bit[g] = _mm256_and_si256(bit[g], use[g]);
    }
#pragma GCC unroll 8
    for (unsigned g = 0; g < groups; g++) {
        __m256i at = _mm256_add_epi32(_mm256_slli_epi32(ref[g], 3), _mm256_srli_epi32(bit[g], 3));
        __m256i leaf = _mm256_i32gather_epi32((const int *)(t->arena + 8), at, 1);
        __m256i cut = _mm256_sub_epi32(_mm256_set1_epi32(31), width_less_1(word[g])), place;

        leaf = _mm256_srlv_epi32(leaf, _mm256_and_si256(bit[g], _mm256_set1_epi32(7)));
        leaf = _mm256_and_si256(leaf, _mm256_srlv_epi32(_mm256_set1_epi32(-1), cut));
        // a leaf of a mixed block with its top bit set is the place of a word
        place = _mm256_and_si256(leaf, _mm256_sllv_epi32(one, width_less_1(word[g])));
        place = _mm256_andnot_si256(_mm256_cmpeq_epi32(place, zero),
                                    _mm256_cmpgt_epi32(word[g], _mm256_set1_epi32((int)mixed)));
        place = _mm256_and_si256(place, use[g]);
        any = _mm256_or_si256(any, place);
        leaf = _mm256_blendv_epi8(word[g], leaf, _mm256_andnot_si256(place, use[g]));
        if (!each)
            leaf = floor4(t, leaf, addr[g]);
        _mm256_storeu_si256((void *)(value + 8 * g), leaf);
        if (each)
            floors4(each + 8 * g, leaf, dst_be + 8 * g, value + 8 * g);
    }
    // the others are still words
    if (__builtin_expect(!_mm256_testz_si256(any, any), 0))
        for (unsigned i = 0; i < 8 * groups; i++)
            if (word_is_ref(value[i]))
                value[i] = walk_answer4(each ? each[i] : t, value[i], __builtin_bswap32(dst_be[i]));
}

INLINE void avx2_table4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value,
                        unsigned groups)
{
    uint32_t found[8 * GROUPS4];

    words4(t, dst_be, found, 8 * groups);
    avx2_burst4(t, NULL, found, dst_be, value, groups);
}

static void avx2_find4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value, unsigned n)
{
    uint32_t dst[8] = {0}, got[8];

    for (; n >= 64; n -= 64, dst_be += 64, value += 64)
        avx2_table4(t, dst_be, value, 8);
    if (n >= 32) {
        avx2_table4(t, dst_be, value, 4);
        n -= 32, dst_be += 32, value += 32;
    }
    for (; n >= 8; n -= 8, dst_be += 8, value += 8)
        avx2_table4(t, dst_be, value, 1);
    if (n > 0) {
        memcpy(dst, dst_be, n * sizeof(*dst));
        avx2_table4(t, dst, got, 1);
        memcpy(value, got, n * sizeof(*got));
    }
}

// Reads the directory's words of n addresses (1..64), with the pages of the first table; false: the
// tables have several arenas. The tables are in each[]; if `of` is not NULL, it stores them there.
INLINE bool words4_several(const void *const *of, const uint16_t *which,
                           const struct poptrie **each, const uint32_t *dst_be, uint32_t *word,
                           unsigned n)
{
    const uint32_t *at[EACH4];
    const struct poptrie *first =
        of ? *(const struct poptrie *const *)__atomic_load_n(&of[which[0]], __ATOMIC_ACQUIRE)
           : each[0];
    const uint8_t *arena = first->arena;
    const uint32_t *pages = first->pages;
    uintptr_t differ = !arena;

    for (unsigned i = 0; i < n; i++) {
        const struct poptrie *t =
            of ? *(const struct poptrie *const *)__atomic_load_n(&of[which[i]], __ATOMIC_ACQUIRE)
               : each[i];
        const uint32_t *w =
            page_word_of(t, pages, __builtin_bswap32(dst_be[i]) >> (32 - DIR4_BITS), PAGE4_BITS);
        differ |= (uintptr_t)t->arena ^ (uintptr_t)arena;
        __builtin_prefetch(w);
        at[i] = w;
        if (of)
            each[i] = t;
    }
    if (differ != 0)
        return false;
    for (unsigned i = 0; i < n; i++) {
        word[i] = word_load(at[i]);
        __builtin_prefetch(block_at(arena, word[i] & -(word[i] / WORD_REF)));
    }
    return true;
}

// Continues from the words of n addresses (1..64) in one arena.
static void avx2_answer4_each(const struct poptrie *const *each, const uint32_t *word,
                              const uint32_t *dst_be, uint32_t *value, unsigned n)
{
    if (n == EACH4) {
        avx2_burst4(each[0], each, word, dst_be, value, 8);
        return;
    }
    for (unsigned i = 0; i + 8 <= n; i += 8)
        avx2_burst4(each[0], each + i, word + i, dst_be + i, value + i, 1);
    for (unsigned i = n & ~7u; i < n; i++)
        value[i] = word_is_ref(word[i])
                       ? walk_answer4(each[i], word[i], __builtin_bswap32(dst_be[i]))
                       : leaf_answer(each[i], word[i],
                                     __builtin_bswap32(dst_be[i]) >> (32 - FLOOR_BITS));
}

static void avx2_find4_each(const struct poptrie *const *each, const uint32_t *dst_be,
                            uint32_t *value, unsigned n)
{
    uint32_t word[EACH4];

    for (unsigned some; n > 0; n -= some, each += some, dst_be += some, value += some) {
        some = n < EACH4 ? n : EACH4;
        if (words4_several(NULL, NULL, (const struct poptrie **)each, dst_be, word, some))
            avx2_answer4_each(each, word, dst_be, value, some);
        else
            poptrie_find4_each_scalar(each, dst_be, value, some);
    }
}

static bool avx2_find4_of(const void *const *of, const uint16_t *which, const struct poptrie **each,
                          const uint32_t *dst_be, uint32_t *value, unsigned n)
{
    uint32_t word[EACH4];

    if (!words4_several(of, which, each, dst_be, word, n))
        return false;
    avx2_answer4_each(each, word, dst_be, value, n);
    return true;
}

// --- IPv6: see step6() of kernel_avx512.c ---

struct lanes6 {
    __m256i word, half, depth;
};

INLINE __m256i refs6(__m256i word) // all ones where word is a reference
{
    return _mm256_cmpgt_epi64(word, _mm256_set1_epi64x(WORD_REF - 1));
}

INLINE void load6(const uint8_t (*dst)[16], __m256i *hi, __m256i *lo)
{
    const __m256i swap = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
    __m256i a = _mm256_shuffle_epi8(_mm256_loadu_si256((const void *)dst), swap);
    __m256i b = _mm256_shuffle_epi8(_mm256_loadu_si256((const void *)(dst + 2)), swap);

    *hi = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a, b), 0xd8);
    *lo = _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(a, b), 0xd8);
}

INLINE struct lanes6 lanes6_start(const struct poptrie *t, __m256i hi)
{
    __m256i slotted = _mm256_cmpeq_epi64(_mm256_srli_epi64(hi, 61), _mm256_set1_epi64x(1));
    __m256i slot =
        _mm256_and_si256(_mm256_srli_epi64(hi, 64 - DIR6_BITS), _mm256_set1_epi64x(DIR6_WORDS - 1));
    __m256i word = _mm256_cvtepu32_epi64(
        _mm256_i64gather_epi32((const int *)t->dir, _mm256_and_si256(slot, slotted), 4));
    __m256i outside = _mm256_set1_epi64x(word_load(&t->outside));

    return (struct lanes6){_mm256_blendv_epi8(outside, word, slotted), hi,
                           _mm256_and_si256(slotted, _mm256_set1_epi64x(DIR6_BITS))};
}

INLINE __m256i ref6(__m256i word, __m256i use)
{
    return _mm256_and_si256(use, _mm256_and_si256(word, _mm256_set1_epi64x(WORD_OFFSET)));
}

INLINE void lanes6_step(const uint8_t *arena, struct lanes6 *l, __m256i head, __m256i lo,
                        __m256i use)
{
    const __m256i c63 = _mm256_set1_epi64x(63), low32 = _mm256_set1_epi64x(UINT32_MAX);
    __m256i w1 =
        _mm256_and_si256(_mm256_srli_epi64(l->word, WORD_CODE_SHIFT), _mm256_set1_epi64x(31));
    __m256i skip = _mm256_and_si256(use, _mm256_cmpeq_epi64(w1, _mm256_set1_epi64x(CODE_SKIP)));
    __m256i block = _mm256_andnot_si256(skip, use);
    __m256i c = _mm256_srli_epi64(_mm256_sllv_epi64(l->half, l->depth), 58);
    __m256i n = popcount64(_mm256_sllv_epi64(head, _mm256_xor_si256(c, c63)));
    __m256i bit =
        _mm256_and_si256(block, _mm256_mul_epu32(_mm256_add_epi64(n, _mm256_set1_epi64x(-1)),
                                                 _mm256_add_epi64(w1, _mm256_set1_epi64x(1))));
    __m256i at =
        _mm256_add_epi64(_mm256_slli_epi64(ref6(l->word, use), 3), _mm256_srli_epi64(bit, 3));
    __m256i more = _mm256_i64gather_epi64((const long long *)(arena + 8), at, 1);
    __m256i bits = _mm256_srli_epi64(head, 48);
    __m256i leaf = _mm256_srlv_epi64(more, _mm256_and_si256(bit, _mm256_set1_epi64x(7)));
    __m256i differ = _mm256_srlv_epi64(_mm256_xor_si256(l->half, more),
                                       _mm256_sub_epi64(_mm256_set1_epi64x(64), bits));
    __m256i same = _mm256_cmpeq_epi64(differ, _mm256_setzero_si256());
    __m256i out = _mm256_and_si256(_mm256_srli_epi64(head, 32), _mm256_set1_epi64x(0xffff));
    __m256i next, over;

    leaf = _mm256_and_si256(leaf,
                            _mm256_srlv_epi64(low32, _mm256_sub_epi64(_mm256_set1_epi64x(31), w1)));
    next = _mm256_blendv_epi8(out, _mm256_and_si256(head, low32), same);
    next = _mm256_blendv_epi8(leaf, next, skip);
    l->word = _mm256_blendv_epi8(l->word, next, use);
    l->depth = _mm256_add_epi64(l->depth, _mm256_set1_epi64x(6));
    l->depth = _mm256_blendv_epi8(l->depth, bits, skip);
    over = _mm256_cmpgt_epi64(l->depth, c63);
    l->half = _mm256_blendv_epi8(l->half, lo, over);
    l->depth = _mm256_andnot_si256(over, l->depth);
}

INLINE __m128i floor6(const struct poptrie *t, __m128i leaf, const uint8_t (*dst)[16])
{
    __m128i none = _mm_cmpeq_epi32(leaf, _mm_setzero_si128()), floor;
    __m256i hi, lo;

    if (_mm_testz_si128(none, none))
        return leaf;
    load6(dst, &hi, &lo);
    floor = _mm256_i64gather_epi32((const int *)t->floor, _mm256_srli_epi64(hi, 64 - FLOOR_BITS),
                                   sizeof(*t->floor));
    floor = _mm_and_si128(floor, _mm_set1_epi32(0xffff));
    return _mm_or_si128(leaf, _mm_and_si128(none, floor));
}

INLINE void avx2_burst6(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value,
                        unsigned groups)
{
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    __m256i lo[GROUPS6], head[GROUPS6], use[GROUPS6];
    struct lanes6 l[GROUPS6];

#pragma GCC unroll 8
    for (unsigned g = 0; g < groups; g++) {
        __m256i hi;

        load6(dst + 4 * g, &hi, &lo[g]);
        l[g] = lanes6_start(t, hi);
    }
    for (;;) {
        __m256i any = _mm256_setzero_si256();

#pragma GCC unroll 8
        for (unsigned g = 0; g < groups; g++) {
            use[g] = refs6(l[g].word);
            any = _mm256_or_si256(any, use[g]);
            head[g] = _mm256_i64gather_epi64((const long long *)t->arena, ref6(l[g].word, use[g]),
                                             POOL_UNIT);
        }
        if (_mm256_testz_si256(any, any))
            break;
#pragma GCC unroll 8
        for (unsigned g = 0; g < groups; g++)
            lanes6_step(t->arena, &l[g], head[g], lo[g], use[g]);
    }
#pragma GCC unroll 8
    for (unsigned g = 0; g < groups; g++) {
        __m128i leaf = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(l[g].word, even));

        leaf = floor6(t, leaf, dst + 4 * g);
        _mm_storeu_si128((void *)(value + 4 * g), leaf);
    }
}

static void avx2_find6(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value,
                       unsigned n)
{
    uint8_t last[4][16] = {{0}};
    uint32_t got[4];

    for (unsigned i = 0; i < n; i++)
        __builtin_prefetch(&t->dir[load_be64(dst[i]) >> (64 - DIR6_BITS) & (DIR6_WORDS - 1)]);
    for (; n >= 32; n -= 32, dst += 32, value += 32)
        avx2_burst6(t, dst, value, 8);
    if (n >= 16) {
        avx2_burst6(t, dst, value, 4);
        n -= 16, dst += 16, value += 16;
    }
    for (; n >= 4; n -= 4, dst += 4, value += 4)
        avx2_burst6(t, dst, value, 1);
    if (n > 0) {
        memcpy(last, dst, n * sizeof(*last));
        avx2_burst6(t, (const uint8_t(*)[16])last, got, 1);
        memcpy(value, got, n * sizeof(*got));
    }
}

const struct kernel poptrie_kernel_avx2 = {"avx2", avx2_find4, avx2_find6, avx2_find4_each,
                                           poptrie_find6_each_scalar, avx2_find4_of};
