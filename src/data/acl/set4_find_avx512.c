// SPDX-License-Identifier: BSD-3-Clause
// set4_find_avx512.c - looks up IPv4 addresses in a set, 16 at a time; compiled with and without
// VPOPCNTDQ and CD
//
// The filter checks all addresses. If many pass, they are packed and go through directory, node and
// leaf in vectors; lists and bitmaps of a /24 are then checked one by one. If few pass, only memory
// latency counts, and plain code is as good. Without VPOPCNTDQ only the filter is in vectors.
// Gathers are plain loads, which x86 keeps in order: an object is complete when the word that leads
// to it is read.
#include "acl/set4_find.h"

#include "acl/keys_simd.h"

#define INLINE LANE_INLINE
#define LANES LANE_STEP
#define VECTORS_FROM 8u

INLINE __mmask16 lanes_mask(unsigned left)
{
    return left >= LANES ? 0xffff : (__mmask16)((1u << left) - 1);
}

// As lane_swap of lane_load_some, but the compiler keeps more in registers.
INLINE __m512i addresses_load(const uint32_t *addr_be, __mmask16 m)
{
    const __m512i swap =
        LANE_BROADCAST(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

    return _mm512_shuffle_epi8(lane_load_some(addr_be, m), swap);
}

INLINE __mmask16 bit_test(__mmask16 m, __m512i word, __m512i bit) // bit & 31 of each word
{
    return _mm512_mask_test_epi32_mask(m, word, lane_bit(lane_and(bit, lane_all(31))));
}

INLINE __m512i bit_at(__m512i h, unsigned from) // of five bits of h
{
    return lane_bit(lane_and(lane_shr(h, from), lane_all(31)));
}

INLINE __m512i items_of_addresses(const struct set4_filter *f, __m512i addr) // set4_item_of
{
    __m512i i = lane_and(_mm512_srl_epi32(addr, _mm_cvtsi32_si128((int)f->item_shift)),
                         lane_all(SET4_ITEMS - 1));
    __m512i h = lane_mul(lane_or(i, lane_all(SET4_ITEMS)), SET4_HASH);

    return lane_or(lane_or(bit_at(h, 27), bit_at(h, 22)), bit_at(h, 17));
}

// Filters 16 addresses. Returns the lanes that pass; *found: the lanes known to be in the set.
INLINE __mmask16 filter16(const struct set4_filter *f, __m512i addr, __mmask16 m, __mmask16 *found)
{
    __m512i item = items_of_addresses(f, addr),
            word =
                lane_gather(f->word, _mm512_srl_epi32(addr, _mm_cvtsi32_si128((int)f->shift)), m);

    *found = _mm512_mask_cmpeq_epi32_mask(m, word, lane_all(SET4_WHOLE));
    return _mm512_mask_cmpeq_epi32_mask(m, lane_and(word, item), item);
}

INLINE uint64_t filter_all(const struct set4_filter *f, const uint32_t *addr_be, unsigned n,
                           uint64_t *found)
{
    uint64_t pass = 0;

    *found = 0;
    for (unsigned i = 0; i < n; i += LANES) {
        __mmask16 m = lanes_mask(n - i), known;
        pass |= (uint64_t)filter16(f, addresses_load(addr_be + i, m), m, &known) << i;
        *found |= (uint64_t)known << i;
    }
    return pass;
}

#ifdef __AVX512VPOPCNTDQ__

INLINE __m512i gather_at(__mmask16 m, __m512i offset, const void *base)
{
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, offset, base, 1);
}

// Packs the addresses that pass into addr[0..), in host order.
INLINE void addresses_pack(uint32_t *addr, const uint32_t *addr_be, unsigned n, uint64_t pass)
{
    for (unsigned i = 0; i < n; i += LANES) {
        __mmask16 m = (__mmask16)(pass >> i);
        _mm512_storeu_si512(addr, _mm512_maskz_compress_epi32(m, addresses_load(addr_be + i, m)));
        addr += __builtin_popcount(m);
    }
}

