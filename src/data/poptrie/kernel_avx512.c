// SPDX-License-Identifier: BSD-3-Clause
// kernel_avx512.c - bulk lookups with AVX-512; compiled twice, with and without VPOPCNTDQ
//
// IPv4 takes 16 addresses per vector and up to 128 per burst through three passes: gather all
// directory words; gather all run vectors and count; gather all leaves. No load of a pass waits for
// another one of the same pass, and that is most of the speed. Addresses without an answer so far
// (skips, wide and branch blocks, words in mixed blocks) are packed together and finished in a
// loop.
//
// IPv6 has 8 addresses per vector. A run vector and a skip's head are both 8 bytes at the start of
// the block, a leaf and a skip's key both follow: so every level is two gathers for all lanes, for
// any words. Finished lanes drop out of the masks.
//
// A gather reads 4 or 8 bytes where a leaf has 1..16 bits; the arena's tail makes that harmless.
// Gathers are plain loads that x86 keeps in order, so a word's block is complete when it is read.
#include "poptrie/kernel_avx512.h"

#define GROUPS4 8 // of 16 addresses
#define GROUPS6 8 // of 8 addresses

// The floor's values in the 16-bit lanes m, where top is 0..63; zero in the others.
INLINE __m512i floor_at(const struct poptrie *t, __m512i top, __mmask32 m)
{
    return _mm512_maskz_permutex2var_epi16(m, _mm512_load_si512(t->floor), top,
                                           _mm512_load_si512(t->floor + FLOOR_ENTRIES / 2));
}

// --- IPv4 ---

INLINE __m512i popcount32(__m512i v)
{
#ifdef __AVX512VPOPCNTDQ__
    return _mm512_popcnt_epi32(v);
#else
    __m512i lo = popcount64(_mm512_and_si512(v, _mm512_set1_epi64(UINT32_MAX)));
    __m512i hi = popcount64(_mm512_srli_epi64(v, 32));

    return _mm512_or_si512(lo, _mm512_slli_epi64(hi, 32));
#endif
}

// For the lanes in m: the bit offset of the address's leaf in `word`'s wide block, and the leaf's
// width.
INLINE __m512i wide_bit4(const uint8_t *arena, __m512i word, __m512i addr, __m512i *width,
                         __mmask16 m)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512i c = _mm512_and_si512(addr, _mm512_set1_epi32(255)), zero = _mm512_setzero_si512();
    __m512i head = _mm512_add_epi32(ref4(word), _mm512_srli_epi32(c, 5)), runs, more, n;
    __m512i lo = _mm512_mask_i32gather_epi64(zero, (__mmask8)m, _mm512_castsi512_si256(head), arena,
                                             POOL_UNIT);
    __m512i hi = _mm512_mask_i32gather_epi64(zero, (__mmask8)(m >> 8),
                                             _mm512_extracti64x4_epi64(head, 1), arena, POOL_UNIT);

    runs = _mm512_permutex2var_epi32(lo, even, hi);
    more = _mm512_permutex2var_epi32(lo, _mm512_add_epi32(even, _mm512_set1_epi32(1)), hi);
    *width = _mm512_srli_epi32(more, 16);
    c = _mm512_andnot_si512(c, _mm512_set1_epi32(31)); // 31 - c % 32
    n = _mm512_add_epi32(popcount32(_mm512_sllv_epi32(runs, c)),
                         _mm512_and_si512(more, _mm512_set1_epi32(0xffff)));
    return _mm512_madd_epi16(_mm512_sub_epi32(n, _mm512_set1_epi32(1)), *width);
}

// The leaf at that bit, or `word` itself where m is clear.
INLINE __m512i wide_leaf4(const uint8_t *arena, __m512i word, __m512i bit, __m512i width,
                          __mmask16 m)
{
    __m512i at = _mm512_add_epi32(_mm512_slli_epi32(ref4(word), 3), _mm512_srli_epi32(bit, 3));
    __m512i leaf = _mm512_mask_i32gather_epi32(word, m, at, arena + WIDE_HEAD_BYTES, 1);
    __m512i cut = _mm512_sub_epi32(_mm512_set1_epi32(32), width);

    leaf = _mm512_srlv_epi32(leaf, _mm512_and_si512(bit, _mm512_set1_epi32(7)));
    return _mm512_mask_and_epi32(word, m, leaf, _mm512_srlv_epi32(_mm512_set1_epi32(-1), cut));
}

