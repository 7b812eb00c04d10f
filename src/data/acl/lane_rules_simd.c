// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_simd.c - buckets in vectors, one or two per block; compiled for AVX2 and AVX-512
// (lane_rules_find.h)
#include "acl/lane_simd.h"
#include "acl/lane_rules_find.h"

#ifdef __AVX512F__
BUCKET_INLINE void bucket_places_simd(const uint32_t *place, const uint32_t *number, unsigned n,
                                      struct bucket_queue *a)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    a->n = 0;
    for (unsigned i = 0; i < n; i += LANE_COUNT) {
        __mmask16 m = (__mmask16)(n - i < LANE_COUNT ? (1u << (n - i)) - 1 : 0xffff);
        __m512i at = _mm512_maskz_loadu_epi32(m, number + i);
        // partner: bucket_add_rule
        __m512i p =
            _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, at, place, sizeof *place);

        m = _mm512_mask_test_epi32_mask(m, p, p);
        _mm512_storeu_si512(a->place + a->n, _mm512_maskz_compress_epi32(m, p));
        _mm512_storeu_si512(a->packet + a->n,
                            _mm512_maskz_compress_epi32(m, _mm512_add_epi32(lane, lane_all(i))));
        a->n += (unsigned)__builtin_popcount(m);
    }
}
#else
#define bucket_places_simd bucket_places_plain
#endif

LANE_INLINE lane_vec row_of(const lane_row *row, unsigned r, unsigned from)
{
    return lane_load(row[r] + from);
}

// Bit = matching rule of the block, from lane `from` on.
LANE_INLINE unsigned lanes_match(const lane_row *row, const struct acl_key_l4 *k, uint32_t addr,
                                 unsigned from)
{
    lane_vec d = lane_differ_l4(k, row_of(row, LANE_L4, from), row_of(row, LANE_L4_MASK, from),
                                row_of(row, LANE_PORT, from), row_of(row, LANE_SPAN, from));

    return lane_same(lane_or(
        d, lane_differ(addr, row_of(row, LANE_ADDR, from), row_of(row, LANE_ADDR_MASK, from))));
}

LANE_INLINE unsigned block_match(const lane_row *row, const struct acl_key_l4 *k, uint32_t addr)
{
    unsigned hit = 0;

    for (unsigned from = 0; from < LANE_COUNT; from += LANE_STEP)
        hit |= lanes_match(row, k, addr, from) << from;
    return hit;
}

void LANE_KERNEL(lane_rules_match)(const struct classifier *c, struct key_burst *b)
{
    buckets_match(b, bucket_places_simd, block_match);
}
