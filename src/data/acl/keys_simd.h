// SPDX-License-Identifier: BSD-3-Clause
// keys_simd.h - vector operations on keys for classify_simd.c, in addition to lane_simd.h,
// LANE_STEP words a vector
//
// A mask has a bit for each lane. A gather may also read masked-out lanes: every index must be
// valid.
#ifndef ACL_KEYS_SIMD_H
#define ACL_KEYS_SIMD_H

#include "acl/lane_simd.h"

typedef lane_vec lane_wide; // LANE_STEP / 2 words of 64 bits
#ifdef __AVX512F__
typedef __mmask16 lane_order; // lanes that move to the front
#define LANE_BROADCAST(v) _mm512_broadcast_i32x4(v)
#else
typedef __m256i lane_order;
#define LANE_BROADCAST(v) _mm256_broadcastsi128_si256(v)
#endif

// --- the same on both ---

LANE_INLINE lane_vec lane_loadu(const void *p)
{
    return LANE_SI(loadu)((const lane_vec *)p);
}

LANE_INLINE void lane_store(uint32_t *p, lane_vec v)
{
    LANE_SI(store)((lane_vec *)p, v);
}

LANE_INLINE lane_vec lane_and(lane_vec a, lane_vec b)
{
    return LANE_SI(and)(a, b);
}

LANE_INLINE lane_vec lane_but(lane_vec a, lane_vec b) // a & ~b
{
    return LANE_SI(andnot)(b, a);
}

LANE_INLINE lane_vec lane_xor(lane_vec a, lane_vec b)
{
    return LANE_SI(xor)(a, b);
}

LANE_INLINE lane_vec lane_mul(lane_vec a, uint32_t by)
{
    return LANE_MM(mullo_epi32)(a, lane_all(by));
}

LANE_INLINE lane_vec lane_shr(lane_vec a, unsigned by)
{
    return LANE_MM(srli_epi32)(a, by);
}

LANE_INLINE lane_vec lane_bit(lane_vec at) // 1 << at, which is below 32
{
    return LANE_MM(sllv_epi32)(lane_all(1), at);
}

LANE_INLINE lane_vec lane_swap(lane_vec a) // swaps the bytes of each word
{
    return LANE_MM(shuffle_epi8)(
        a, LANE_BROADCAST(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)));
}

LANE_INLINE lane_wide wide_add(lane_wide a, lane_wide b)
{
    return LANE_MM(add_epi64)(a, b);
}

LANE_INLINE lane_wide wide_shr(lane_wide a, unsigned by)
{
    return LANE_MM(srli_epi64)(a, by);
}

// --- specific to each ---

#ifdef __AVX512F__

LANE_INLINE lane_vec lane_load_some(const uint32_t *p, lane_hits m) // reads nothing else
{
    return _mm512_maskz_loadu_epi32(m, p);
}

LANE_INLINE lane_vec lane_gather(const uint32_t *from, lane_vec at, lane_hits m)
{
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, at, from, sizeof(uint32_t));
}

LANE_INLINE lane_hits lane_any(lane_vec a, lane_vec b) // where a & b is not 0
{
    return _mm512_test_epi32_mask(a, b);
}

// clears these bits of a in the lanes of m
LANE_INLINE lane_vec lane_but_where(lane_vec a, uint32_t bits, lane_hits m)
{
    return _mm512_mask_and_epi32(a, m, a, _mm512_set1_epi32((int)~bits));
}

LANE_INLINE lane_vec lane_numbers(unsigned from)
{
    return _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                            _mm512_set1_epi32((int)from));
}

LANE_INLINE lane_order lane_order_of(lane_hits m)
{
    return m;
}

LANE_INLINE void lane_pack(uint32_t *to, lane_vec v, lane_order o) // writes a whole vector
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(o, v));
}

LANE_INLINE lane_wide wide_all(uint64_t v)
{
    return _mm512_set1_epi64((long long)v);
}

LANE_INLINE lane_wide wide_mul(lane_wide a, uint64_t by)
{
    return _mm512_mullo_epi64(a, _mm512_set1_epi64((long long)by));
}

LANE_INLINE void wide_store_high(uint32_t *to, lane_wide a) // the high half of each
{
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi64_epi32(_mm512_srli_epi64(a, 32)));
}

LANE_INLINE void wide_pack(uint64_t *to, lane_wide a, lane_hits m)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi64((__mmask8)m, a));
}

#else

LANE_INLINE lane_vec lane_of_hits(lane_hits m) // all bits of the lanes of m
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);

    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(m), bit), bit);
}

LANE_INLINE lane_vec lane_load_some(const uint32_t *p, lane_hits m)
{
    return m == 0xff ? lane_loadu(p) : _mm256_maskload_epi32((const int *)p, lane_of_hits(m));
}

LANE_INLINE lane_vec lane_gather(const uint32_t *from, lane_vec at, lane_hits m)
{
    (void)m;
    return _mm256_i32gather_epi32((const int *)from, at, sizeof(uint32_t));
}

LANE_INLINE lane_hits lane_any(lane_vec a, lane_vec b)
{
    return (lane_hits)~lane_same(lane_and(a, b));
}

LANE_INLINE lane_vec lane_but_where(lane_vec a, uint32_t bits, lane_hits m)
{
    return _mm256_andnot_si256(_mm256_and_si256(lane_of_hits(m), _mm256_set1_epi32((int)bits)), a);
}

LANE_INLINE lane_vec lane_numbers(unsigned from)
{
    return _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                            _mm256_set1_epi32((int)from));
}

LANE_INLINE lane_order lane_order_of(lane_hits m)
{
    // bytes: the lanes of a half
    static const uint32_t four[16] = {0,      0x00,     0x01,     0x0100,    0x02,   0x0200,
                                      0x0201, 0x020100, 0x03,     0x0300,    0x0301, 0x030100,
                                      0x0302, 0x030200, 0x030201, 0x03020100};
    uint64_t low = four[m & 15], high = four[m >> 4] + 0x04040404u;

    return _mm256_cvtepu8_epi32(
        _mm_cvtsi64_si128((long long)(low | high << 8 * __builtin_popcount(m & 15))));
}

LANE_INLINE void lane_pack(uint32_t *to, lane_vec v, lane_order o)
{
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(v, o));
}

LANE_INLINE lane_wide wide_all(uint64_t v)
{
    return _mm256_set1_epi64x((long long)v);
}

LANE_INLINE lane_wide wide_mul(lane_wide a, uint64_t by)
{
    // low by high, high by low
    __m256i b = wide_all(by), cross = _mm256_mullo_epi32(a, _mm256_shuffle_epi32(b, 0xb1));
    __m256i high = _mm256_add_epi32(cross, _mm256_srli_epi64(cross, 32));

    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(high, 32));
}

LANE_INLINE void wide_store_high(uint32_t *to, lane_wide a)
{
    __m256i high = _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(1, 3, 5, 7, 0, 0, 0, 0));

    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(high));
}

LANE_INLINE void wide_pack(uint64_t *to, lane_wide a, lane_hits m) // m: of LANE_STEP / 2
{
    static const uint8_t twice[16] = {0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f,
                                      0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc, 0xff};

    _mm256_storeu_si256((__m256i *)to,
                        _mm256_permutevar8x32_epi32(a, lane_order_of(twice[m & 15])));
}

#endif

#endif