// Follows skips to the next words; advances *depth.
INLINE __m512i skip4(const uint8_t *arena, __m512i word, __m512i addr, __m512i *depth, __mmask16 m)
{
    __m512i at = _mm512_slli_epi32(ref4(word), 3), zero = _mm512_setzero_si512();
    __m512i in = _mm512_mask_i32gather_epi32(zero, m, at, arena, 1);
    __m512i out = _mm512_mask_i32gather_epi32(zero, m, at, arena + 4, 1);
    __m512i key = _mm512_mask_i32gather_epi32(zero, m, at, arena + 12, 1);
    __m512i bits = _mm512_srli_epi32(out, 16);
    __m512i differ = _mm512_srlv_epi32(_mm512_xor_si512(addr, key),
                                       _mm512_sub_epi32(_mm512_set1_epi32(32), bits));

    *depth = _mm512_mask_mov_epi32(*depth, m, bits);
    return _mm512_mask_mov_epi32(_mm512_and_si512(out, _mm512_set1_epi32(0xffff)),
                                 _mm512_testn_epi32_mask(differ, differ), in);
}

// The words at the places named by leaves of mixed blocks.
INLINE __m512i placed4(const uint8_t *arena, __m512i word, __m512i w1, __m512i leaf, __mmask16 m)
{
    __m512i at = _mm512_andnot_si512(_mm512_sllv_epi32(_mm512_set1_epi32(1), w1), leaf);

    at = _mm512_add_epi32(_mm512_slli_epi32(ref4(word), 1), at);
    return _mm512_mask_i32gather_epi32(leaf, m, at, arena, 4);
}

// Replaces leaves of 0 by the floor's value.
INLINE __m512i floor4(const struct poptrie *t, __m512i leaf, __m512i addr)
{
    __m512i floor = floor_at(t, _mm512_srli_epi32(addr, 32 - FLOOR_BITS), 0x55555555);

    return _mm512_mask_mov_epi32(leaf, _mm512_testn_epi32_mask(leaf, leaf), floor);
}

// Follows 16 words from their depths to the leaves.
static __m512i finish4(const uint8_t *arena, __m512i word, __m512i addr, __m512i depth)
{
    for (;;) {
        __mmask16 refs = _mm512_movepi32_mask(word), blocks, places;
        __m512i code = code4(word), next = word, w1, c;
        __mmask16 skips = _mm512_mask_cmpeq_epi32_mask(refs, code, _mm512_set1_epi32(CODE_SKIP));
        __mmask16 wides = _mm512_mask_cmpeq_epi32_mask(refs, code, _mm512_set1_epi32(CODE_WIDE));
        __mmask16 branches =
            _mm512_mask_cmpeq_epi32_mask(refs, code, _mm512_set1_epi32(CODE_BRANCH));

        if (refs == 0)
            return word;
        blocks = refs & ~skips & ~wides;
        if (blocks != 0) {
            w1 = _mm512_mask_mov_epi32(width_less_1(word), branches, _mm512_set1_epi32(31));
            c = _mm512_srli_epi32(_mm512_sllv_epi32(addr, depth), 26);
            next = leaf4(arena, word, w1, leaf_bit4(arena, word, w1, c, blocks), blocks);
            places = places4(word, w1, next, blocks & ~branches);
            if (places != 0)
                next = placed4(arena, word, w1, next, places);
            depth = _mm512_mask_add_epi32(depth, blocks, depth, _mm512_set1_epi32(6));
        }
        if (skips != 0)
            next = _mm512_mask_mov_epi32(next, skips, skip4(arena, word, addr, &depth, skips));
        if (wides != 0) {
            __m512i width, bit = wide_bit4(arena, word, addr, &width, wides);

            next = _mm512_mask_mov_epi32(next, wides, wide_leaf4(arena, word, bit, width, wides));
        }
        word = next;
    }
}

