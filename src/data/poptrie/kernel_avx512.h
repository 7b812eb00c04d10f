// SPDX-License-Identifier: BSD-3-Clause
// kernel_avx512.h - shared by the AVX-512 kernels, each compiled with and without VPOPCNTDQ
#ifndef POPTRIE_KERNEL_AVX512_H
#define POPTRIE_KERNEL_AVX512_H

#include "poptrie/walk.h"

#include <immintrin.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))

INLINE __m512i popcount64(__m512i v)
{
#ifdef __AVX512VPOPCNTDQ__
    return _mm512_popcnt_epi64(v);
#else
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i count =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    __m512i lo = _mm512_shuffle_epi8(count, _mm512_and_si512(v, nibble));
    __m512i hi = _mm512_shuffle_epi8(count, _mm512_and_si512(_mm512_srli_epi16(v, 4), nibble));

    return _mm512_sad_epu8(_mm512_add_epi8(lo, hi), _mm512_setzero_si512());
#endif
}

// The tables of eight addresses; unused lanes get `other`.
INLINE __m512i tables8(__m512i other, __mmask8 used, const struct poptrie *const *each)
{
    return _mm512_mask_loadu_epi64(other, used, each);
}

// Tables of other groups are farther away: at least a directory lies between the tables of two
// groups.
#define TABLES_BYTES (GROUP_TABLES * sizeof(struct poptrie))
_Static_assert(TABLES_BYTES < DIR4_WORDS * sizeof(uint32_t),
               "tables of another group are told by where they are");

// Are all n tables of one group?
INLINE bool tables_are_near(const struct poptrie *const *each, unsigned n)
{
    const __m512i first = _mm512_set1_epi64((long long)(uintptr_t)each[0]->first);
    __mmask8 far = 0;

    for (unsigned i = 0; i < n; i += 8) {
        __m512i at = _mm512_sub_epi64(
            tables8(first, n - i >= 8 ? 0xff : (__mmask8)((1u << (n - i)) - 1), each + i), first);
        far |= _mm512_cmpge_epu64_mask(at, _mm512_set1_epi64((long long)TABLES_BYTES));
    }
    return !far;
}

// --- IPv4: 16 addresses a vector ---

INLINE __m512i load4(const uint32_t *dst_be, __mmask16 m)
{
    const __m512i swap =
        _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

    return _mm512_shuffle_epi8(_mm512_maskz_loadu_epi32(m, dst_be), swap);
}

INLINE __m512i code4(__m512i word)
{
    return _mm512_and_si512(_mm512_srli_epi32(word, WORD_CODE_SHIFT), _mm512_set1_epi32(31));
}

INLINE __m512i width_less_1(__m512i word) // of leaf and mixed blocks
{
    return _mm512_and_si512(_mm512_srli_epi32(word, WORD_CODE_SHIFT), _mm512_set1_epi32(15));
}

INLINE __m512i ref4(__m512i word)
{
    return _mm512_and_si512(word, _mm512_set1_epi32(WORD_OFFSET));
}

// For the lanes in m: the bit offset of child `c`'s leaf among the leaves of `word`'s block.
INLINE __m512i leaf_bit4(const uint8_t *arena, __m512i word, __m512i w1, __m512i c, __mmask16 m)
{
    __m512i ref = ref4(word), up = _mm512_xor_si512(c, _mm512_set1_epi32(63)), n;
    __m512i lo = _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), (__mmask8)m,
                                             _mm512_castsi512_si256(ref), arena, POOL_UNIT);
    __m512i hi = _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), (__mmask8)(m >> 8),
                                             _mm512_extracti64x4_epi64(ref, 1), arena, POOL_UNIT);

    lo = _mm512_sllv_epi64(lo, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(up)));
    hi = _mm512_sllv_epi64(hi, _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(up, 1)));
    n = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(popcount64(lo))),
                           _mm512_cvtepi64_epi32(popcount64(hi)), 1);
    n = _mm512_add_epi32(n, _mm512_set1_epi32(-1));
    return _mm512_madd_epi16(_mm512_and_si512(n, _mm512_set1_epi32(0xffff)),
                             _mm512_add_epi32(w1, _mm512_set1_epi32(1)));
}

// The leaf at that bit, or `word` itself where m is clear.
INLINE __m512i leaf4(const uint8_t *arena, __m512i word, __m512i w1, __m512i bit, __mmask16 m)
{
    __m512i at = _mm512_add_epi32(_mm512_slli_epi32(ref4(word), 3), _mm512_srli_epi32(bit, 3));
    __m512i leaf = _mm512_mask_i32gather_epi32(word, m, at, arena + 8, 1);
    __m512i cut = _mm512_sub_epi32(_mm512_set1_epi32(31), w1);

    leaf = _mm512_srlv_epi32(leaf, _mm512_and_si512(bit, _mm512_set1_epi32(7)));
    return _mm512_mask_and_epi32(word, m, leaf, _mm512_srlv_epi32(_mm512_set1_epi32(-1), cut));
}

// Lanes whose leaf in a mixed block is the place of a word.
INLINE __mmask16 places4(__m512i word, __m512i w1, __m512i leaf, __mmask16 m)
{
    __mmask16 mixed = _mm512_mask_cmpge_epu32_mask(
        m, word, _mm512_set1_epi32((int)(WORD_REF | (CODE_MIXED + 1) << WORD_CODE_SHIFT)));

    return _mm512_mask_test_epi32_mask(mixed, leaf, _mm512_sllv_epi32(_mm512_set1_epi32(1), w1));
}

// --- IPv6: 8 addresses a vector ---

// Both halves of the first `left` addresses, in host order; 0 in the lanes after them.
INLINE void load6(const uint8_t (*dst)[16], unsigned left, __m512i *hi, __m512i *lo)
{
    __mmask16 m = left >= 8 ? 0xffff : (1u << 2 * left) - 1;
    const __m512i swap =
        _mm512_broadcast_i32x4(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    __m512i a = _mm512_maskz_loadu_epi64((__mmask8)m, dst);
    __m512i b = _mm512_maskz_loadu_epi64((__mmask8)(m >> 8), dst + 4);

    a = _mm512_shuffle_epi8(a, swap);
    b = _mm512_shuffle_epi8(b, swap);
    *hi = _mm512_permutex2var_epi64(a, even, b);
    *lo = _mm512_permutex2var_epi64(a, odd, b);
}

// kernel_avx512.c
void poptrie_find6_avx512(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value,
                          unsigned n);
void poptrie_find6_avx512_vpopcnt(const struct poptrie *t, const uint8_t (*dst)[16],
                                  uint32_t *value, unsigned n);
void poptrie_find6_each_avx512(const struct poptrie *const *each, const uint8_t (*dst)[16],
                               uint32_t *value, unsigned n);
void poptrie_find6_each_avx512_vpopcnt(const struct poptrie *const *each, const uint8_t (*dst)[16],
                                       uint32_t *value, unsigned n);

// kernel_avx512_each.c
void poptrie_find4_each_avx512(const struct poptrie *const *each, const uint32_t *dst_be,
                               uint32_t *value, unsigned n);
void poptrie_find4_each_avx512_vpopcnt(const struct poptrie *const *each, const uint32_t *dst_be,
                                       uint32_t *value, unsigned n);

#endif