INLINE __m512i directory_words(const struct set4 *s, __m512i addr, __mmask16 m) // of the directory
{
    return lane_gather(s->dir, lane_shr(addr, 15), m);
}

// set4_child of 16 addresses. The arena is at most 1 GiB, so that an offset in it fits a lane.
INLINE __m512i children_of_words(const struct set4 *s, __m512i w, __m512i addr, __mmask16 m)
{
    const uint32_t head = sizeof(struct set4_node), more = sizeof(struct set4_shorts) - head;
    __mmask16 yes = _mm512_test_epi32_mask(w, lane_all(SET4_ALL)),
              node = _mm512_mask_test_epi32_mask(m & ~yes, w, lane_all(SET4_REF));
    __mmask16 shorts = _mm512_mask_test_epi32_mask(node, w, lane_all(SET4_SHORTS));
    __m512i base = _mm512_slli_epi32(lane_and(w, lane_all(SET4_REF)), 3), at = lane_shr(addr, 8);
    __m512i quarter = lane_and(lane_shr(at, 5), lane_all(3)), bit = lane_and(at, lane_all(31));
    __m512i here = _mm512_add_epi32(base, _mm512_slli_epi32(quarter, 2));
    __m512i longs = gather_at(node, here, s->arena),
            below = gather_at(node, base, s->arena + offsetof(struct set4_node, below));

    if (shorts)
        yes |= bit_test(shorts,
                        gather_at(shorts, here, s->arena + offsetof(struct set4_shorts, all)), bit);
    node = bit_test(node & ~yes, longs, bit);
    below = lane_and(_mm512_srlv_epi32(below, _mm512_slli_epi32(quarter, 3)), lane_all(255));
    __m512i before = lane_and(longs, _mm512_sub_epi32(lane_bit(bit), lane_all(1)));
    __m512i rank = _mm512_add_epi32(below, _mm512_popcnt_epi32(before));
    __m512i child = _mm512_add_epi32(_mm512_mask_add_epi32(base, shorts, base, lane_all(more)),
                                     _mm512_slli_epi32(rank, 2));
    return _mm512_mask_mov_epi32(gather_at(node, child, s->arena + head), yes, lane_all(SET4_YES));
}

// Is one of the three codes in a word a prefix of the address?
INLINE __mmask16 words_have(__m512i word, __m512i addr, __mmask16 m)
{
    __m512i host = lane_or(lane_and(addr, lane_all(255)), lane_all(256));
    __mmask16 hit = 0;

    for (unsigned i = 0; i < 3; i++, word = lane_shr(word, 9)) {
        __m512i code = lane_and(word, lane_all(511));
        __m512i by = _mm512_sub_epi32(_mm512_lzcnt_epi32(lane_or(code, lane_all(1))), lane_all(23));
        hit |= _mm512_mask_cmpeq_epi32_mask(m, _mm512_srlv_epi32(host, by), code);
    }
    return hit;
}

// Of `some` packed addresses and their leaf words, returns those in the set.
INLINE uint64_t leaves_have(const struct set4 *s, const uint32_t *child, const uint32_t *addr,
                            unsigned some)
{
    uint64_t found = 0, listed = 0;

    for (unsigned i = 0; i < some; i += LANES) {
        __mmask16 m = lanes_mask(some - i);
        __m512i a = lane_load_some(addr + i, m), c = lane_load_some(child + i, m);
        __mmask16 yes = _mm512_cmpeq_epi32_mask(c, lane_all(SET4_YES)),
                  list = (__mmask16)(_mm512_movepi32_mask(c) & ~yes);
        found |= (uint64_t)(yes | words_have(c, a, (__mmask16)(m & ~yes & ~list))) << i;
        listed |= (uint64_t)list << i;
    }
    for (; listed; listed &= listed - 1) {
        unsigned i = (unsigned)__builtin_ctzll(listed);
        found |= (uint64_t)set4_leaf_has(s, child[i], addr[i]) << i;
    }
    return found;
}