// The next word and its depth for lanes that three passes do not answer: the word named by a mixed
// block's leaf (its place is in value[]); 0 for other lanes.
INLINE __m512i next4(const struct poptrie *t, __m512i word, const uint32_t *value, __mmask16 deep,
                     __mmask16 plain, __m512i *depth)
{
    __mmask16 places = deep & plain;
    __m512i leaf = _mm512_maskz_loadu_epi32(places, value);
    __m512i at_place = placed4(t->arena, word, width_less_1(word), leaf, places);

    *depth = _mm512_mask_mov_epi32(_mm512_set1_epi32(DIR4_BITS), places,
                                   _mm512_set1_epi32(DIR4_BITS + 6));
    return _mm512_maskz_mov_epi32(deep, _mm512_mask_mov_epi32(word, places, at_place));
}

// Few such lanes: packs them side by side.
static __attribute__((noinline)) void finish_few4(const struct poptrie *t, const __m512i *word,
                                                  const __m512i *addr, const __mmask16 *deep,
                                                  const __mmask16 *plain, unsigned groups,
                                                  uint32_t *value)
{
    uint32_t words[16 * GROUPS4 + 16], addrs[16 * GROUPS4 + 16], lanes[16 * GROUPS4 + 16];
    uint32_t depths[16 * GROUPS4 + 16];
    const __m512i count = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    unsigned n = 0;

    for (unsigned g = 0; g < groups; g++) {
        __mmask16 m = deep[g];
        __m512i depth, w = next4(t, word[g], value + 16 * g, m, plain[g], &depth);
        __m512i lane = _mm512_add_epi32(count, _mm512_set1_epi32(16 * g));

        _mm512_storeu_si512(words + n, _mm512_maskz_compress_epi32(m, w));
        _mm512_storeu_si512(addrs + n, _mm512_maskz_compress_epi32(m, addr[g]));
        _mm512_storeu_si512(depths + n, _mm512_maskz_compress_epi32(m, depth));
        _mm512_storeu_si512(lanes + n, _mm512_maskz_compress_epi32(m, lane));
        n += __builtin_popcount(m);
    }
    for (unsigned i = 0; i < n; i += 16) {
        __mmask16 m = n - i < 16 ? (1u << (n - i)) - 1 : 0xffff;
        __m512i a = _mm512_loadu_si512(addrs + i);
        __m512i leaf = finish4(t->arena, _mm512_maskz_loadu_epi32(m, words + i), a,
                               _mm512_loadu_si512(depths + i));

        _mm512_mask_i32scatter_epi32(value, m, _mm512_loadu_si512(lanes + i), floor4(t, leaf, a),
                                     4);
    }
}

// Many: works in place, with two passes for the wide blocks that most of them need.
static __attribute__((noinline)) void finish_many4(const struct poptrie *t, const __m512i *word,
                                                   const __m512i *addr, const __mmask16 *deep,
                                                   const __mmask16 *plain, unsigned groups,
                                                   uint32_t *value)
{
    __m512i next[GROUPS4], depth[GROUPS4], bit[GROUPS4], width[GROUPS4];
    __mmask16 wide[GROUPS4];

    for (unsigned g = 0; g < groups; g++)
        next[g] = next4(t, word[g], value + 16 * g, deep[g], plain[g], &depth[g]);
    for (unsigned g = 0; g < groups; g++) {
        wide[g] = _mm512_mask_cmpeq_epi32_mask(_mm512_movepi32_mask(next[g]), code4(next[g]),
                                               _mm512_set1_epi32(CODE_WIDE));
        bit[g] = wide_bit4(t->arena, next[g], addr[g], &width[g], wide[g]);
    }
    for (unsigned g = 0; g < groups; g++) {
        __m512i leaf = wide_leaf4(t->arena, next[g], bit[g], width[g], wide[g]);

        if (_mm512_movepi32_mask(leaf) != 0)
            leaf = finish4(t->arena, leaf, addr[g], depth[g]);
        _mm512_mask_storeu_epi32(value + 16 * g, deep[g], floor4(t, leaf, addr[g]));
    }
}

