// SPDX-License-Identifier: BSD-3-Clause
// lanes_columns.h - loads the same bytes of eight frames, or of eight mbufs, into one register
//
// With AVX-512, 8 bytes per lane: by gathers or, with LANES_LOADS, by a load per lane and shuffles.
// lanes_avx512.c is compiled both ways, because gathers are many small steps on some CPUs (AMD's at
// least up to Zen 4): 1.3 cycles per lane against 0.5, or 0.33 if one load brings four neighboring
// words. With AVX2, 4 bytes per lane, always by loads of two or four neighboring words.
#ifndef FORWARDER_LANES_COLUMNS_H
#define FORWARDER_LANES_COLUMNS_H

#include <immintrin.h>
#include <stdbool.h>

#define INLINE static inline __attribute__((always_inline))

INLINE __m128i load_two_rows(const char *a, const char *b)
{
    return _mm_castpd_si128(
        _mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64((const void *)a)), (const void *)b));
}

#ifdef __AVX512F__
#define ALL(x) _mm512_set1_epi64((long long)(x))

#ifdef LANES_LOADS
enum { LANES_BY_LOADS = true };
#else
enum { LANES_BY_LOADS = false };
#endif
#define LANES_ALL ((__mmask8)0xff)

INLINE __m512i gather(__mmask8 live, __m512i at, long offset)
{
    return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), live, at, (const void *)offset, 1);
}

INLINE __m512i join(__m256i a, __m256i b)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

// Loads 8 bytes at `offset` from the addresses at[0..8) of mask `live`, 0 in other lanes.
INLINE __m512i column(__mmask8 live, const void *at, long offset)
{
    if (!LANES_BY_LOADS || live != LANES_ALL)
        return gather(live, _mm512_loadu_si512(at), offset);
    const char *const *p = at;
    return join(_mm256_set_m128i(load_two_rows(p[2] + offset, p[3] + offset),
                                 load_two_rows(p[0] + offset, p[1] + offset)),
                _mm256_set_m128i(load_two_rows(p[6] + offset, p[7] + offset),
                                 load_two_rows(p[4] + offset, p[5] + offset)));
}

// Loads 32 bytes from a and 32 from b.
INLINE __m512i load_rows(const char *a, const char *b)
{
    return join(_mm256_loadu_si256((const __m256i *)a), _mm256_loadu_si256((const __m256i *)b));
}

// Loads four adjacent columns: word k of the 32 bytes from `offset` on is in c[k].
INLINE void columns(__mmask8 live, const void *at, long offset, __m512i c[4])
{
    if (!LANES_BY_LOADS || live != LANES_ALL) {
        for (long k = 0; k < 4; k++)
            c[k] = gather(live, _mm512_loadu_si512(at), offset + 8 * k);
        return;
    }
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13),
                  high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    const char *const *p = at;
    __m512i r0 = load_rows(p[0] + offset, p[4] + offset),
            r1 = load_rows(p[1] + offset, p[5] + offset);
    __m512i r2 = load_rows(p[2] + offset, p[6] + offset),
            r3 = load_rows(p[3] + offset, p[7] + offset);
    __m512i even01 = _mm512_unpacklo_epi64(r0, r1), odd01 = _mm512_unpackhi_epi64(r0, r1);
    __m512i even23 = _mm512_unpacklo_epi64(r2, r3), odd23 = _mm512_unpackhi_epi64(r2, r3);

    c[0] = _mm512_permutex2var_epi64(even01, low, even23);
    c[1] = _mm512_permutex2var_epi64(odd01, low, odd23);
    c[2] = _mm512_permutex2var_epi64(even01, high, even23);
    c[3] = _mm512_permutex2var_epi64(odd01, high, odd23);
}
#else
#define ALL(x) _mm256_set1_epi32((int)(x))

// Loads 8 bytes each at `offset` from p[0], p[1], p[4], p[5].
INLINE __m256i load_four(const char *const *p, long offset)
{
    return _mm256_set_m128i(load_two_rows(p[4] + offset, p[5] + offset),
                            load_two_rows(p[0] + offset, p[1] + offset));
}

// Of two adjacent columns in rows, load_four(p) and load_four(p + 2): the first, the second.
INLINE __m256i first_column(__m256i a, __m256i b)
{
    return _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}

INLINE __m256i second_column(__m256i a, __m256i b)
{
    return _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd));
}

// Loads two adjacent columns: word k of the 8 bytes at `offset` from the addresses at[0..8) is in
// c[k].
INLINE void two_columns(const void *at, long offset, __m256i c[2])
{
    __m256i a = load_four(at, offset), b = load_four((const char *const *)at + 2, offset);

    c[0] = first_column(a, b);
    c[1] = second_column(a, b);
}

// The same with four columns, of 16 bytes.
INLINE void four_columns(const void *at, long offset, __m256i c[4])
{
    const char *const *p = at;
    __m256i r[4];

    for (unsigned j = 0; j < 4; j++)
        r[j] = _mm256_set_m128i(_mm_loadu_si128((const void *)(p[j + 4] + offset)),
                                _mm_loadu_si128((const void *)(p[j] + offset)));
    __m256i low01 = _mm256_unpacklo_epi32(r[0], r[1]), low23 = _mm256_unpacklo_epi32(r[2], r[3]);
    __m256i high01 = _mm256_unpackhi_epi32(r[0], r[1]), high23 = _mm256_unpackhi_epi32(r[2], r[3]);
    c[0] = _mm256_unpacklo_epi64(low01, low23);
    c[1] = _mm256_unpackhi_epi64(low01, low23);
    c[2] = _mm256_unpacklo_epi64(high01, high23);
    c[3] = _mm256_unpackhi_epi64(high01, high23);
}
#endif

#endif
