// SPDX-License-Identifier: BSD-3-Clause
// search_simd.h - compares IPv4 candidates in vectors: eight entries, each with its own packet
//
// An entry is a row of eight words, a packet one of four; eight rows are transposed into one vector
// per field. No branch depends on the result.
#ifndef ACL_SEARCH_SIMD_H
#define ACL_SEARCH_SIMD_H

#include <immintrin.h>

#include "acl/search.h"

#define SEARCH_INLINE static inline __attribute__((always_inline))
#define SEARCH_STEP 8u

struct search_row { // of a packet, host order: source, destination, ports, the rest of acl_key_l4
    _Alignas(16) uint32_t word[4];
};

SEARCH_INLINE __m256i search_all(uint32_t v)
{
    return _mm256_set1_epi32((int)v);
}

// Where a & b is 0.
SEARCH_INLINE __m256i search_none(__m256i a, __m256i b)
{
    return _mm256_cmpeq_epi32(_mm256_and_si256(a, b), _mm256_setzero_si256());
}

SEARCH_INLINE unsigned search_bits(__m256i v)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(v));
}

// Transposes rows of four words, in both halves.
SEARCH_INLINE void search_turn4(const __m256i row[4], __m256i column[4])
{
    __m256i ab[2] = {_mm256_unpacklo_epi32(row[0], row[1]), _mm256_unpackhi_epi32(row[0], row[1])};
    __m256i cd[2] = {_mm256_unpacklo_epi32(row[2], row[3]), _mm256_unpackhi_epi32(row[2], row[3])};

    for (unsigned h = 0; h < 2; h++) {
        column[2 * h] = _mm256_unpacklo_epi64(ab[h], cd[h]);
        column[2 * h + 1] = _mm256_unpackhi_epi64(ab[h], cd[h]);
    }
}

SEARCH_INLINE __m256i search_halves(const void *low, const void *high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_load_si128(low)),
                                   _mm_load_si128(high), 1);
}

// column[i] = word i of the four words at `at` of eight rows.
SEARCH_INLINE void search_columns(const uint8_t *const row[SEARCH_STEP], size_t at,
                                  __m256i column[4])
{
    __m256i half[4];

    for (unsigned k = 0; k < 4; k++)
        half[k] = search_halves(row[k] + at, row[k + 4] + at);
    search_turn4(half, column);
}

SEARCH_INLINE __m256i search_address(__m256i have, __m256i want, __m256i len)
{
    __m256i mask = _mm256_sllv_epi32(
        search_all(UINT32_MAX),
        _mm256_sub_epi32(search_all(32), _mm256_and_si256(len, search_all(0xff))));

    return _mm256_and_si256(_mm256_xor_si256(have, want), mask);
}

static unsigned search_sets(const struct key_burst *b, const uint8_t *const row[SEARCH_STEP],
                            const uint32_t *packet, unsigned match, unsigned sets)
{
    for (unsigned m = match & sets; m; m &= m - 1) {
        unsigned k = (unsigned)__builtin_ctz(m);
        const struct entry4 *e = (const struct entry4 *)row[k];

        if (!sets_match(b, &e->l4, e->addr[0], e->addr[1], packet[k]))
            match &= ~(1u << k);
    }
    return match;
}

// Like search4: compares one entry of each block. Needs room for one more vector behind the last
// candidate.
SEARCH_INLINE unsigned search4_eights(struct key_burst *b, const struct search_row *asked,
                                      const struct classifier *c, unsigned n)
{
    unsigned left = 0;

    memset(b->key + n, 0, SEARCH_STEP * sizeof *b->key); // unit 0 belongs to no block
    memset(b->packet + n, 0, SEARCH_STEP * sizeof *b->packet);
    for (unsigned j = 0; j < n; j += SEARCH_STEP) {
        _Alignas(32) uint32_t number[SEARCH_STEP], slot[SEARCH_STEP];
        const uint8_t *row[SEARCH_STEP], *have[SEARCH_STEP];
        __m256i e[8], p[4];

        for (unsigned k = 0; k < SEARCH_STEP; k++) {
            row[k] = c->block + (size_t)b->key[j + k] * sizeof(struct entry4);
            have[k] = (const uint8_t *)&asked[b->packet[j + k]];
        }
        search_columns(row, 0, e);
        search_columns(row, 16, e + 4);
        search_columns(have, 0, p);
        __m256i differ = _mm256_or_si256(search_address(p[0], e[0], e[7]),
                                         search_address(p[1], e[1], _mm256_srli_epi32(e[7], 8)));
        differ = _mm256_or_si256(differ, entry_l4_differ8(e, p[2], p[3]));
        __m256i same = _mm256_cmpeq_epi32(differ, _mm256_setzero_si256());
        unsigned there = n - j < SEARCH_STEP ? (1u << (n - j)) - 1 : (1u << SEARCH_STEP) - 1,
                 match = search_bits(same) & there;
        unsigned sets = ~search_bits(
            search_none(e[7], search_all((uint32_t)(ENTRY_SRC_SET | ENTRY_DST_SET) << 24)));
        unsigned more =
            there & search_bits(search_none(e[7], search_all((uint32_t)ENTRY_LAST << 24)));

        if (__builtin_expect(match & sets, 0))
            match = search_sets(b, row, b->packet + j, match, sets);
        more &= ~match;
        _mm256_store_si256((__m256i *)number, e[4]);
        _mm256_store_si256((__m256i *)slot,
                           _mm256_and_si256(e[5], search_all((1u << SLOT_BITS) - 1)));
        for (unsigned k = 0; k < SEARCH_STEP; k++) {
            uint32_t i = b->packet[j + k], ref = b->key[j + k], best = b->best[i];
            uint32_t before = number[k] < best, take = 0 - (before & match >> k);

            b->best[i] = best ^ ((best ^ number[k]) & take);
            b->slot[i] ^= (b->slot[i] ^ slot[k]) & take;
            b->key[left] = ref + 1;
            b->packet[left] = i;
            left += before & more >> k;
        }
    }
    return left;
}

SEARCH_INLINE void search_rows(const struct key_burst *b, uint64_t which, struct search_row *row)
{
    for (; which; which &= which - 1) {
        unsigned i = (unsigned)__builtin_ctzll(which);
        uint64_t l4;

        memcpy(&l4, &b->l4[i], sizeof l4);
        row[i] = (struct search_row){{__builtin_bswap32(b->addr4[0][i]),
                                      __builtin_bswap32(b->addr4[1][i]), (uint32_t)l4,
                                      (uint32_t)(l4 >> 32)}};
    }
}

#endif