INLINE void avx512_burst4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value,
                          unsigned groups, __mmask16 tail)
{
    __m512i addr[GROUPS4], word[GROUPS4], bit[GROUPS4];
    __mmask16 deep[GROUPS4], plain[GROUPS4], refs = 0;
    unsigned n_deep = 0;

#pragma GCC unroll 8
    for (unsigned g = 0; g < groups; g++) {
        __mmask16 m = g + 1 < groups ? 0xffff : tail;

        addr[g] = load4(dst_be + 16 * g, m);
        word[g] = _mm512_mask_i32gather_epi32(
            _mm512_setzero_si512(), m, _mm512_srli_epi32(addr[g], 32 - DIR4_BITS), t->dir, 4);
        refs |= _mm512_movepi32_mask(word[g]);
    }
    if (refs == 0) { // all answered by the directory
#pragma GCC unroll 8
        for (unsigned g = 0; g < groups; g++)
            _mm512_mask_storeu_epi32(value + 16 * g, g + 1 < groups ? 0xffff : tail,
                                     floor4(t, word[g], addr[g]));
        return;
    }
#pragma GCC unroll 8
    for (unsigned g = 0; g < groups; g++) {
        __m512i c = _mm512_srli_epi32(_mm512_slli_epi32(addr[g], DIR4_BITS), 26);

        refs = _mm512_movepi32_mask(word[g]);
        deep[g] = _mm512_mask_test_epi32_mask(
            refs, _mm512_set1_epi32(1),
            _mm512_srlv_epi32(_mm512_set1_epi32((int)CODES_SPECIAL), code4(word[g])));
        plain[g] = refs & ~deep[g];
        bit[g] = leaf_bit4(t->arena, word[g], width_less_1(word[g]), c, plain[g]);
    }
#pragma GCC unroll 8
    for (unsigned g = 0; g < groups; g++) {
        __m512i w1 = width_less_1(word[g]);
        __m512i leaf = leaf4(t->arena, word[g], w1, bit[g], plain[g]);

        deep[g] |= places4(word[g], w1, leaf, plain[g]);
        n_deep += __builtin_popcount(deep[g]);
        leaf = floor4(t, leaf, addr[g]);
        _mm512_mask_storeu_epi32(value + 16 * g, g + 1 < groups ? 0xffff : tail, leaf);
    }
    if (__builtin_expect(n_deep > 8 * groups, 0))
        finish_many4(t, word, addr, deep, plain, groups, value);
    else if (__builtin_expect(n_deep > 0, 0))
        finish_few4(t, word, addr, deep, plain, groups, value);
}

static void avx512_find4(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value,
                         unsigned n)
{
    for (; n >= 128; n -= 128, dst_be += 128, value += 128)
        avx512_burst4(t, dst_be, value, 8, 0xffff);
    if (n >= 64) {
        avx512_burst4(t, dst_be, value, 4, 0xffff);
        n -= 64, dst_be += 64, value += 64;
    }
    if (n > 48)
        avx512_burst4(t, dst_be, value, 4, (1u << (n - 48)) - 1);
    else if (n > 32)
        avx512_burst4(t, dst_be, value, 3, (1u << (n - 32)) - 1);
    else if (n > 16)
        avx512_burst4(t, dst_be, value, 2, (1u << (n - 16)) - 1);
    else if (n > 0)
        avx512_burst4(t, dst_be, value, 1, (1u << n) - 1);
}

// --- IPv6 ---

struct walk6 {
    __m512i word;  // 64-bit lanes, the floor's value in the upper halves
    __m512i half;  // the half of the address that depth is in, host order
    __m512i depth; // 0..63
};

INLINE __m512i ref6(__m512i word)
{
    return _mm512_and_si512(word, _mm512_set1_epi64(WORD_OFFSET));
}

INLINE __mmask8 refs6(__m512i word)
{
    return _mm512_test_epi64_mask(word, _mm512_set1_epi64(WORD_REF));
}

INLINE __mmask8 lanes6(unsigned left) // the first lanes
{
    return left >= 8 ? 0xff : (1u << left) - 1;
}

