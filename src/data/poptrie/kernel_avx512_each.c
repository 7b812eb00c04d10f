// SPDX-License-Identifier: BSD-3-Clause
// kernel_avx512_each.c - IPv4 lookups of a burst whose addresses belong to several tables of a
// group
//
// Like kernel_avx512.c, with one more pass: the page that each address's table reads. The tables of
// a group, their pages and their blocks each lie in one piece, so 32-bit offsets suffice, and 16
// addresses fit a vector. Addresses that need more than a leaf block are walked one by one; bursts
// of several groups are looked up address by address.
#include "poptrie/kernel_avx512.h"

#include <stddef.h>

#define GROUPS 4 // of 16 addresses

struct address_lanes {
    __m512i addr, word, bit;
    __mmask16 plain;
};

INLINE __m256i table_offsets8(const struct poptrie *const *each, const struct poptrie *first,
                              __mmask8 used)
{
    __m512i base = _mm512_set1_epi64((long long)(uintptr_t)first);

    return _mm512_cvtepi64_epi32(_mm512_sub_epi64(tables8(base, used, each), base));
}

// Byte offset of each table among the group's tables; unused lanes get the first.
INLINE __m512i table_offsets(const struct poptrie *const *each, const struct poptrie *first,
                             __mmask16 used)
{
    __m256i low = table_offsets8(each, first, (__mmask8)used),
            high = table_offsets8(each + 8, first, (__mmask8)(used >> 8));

    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Directory words; unused lanes get 0.
INLINE __m512i directory_words(const struct poptrie *first, __m512i table, __m512i addr,
                               __mmask16 used)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i slot = _mm512_srli_epi32(addr, 32 - DIR4_BITS);
    __m512i entry =
        _mm512_add_epi32(table, _mm512_slli_epi32(_mm512_srli_epi32(slot, PAGE4_BITS), 1));
    // in the lower 16 bits
    __m512i number = _mm512_mask_i32gather_epi32(zero, used, entry, first->page, 1);
    __m512i in_page = _mm512_and_si512(slot, _mm512_set1_epi32((1 << PAGE4_BITS) - 1));
    __m512i at = _mm512_or_si512(
        _mm512_slli_epi32(_mm512_and_si512(number, _mm512_set1_epi32(0xffff)), PAGE4_BITS),
        in_page);

    return _mm512_mask_i32gather_epi32(zero, used, at, first->pages, 4);
}

// Stores the answers; returns the lanes that need more than a leaf block.
INLINE __mmask16 leaves_read(const struct poptrie *first, __m512i table,
                             const struct address_lanes *l, __mmask16 used, uint32_t *value)
{
    __m512i w1 = width_less_1(l->word);
    __m512i leaf = leaf4(first->arena, l->word, w1, l->bit, l->plain);
    __mmask16 deep =
        (_mm512_movepi32_mask(l->word) & ~l->plain) | places4(l->word, w1, leaf, l->plain);
    __mmask16 none = _mm512_mask_testn_epi32_mask(used, leaf, leaf);

    if (none) { // use the floor of the lane's table
        __m512i top = _mm512_slli_epi32(_mm512_srli_epi32(l->addr, 32 - FLOOR_BITS), 1);
        __m512i floor =
            _mm512_mask_i32gather_epi32(leaf, none, _mm512_add_epi32(table, top), first->floor, 1);
        leaf = _mm512_mask_and_epi32(leaf, none, floor, _mm512_set1_epi32(0xffff));
    }
    _mm512_mask_storeu_epi32(value, used, leaf);
    return deep;
}

INLINE void each_burst(const struct poptrie *const *each, const uint32_t *dst_be, uint32_t *value,
                       unsigned groups, unsigned n)
{
    const struct poptrie *first = each[0]->first;
    const __mmask16 tail = (__mmask16)(0xffffu >> (16 * groups - n));
    struct address_lanes l[GROUPS];
    __m512i table[GROUPS];
    uint64_t deep = 0;

#pragma GCC unroll 4
    for (unsigned g = 0; g < groups; g++)
        table[g] = table_offsets(each + 16 * g, first, g + 1 < groups ? 0xffff : tail);
#pragma GCC unroll 4
    for (unsigned g = 0; g < groups; g++) {
        __mmask16 used = g + 1 < groups ? 0xffff : tail;
        l[g].addr = load4(dst_be + 16 * g, used);
        l[g].word = directory_words(first, table[g], l[g].addr, used);
    }
#pragma GCC unroll 4
    for (unsigned g = 0; g < groups; g++) {
        __m512i child = _mm512_srli_epi32(_mm512_slli_epi32(l[g].addr, DIR4_BITS), 26);
        __m512i special =
            _mm512_srlv_epi32(_mm512_set1_epi32((int)CODES_SPECIAL), code4(l[g].word));
        l[g].plain = _mm512_mask_testn_epi32_mask(_mm512_movepi32_mask(l[g].word), special,
                                                  _mm512_set1_epi32(1));
        l[g].bit = leaf_bit4(first->arena, l[g].word, width_less_1(l[g].word), child, l[g].plain);
    }
#pragma GCC unroll 4
    for (unsigned g = 0; g < groups; g++)
        deep |= (uint64_t)leaves_read(first, table[g], &l[g], g + 1 < groups ? 0xffff : tail,
                                      value + 16 * g)
                << 16 * g;
    for (; deep; deep &= deep - 1) {
        unsigned i = (unsigned)__builtin_ctzll(deep);
        uint32_t dst = __builtin_bswap32(dst_be[i]);
        value[i] = walk_answer4(each[i], word_load(&each[i]->dir[dst >> (32 - DIR4_BITS)]), dst);
    }
}

#ifdef __AVX512VPOPCNTDQ__
#define find4_each poptrie_find4_each_avx512_vpopcnt
#else
#define find4_each poptrie_find4_each_avx512
#endif

void find4_each(const struct poptrie *const *each, const uint32_t *dst_be, uint32_t *value,
                unsigned n)
{
    for (unsigned some; n; n -= some, each += some, dst_be += some, value += some) {
        some = n < 64 ? n : 64;
        if (!tables_are_near(each, some))
            poptrie_find4_each_scalar(each, dst_be, value, some);
        else if (some == 64)
            each_burst(each, dst_be, value, 4, 64);
        else if (some > 32)
            each_burst(each, dst_be, value, (some + 15) / 16, some);
        else if (some > 16)
            each_burst(each, dst_be, value, 2, some);
        else
            each_burst(each, dst_be, value, 1, some);
    }
}
