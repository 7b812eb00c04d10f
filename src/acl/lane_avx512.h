// SPDX-License-Identifier: BSD-3-Clause
// lane_avx512.h - a packet against the 16 rules of some rows (lane.h)
#ifndef ACL_LANE_AVX512_H
#define ACL_LANE_AVX512_H

#include <immintrin.h>
#include <string.h>

#include "acl/lane.h"

static inline __attribute__((always_inline)) __m512i lane_all(uint32_t v)
{
    return _mm512_set1_epi32((int)v);
}

// Bits that `have` should have otherwise.
static inline __attribute__((always_inline)) __m512i lane_differ(uint32_t have, __m512i want, __m512i mask)
{
    return _mm512_ternarylogic_epi32(lane_all(have), want, mask, 0x28); // (have ^ want) & mask
}

// Where 0, all fields but addresses match.
static inline __attribute__((always_inline)) __m512i lane_differ_l4(const struct acl_key_l4 *k, __m512i l4, __m512i l4_mask, __m512i port, __m512i span)
{
    uint32_t have[2];

    memcpy(have, k, sizeof have);
    __m512i beyond = _mm512_subs_epu16(_mm512_sub_epi16(lane_all(have[0]), port), span); // 0: both ports are within
    return _mm512_or_si512(beyond, lane_differ(have[1], l4, l4_mask));
}

#endif
