// SPDX-License-Identifier: BSD-3-Clause
// lane_simd.h - compares a packet with LANE_STEP rules in lanes (lane_rules.h): 16 with AVX-512, 8
// with AVX2
//
// Files that include it are compiled for both; LANE_KERNEL(name) makes the names of their exports.
#ifndef ACL_LANE_SIMD_H
#define ACL_LANE_SIMD_H

#include <immintrin.h>
#include <string.h>

#include "acl/lane_rules.h"

#define LANE_INLINE static inline __attribute__((always_inline))

#ifdef __AVX512F__
#define LANE_STEP 16u
#define LANE_KERNEL(name) name##_avx512
#define LANE_MM(op) _mm512_##op
#define LANE_SI(op) _mm512_##op##_si512
typedef __m512i lane_vec;
typedef uint16_t lane_hits; // bit = rule
#else
#define LANE_STEP 8u
#define LANE_KERNEL(name) name##_avx2
#define LANE_MM(op) _mm256_##op
#define LANE_SI(op) _mm256_##op##_si256
typedef __m256i lane_vec;
typedef uint8_t lane_hits;
#endif

LANE_INLINE lane_vec lane_load(const uint32_t *p)
{
    return LANE_SI(load)((const lane_vec *)p);
}

LANE_INLINE lane_vec lane_all(uint32_t v)
{
    return LANE_MM(set1_epi32)((int)v);
}

LANE_INLINE lane_vec lane_or(lane_vec a, lane_vec b)
{
    return LANE_SI(or)(a, b);
}

// The masked bits that differ.
LANE_INLINE lane_vec lane_differ(uint32_t have, lane_vec want, lane_vec mask)
{
#ifdef __AVX512F__
    return _mm512_ternarylogic_epi32(lane_all(have), want, mask, 0x28); // (have ^ want) & mask
#else
    return _mm256_and_si256(_mm256_xor_si256(lane_all(have), want), mask);
#endif
}

// 0 if both ports are in range.
LANE_INLINE lane_vec lane_beyond(uint32_t have, lane_vec port, lane_vec span)
{
    return LANE_MM(subs_epu16)(LANE_MM(sub_epi16)(lane_all(have), port), span);
}

LANE_INLINE lane_hits lane_same(lane_vec differ)
{
#ifdef __AVX512F__
    return _mm512_testn_epi32_mask(differ, differ);
#else
    return (lane_hits)_mm256_movemask_ps(
        _mm256_castsi256_ps(_mm256_cmpeq_epi32(differ, _mm256_setzero_si256())));
#endif
}

// 0 if all fields except addresses match.
LANE_INLINE lane_vec lane_differ_l4(const struct acl_key_l4 *k, lane_vec l4, lane_vec l4_mask,
                                    lane_vec port, lane_vec span)
{
    uint32_t have[2];

    memcpy(have, k, sizeof have);
    return lane_or(lane_beyond(have[0], port, span), lane_differ(have[1], l4, l4_mask));
}

#endif
