// SPDX-License-Identifier: BSD-3-Clause
// shelf_avx512.c - shelves, a block at once (shelf_find.h)
#include "acl/lane_avx512.h"
#include "acl/shelf_find.h"

SHELF_INLINE void places(const uint32_t *place, const uint32_t *index, unsigned n, struct shelf_asked *a)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    a->n = 0;
    for (unsigned i = 0; i < n; i += LANE_COUNT) {
        __mmask16 m = (__mmask16)(n - i < LANE_COUNT ? (1u << (n - i)) - 1 : 0xffff);
        __m512i at = _mm512_maskz_loadu_epi32(m, index + i);
        __m512i p = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, at, place, sizeof *place); // partner: rule_into

        m = _mm512_mask_test_epi32_mask(m, p, p);
        _mm512_storeu_si512(a->place + a->n, _mm512_maskz_compress_epi32(m, p));
        _mm512_storeu_si512(a->packet + a->n, _mm512_maskz_compress_epi32(m, _mm512_add_epi32(lane, lane_all(i))));
        a->n += (unsigned)__builtin_popcount(m);
    }
}

SHELF_INLINE __m512i row_of(const lane_row *row, unsigned r)
{
    return _mm512_load_si512(row[r]);
}

SHELF_INLINE __m512i differ(const lane_row *row, const struct acl_key_l4 *k)
{
    return lane_differ_l4(k, row_of(row, LANE_L4), row_of(row, LANE_L4_MASK), row_of(row, LANE_PORT), row_of(row, LANE_SPAN));
}

SHELF_INLINE unsigned match4(const lane_row *row, const struct acl_key_l4 *k, const uint8_t *addr)
{
    __m512i d = _mm512_or_si512(differ(row, k), lane_differ(address4(addr), row_of(row, LANE_ADDR), row_of(row, LANE_ADDR_MASK)));

    return _mm512_testn_epi32_mask(d, d);
}

SHELF_INLINE unsigned match6(const lane_row *row, const struct acl_key_l4 *k, const uint8_t *addr)
{
    __m512i d = differ(row, k);

    for (unsigned w = 0; w < LANE_WORDS(ACL_IP6); w++) {
        uint32_t have;
        memcpy(&have, addr + 4 * w, sizeof have);
        d = _mm512_or_si512(d, lane_differ(have, row_of(row, LANE_ADDR + 2 * w), row_of(row, LANE_ADDR_MASK + 2 * w)));
    }
    return _mm512_testn_epi32_mask(d, d);
}

void shelf_avx512(const struct core *c, struct burst *b)
{
    if (c->family == ACL_IP4)
        shelves_ask(b, ACL_IP4, places, match4);
    else
        shelves_ask(b, ACL_IP6, places, match6);
}