INLINE struct walk6 walk6_start(const struct poptrie *t, __m512i hi, __mmask8 m)
{
    __mmask8 slotted =
        _mm512_mask_cmpeq_epi64_mask(m, _mm512_srli_epi64(hi, 61), _mm512_set1_epi64(1));
    __m512i slot =
        _mm512_and_si512(_mm512_srli_epi64(hi, 64 - DIR6_BITS), _mm512_set1_epi64(DIR6_WORDS - 1));
    __m256i word = _mm256_maskz_set1_epi32(m, (int)word_load(&t->outside));
    __m512i floor = floor_at(t, _mm512_srli_epi64(hi, 32 - FLOOR_BITS), 0x44444444);

    word = _mm512_mask_i64gather_epi32(word, slotted, slot, t->dir, 4);
    return (struct walk6){_mm512_or_si512(_mm512_cvtepu32_epi64(word), floor), hi,
                          _mm512_maskz_set1_epi64(slotted, DIR6_BITS)};
}

// First half of a level: the 8 bytes at the start of each block.
INLINE __m512i head6(const uint8_t *arena, const struct walk6 *l, __mmask8 m)
{
    return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), m, ref6(l->word), arena, POOL_UNIT);
}

// Second half: leaf or key, and the next word.
INLINE void walk6_step(const uint8_t *arena, struct walk6 *l, __m512i head, __m512i lo, __mmask8 m)
{
    __m512i w1 =
        _mm512_and_si512(_mm512_srli_epi64(l->word, WORD_CODE_SHIFT), _mm512_set1_epi64(31));
    __mmask8 skip = _mm512_mask_cmpeq_epi64_mask(m, w1, _mm512_set1_epi64(CODE_SKIP));
    __m512i c = _mm512_srli_epi64(_mm512_sllv_epi64(l->half, l->depth), 58);
    __m512i n = popcount64(_mm512_sllv_epi64(head, _mm512_xor_si512(c, _mm512_set1_epi64(63))));
    __m512i bit = _mm512_maskz_mul_epu32(m & ~skip, _mm512_add_epi64(n, _mm512_set1_epi64(-1)),
                                         _mm512_add_epi64(w1, _mm512_set1_epi64(1)));
    __m512i at = _mm512_add_epi64(_mm512_slli_epi64(ref6(l->word), 3), _mm512_srli_epi64(bit, 3));
    __m512i more = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), m, at, arena + 8, 1);
    __m512i bits = _mm512_srli_epi64(head, 48);
    __m512i next = _mm512_srlv_epi64(more, _mm512_and_si512(bit, _mm512_set1_epi64(7)));
    __m512i differ = _mm512_srlv_epi64(_mm512_xor_si512(l->half, more),
                                       _mm512_sub_epi64(_mm512_set1_epi64(64), bits));
    __mmask8 same = _mm512_mask_testn_epi64_mask(skip, differ, differ), over;

    next = _mm512_and_si512(next, _mm512_srlv_epi64(_mm512_set1_epi64(UINT32_MAX),
                                                    _mm512_sub_epi64(_mm512_set1_epi64(31), w1)));
    next =
        _mm512_mask_and_epi64(next, skip, _mm512_srli_epi64(head, 32), _mm512_set1_epi64(0xffff));
    next = _mm512_mask_and_epi64(next, same, head, _mm512_set1_epi64(UINT32_MAX));
    l->word = _mm512_mask_ternarylogic_epi64(l->word, m, next, // the lower half
                                             _mm512_set1_epi64(~(int64_t)UINT32_MAX), 0xec);
    l->depth = _mm512_add_epi64(l->depth, _mm512_set1_epi64(6));
    l->depth = _mm512_mask_mov_epi64(l->depth, skip, bits);
    over = _mm512_mask_cmpge_epu64_mask(m, l->depth, _mm512_set1_epi64(64));
    l->half = _mm512_mask_mov_epi64(l->half, over, lo);
    l->depth = _mm512_mask_mov_epi64(l->depth, over, _mm512_setzero_si512());
}

// Where the walks of several tables of a group start: each table has its own directory.
struct starts6 {
    uint32_t word[8 * GROUPS6], depth[8 * GROUPS6];
};

INLINE void starts6_find(struct starts6 *s, const struct poptrie *const *each,
                         const uint8_t (*dst)[16], unsigned n)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < n; i++)
        s->word[i] = start6_paged(each[i], load_be64(dst[i]), &s->depth[i]);
}

// The eight walks from lane i on, without the floor's values.
INLINE struct walk6 walk6_start_each(const struct starts6 *s, unsigned i, __m512i hi)
{
    return (struct walk6){
        _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(s->word + i))), hi,
        _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(s->depth + i)))};
}