// Reads the leaf words behind these directory words, and prefetches lists.
INLINE void children_read(const struct set4 *s, const uint32_t *word, const uint32_t *addr,
                          uint32_t *child, unsigned some)
{
    for (unsigned i = 0; i < some; i += LANES) {
        __mmask16 m = lanes_mask(some - i);
        __m512i a = lane_load_some(addr + i, m),
                w = word ? lane_load_some(word + i, m) : directory_words(s, a, m);
        __m512i c = children_of_words(s, w, a, m);
        _mm512_mask_storeu_epi32(child + i, m, c);
        for (unsigned l = _mm512_movepi32_mask(c) & ~_mm512_cmpeq_epi32_mask(c, lane_all(SET4_YES));
             l; l &= l - 1)
            __builtin_prefetch(set4_at(s, child[i + (unsigned)__builtin_ctz(l)]));
    }
}

uint64_t set4_find_avx512_vpopcnt(const struct set4 *s, const struct set4_filter *f,
                                  const uint32_t *addr_be, unsigned n)
{
    uint64_t found, pass = filter_all(f, addr_be, n, &found);
    unsigned some = (unsigned)__builtin_popcountll(pass);
    uint32_t addr[64 + LANES], child[64];

    if (some <= VECTORS_FROM)
        return found | set4_find_few(s, pass, addr_be);
    addresses_pack(addr, addr_be, n, pass);
    children_read(s, NULL, addr, child, some);
    return found | _pdep_u64(leaves_have(s, child, addr, some), pass);
}

// --- in steps ---

// Moves the addresses that pass to the front.
INLINE void walk_filter(struct set4_walk *w)
{
    unsigned n = 0;

    w->pass = 0;
    for (unsigned i = 0; i < w->n; i += LANES) {
        __mmask16 m = lanes_mask(w->n - i), known;
        __m512i addr = lane_load_some(w->addr + i, m);
        m = filter16(w->filter, addr, m, &known);
        w->pass |= (uint64_t)m << i;
        w->found |= (uint64_t)known << i;
        _mm512_storeu_si512(w->addr + n, _mm512_maskz_compress_epi32(m, addr)); // n <= i
        n += (unsigned)__builtin_popcount(m);
    }
    w->n = n;
    for (unsigned i = 0; i < n; i++)
        __builtin_prefetch(&w->set->dir[w->addr[i] >> 15]);
}

INLINE void walk_words(struct set4_walk *w)
{
    for (unsigned i = 0; i < w->n; i += LANES) {
        __mmask16 m = lanes_mask(w->n - i);
        _mm512_mask_storeu_epi32(w->word + i, m,
                                 directory_words(w->set, lane_load_some(w->addr + i, m), m));
    }
    for (unsigned i = 0; i < w->n; i++)
        set4_node_fetch(w->set, w->word[i]);
}

void set4_step_avx512_vpopcnt(struct set4_walk *w)
{
    if (!w->n_steps)
        walk_filter(w);
    else if (w->n <= VECTORS_FROM)
        set4_step_scalar(w);
    else if (w->n_steps == 1)
        walk_words(w);
    else if (w->n_steps == 2)
        children_read(w->set, w->word, w->addr, w->word, w->n);
    else
        w->found |= _pdep_u64(leaves_have(w->set, w->word, w->addr, w->n), w->pass);
}

#else

uint64_t set4_find_avx512(const struct set4 *s, const struct set4_filter *f,
                          const uint32_t *addr_be, unsigned n)
{
    uint64_t found, pass = filter_all(f, addr_be, n, &found);

    return pass ? found | set4_find_few(s, pass, addr_be) : found;
}

#endif
