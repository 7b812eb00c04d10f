// SPDX-License-Identifier: BSD-3-Clause
// kernel_avx512.h - what the AVX-512 kernels share; each is compiled twice, with and without VPOPCNTDQ
#ifndef POPTRIE_KERNEL_AVX512_H
#define POPTRIE_KERNEL_AVX512_H

#include "poptrie/walk.h"

#include <immintrin.h>

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

// kernel_avx512.c
void find6_avx512(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value, unsigned n);
void find6_avx512_vpopcnt(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value, unsigned n);

// kernel_avx512_each.c
void find4_each_avx512(const struct poptrie *const *each, const uint32_t *dst_be, uint32_t *value, unsigned n);
void find4_each_avx512_vpopcnt(const struct poptrie *const *each, const uint32_t *dst_be, uint32_t *value, unsigned n);

#endif