// n addresses in table t; or, if `each` is not NULL, each in its own table of t's group.
INLINE void avx512_burst6(const struct poptrie *t, const struct poptrie *const *each,
                          const uint8_t (*dst)[16], uint32_t *value, unsigned groups, unsigned n)
{
    __m512i lo[GROUPS6], head[GROUPS6];
    struct walk6 l[GROUPS6];
    __mmask8 refs[GROUPS6], any = 0;
    struct starts6 s;

    if (each)
        starts6_find(&s, each, dst, n);
#pragma GCC unroll 8
    for (unsigned g = 0; g < groups; g++) {
        unsigned left = n - 8 * g;
        __m512i hi;

        load6(dst + 8 * g, left, &hi, &lo[g]);
        l[g] = each ? walk6_start_each(&s, 8 * g, hi) : walk6_start(t, hi, lanes6(left));
    }
    for (;;) {
        any = 0;
#pragma GCC unroll 8
        for (unsigned g = 0; g < groups; g++) {
            refs[g] = refs6(l[g].word);
            any |= refs[g];
            head[g] = head6(t->arena, &l[g], refs[g]);
        }
        if (any == 0)
            break;
#pragma GCC unroll 8
        for (unsigned g = 0; g < groups; g++)
            walk6_step(t->arena, &l[g], head[g], lo[g], refs[g]);
    }
#pragma GCC unroll 8
    for (unsigned g = 0; g < groups; g++) {
        unsigned left = n - 8 * g;
        __mmask8 none = _mm512_testn_epi64_mask(l[g].word, _mm512_set1_epi64(UINT32_MAX));
        __m512i leaf = _mm512_mask_srli_epi64(l[g].word, none, l[g].word, 32);

        _mm256_mask_storeu_epi32(value + 8 * g, lanes6(left), _mm512_cvtepi64_epi32(leaf));
    }
    for (unsigned i = 0; each && i < n; i++)
        value[i] = leaf_answer(each[i], value[i], dst[i][0] >> (8 - FLOOR_BITS));
}

#ifdef __AVX512VPOPCNTDQ__
#define avx512_find6 poptrie_find6_avx512_vpopcnt
#define avx512_find6_each poptrie_find6_each_avx512_vpopcnt
#else
#define avx512_find6 poptrie_find6_avx512
#define avx512_find6_each poptrie_find6_each_avx512
#endif

void avx512_find6(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value, unsigned n)
{
    for (; n >= 64; n -= 64, dst += 64, value += 64)
        avx512_burst6(t, NULL, dst, value, 8, 64);
    if (n >= 32) {
        avx512_burst6(t, NULL, dst, value, 4, 32);
        n -= 32, dst += 32, value += 32;
    }
    if (n > 24)
        avx512_burst6(t, NULL, dst, value, 4, n);
    else if (n > 16)
        avx512_burst6(t, NULL, dst, value, 3, n);
    else if (n > 8)
        avx512_burst6(t, NULL, dst, value, 2, n);
    else if (n > 0)
        avx512_burst6(t, NULL, dst, value, 1, n);
}

void avx512_find6_each(const struct poptrie *const *each, const uint8_t (*dst)[16], uint32_t *value,
                       unsigned n)
{
    for (unsigned some; n; n -= some, each += some, dst += some, value += some) {
        some = n < 8 * GROUPS6 ? n : 8 * GROUPS6;
        if (tables_are_near(each, some))
            avx512_burst6(each[0], each, dst, value, (some + 7) / 8, some);
        else
            poptrie_find6_each_scalar(each, dst, value, some);
    }
}

#ifdef __AVX512VPOPCNTDQ__
const struct kernel poptrie_kernel_avx512_vpopcnt = {"avx512-vpopcnt",
                                                     avx512_find4,
                                                     avx512_find6,
                                                     poptrie_find4_each_avx512_vpopcnt,
                                                     poptrie_find6_each_avx512_vpopcnt,
                                                     NULL};
#else
const struct kernel poptrie_kernel_avx512 = {
    "avx512", avx512_find4, avx512_find6, poptrie_find4_each_avx512, poptrie_find6_each_avx512,
    NULL};
#endif
