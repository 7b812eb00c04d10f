// SPDX-License-Identifier: BSD-3-Clause
// kernel_avx512_loads6.c - IPv6 lookups with AVX-512 for CPUs whose gathers are slow
// (base/cpu.h)
//
// A level reads two words per address, for any block, as in kernel_avx512.c; an address of a full
// table takes three or four levels. Vectors made of eight loads each would be mostly shuffles. So
// words are loaded one by one into arrays, in loops that do nothing else, and vectors read the
// arrays later. Unfinished walks are packed, and their blocks prefetched for the next level.
//
// Eight addresses per vector. There may be several tables, if they are of one group.
#include "poptrie/kernel_avx512.h"

#define BURST 64u
#define LANES 8u

struct walks {
    // the word; then the block behind it; then 8 bytes before the leaf or the key
    const uint8_t *at[BURST + LANES];
    uint64_t head[BURST + LANES]; // first bytes of the block
    uint64_t more[BURST + LANES]; // the bytes with the leaf, or the key
    uint64_t bit[BURST + LANES];  // bit offset of the leaf
    uint64_t half[BURST + LANES]; // half of the address at the current depth, host order
    // the word; from bit 32 on the depth, from bit 40 on the index of the address, BURST = none
    uint64_t state[BURST + LANES];
    uint64_t done[BURST + LANES]; // answers; from bit 32 on the index of the address
    unsigned n_done;
} __attribute__((aligned(64)));
_Static_assert((BURST + LANES) * sizeof(uint64_t) % 64 == 0,
               "a vector of an array is in one cache line");
#define STATE_DEPTH 32
#define STATE_WHOSE 40

INLINE __m512i all_lanes(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

// A separate load: the compiler would turn a loop of these into a gather.
INLINE uint64_t load_one(const uint8_t *p)
{
    uint64_t v;

    __builtin_memcpy(&v, p, sizeof v);
    __asm__("" : "+r"(v));
    return v;
}

// Prefetches the next reads of the eight walks before place i. Their addresses were stored a while
// ago: loading words from a vector just stored is slow.
INLINE void prefetch_before(const struct walks *w, unsigned i)
{
    for (unsigned j = i - LANES; i && j < i; j++)
        __builtin_prefetch(w->at[j]);
}

INLINE __m512i code_of(__m512i word)
{
    return _mm512_and_si512(_mm512_srli_epi64(word, WORD_CODE_SHIFT), all_lanes(31));
}

INLINE __mmask8 refs_of(__m512i word)
{
    return _mm512_test_epi64_mask(word, all_lanes(WORD_REF));
}

INLINE __m512i depth_of(__m512i state)
{
    return _mm512_and_si512(_mm512_srli_epi64(state, STATE_DEPTH), all_lanes(0xff));
}

// The blocks behind words; for other words the start of the arena.
INLINE __m512i blocks_of(const uint8_t *arena, __m512i word)
{
    __m512i offset = _mm512_maskz_and_epi64(refs_of(word), word, all_lanes(WORD_OFFSET));

    return _mm512_add_epi64(all_lanes((uintptr_t)arena), _mm512_slli_epi64(offset, 3));
}

// Computes the places of the leaves of eight blocks, or of the keys of skips.
INLINE void find_leaves(struct walks *w, unsigned i)
{
    __m512i state = _mm512_loadu_si512(w->state + i), code = code_of(state);
    __m512i child =
        _mm512_srli_epi64(_mm512_sllv_epi64(_mm512_loadu_si512(w->half + i), depth_of(state)), 58);
    __m512i n = popcount64(
        _mm512_sllv_epi64(_mm512_loadu_si512(w->head + i), _mm512_xor_si512(child, all_lanes(63))));
    __mmask8 leaves = _mm512_mask_cmpneq_epi64_mask(refs_of(state), code, all_lanes(CODE_SKIP));
    __m512i bit = _mm512_maskz_mul_epu32(leaves, _mm512_sub_epi64(n, all_lanes(1)),
                                         _mm512_add_epi64(code, all_lanes(1)));

    _mm512_storeu_si512(w->bit + i, bit);
    _mm512_storeu_si512(w->at + i,
                        _mm512_add_epi64(_mm512_loadu_si512(w->at + i), _mm512_srli_epi64(bit, 3)));
}

// Takes eight walks down one level: stores answers, and appends unfinished walks to the m that
// continue. Returns the new m.
INLINE unsigned walks_step(struct walks *w, unsigned i, unsigned m, const uint8_t *arena,
                           const uint8_t (*dst)[16])
{
    const __m512i low = all_lanes(UINT32_MAX), state = _mm512_loadu_si512(w->state + i),
                  more = _mm512_loadu_si512(w->more + i);
    __m512i whose = _mm512_srli_epi64(state, STATE_WHOSE), half = _mm512_loadu_si512(w->half + i),
            code = code_of(state);
    __m512i next =
        _mm512_srlv_epi64(more, _mm512_and_si512(_mm512_loadu_si512(w->bit + i), all_lanes(7)));
    __m512i depth = _mm512_add_epi64(depth_of(state), all_lanes(6));
    __mmask8 refs = refs_of(state),
             skip = _mm512_mask_cmpeq_epi64_mask(refs, code, all_lanes(CODE_SKIP));

    next = _mm512_and_si512(next, _mm512_srlv_epi64(low, _mm512_sub_epi64(all_lanes(31), code)));
    if (skip) {
        __m512i head = _mm512_loadu_si512(w->head + i), bits = _mm512_srli_epi64(head, 48);
        __m512i differ =
            _mm512_srlv_epi64(_mm512_xor_si512(half, more), _mm512_sub_epi64(all_lanes(64), bits));
        next = _mm512_mask_and_epi64(next, skip, _mm512_srli_epi64(head, 32), all_lanes(0xffff));
        next = _mm512_mask_and_epi64(next, _mm512_mask_testn_epi64_mask(skip, differ, differ), head,
                                     low);
        depth = _mm512_mask_mov_epi64(depth, skip, bits);
    }
    next = _mm512_mask_and_epi64(next, (__mmask8)~refs, state, low);
    __mmask8 on = refs_of(next), over = _mm512_mask_cmpge_epu64_mask(on, depth, all_lanes(64));
    __mmask8 done = _mm512_mask_cmplt_epu64_mask((__mmask8)~on, whose, all_lanes(BURST));
    if (over) { // rare: continues in the second half of the address
        const __m512i swap = _mm512_broadcast_i32x4(
            _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
        __m512i lo = _mm512_mask_i64gather_epi64(half, over, _mm512_slli_epi64(whose, 1),
                                                 (const uint8_t *)dst + 8, 8);
        half = _mm512_mask_mov_epi64(half, over, _mm512_shuffle_epi8(lo, swap));
        depth = _mm512_mask_mov_epi64(depth, over, _mm512_setzero_si512());
    }
    if (done) {
        _mm512_storeu_si512(
            w->done + w->n_done,
            _mm512_maskz_compress_epi64(done, _mm512_or_si512(next, _mm512_slli_epi64(whose, 32))));
        w->n_done += (unsigned)__builtin_popcount(done);
    }
    _mm512_storeu_si512(w->at + m, _mm512_maskz_compress_epi64(on, blocks_of(arena, next)));
    _mm512_storeu_si512(w->half + m, _mm512_maskz_compress_epi64(on, half));
    next = _mm512_or_si512(next, _mm512_or_si512(_mm512_slli_epi64(depth, STATE_DEPTH),
                                                 _mm512_slli_epi64(whose, STATE_WHOSE)));
    _mm512_storeu_si512(w->state + m, _mm512_maskz_compress_epi64(on, next));
    prefetch_before(w, m & ~(LANES - 1));
    return m + (unsigned)__builtin_popcount(on);
}

// Takes n walks down one level. Returns how many continue.
INLINE unsigned walks_level(struct walks *w, unsigned n, const uint8_t *arena,
                            const uint8_t (*dst)[16])
{
    const unsigned whole = (n + LANES - 1) & ~(LANES - 1);
    unsigned m = 0;

    // padding to fill a vector
    _mm512_storeu_si512(w->at + n, all_lanes((uintptr_t)arena));
    _mm512_storeu_si512(w->half + n, _mm512_setzero_si512());
    _mm512_storeu_si512(w->state + n, all_lanes((uint64_t)BURST << STATE_WHOSE));
    for (unsigned i = 0; i < whole; i++)
        w->head[i] = load_one(w->at[i]);
    for (unsigned i = 0; i < whole; i += LANES)
        find_leaves(w, i);
    for (unsigned i = 0; i < whole; i++)
        w->more[i] = load_one(w->at[i] + 8);
    for (unsigned i = 0; i < whole; i += LANES)
        m = walks_step(w, i, m, arena, dst);
    return m;
}

// Lanes whose addresses the directory covers.
INLINE __mmask8 slotted(__m512i hi)
{
    return _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(hi, 61), all_lanes(1));
}

// Addresses of eight words: in the directory, or outside it.
INLINE void word_at(struct walks *w, unsigned i, const struct poptrie *t)
{
    __m512i hi = _mm512_loadu_si512(w->half + i),
            slot =
                _mm512_and_si512(_mm512_srli_epi64(hi, 64 - DIR6_BITS), all_lanes(DIR6_WORDS - 1));
    __m512i in = _mm512_add_epi64(all_lanes((uintptr_t)t->dir), _mm512_slli_epi64(slot, 2));

    _mm512_storeu_si512(w->at + i,
                        _mm512_mask_mov_epi64(all_lanes((uintptr_t)&t->outside), slotted(hi), in));
}

// The same for each address in its own table, through pages.
INLINE void word_at_each(struct walks *w, const struct poptrie *const *each, const uint32_t *pages,
                         unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t hi = w->half[i];
        const uint32_t *in =
            page_word_of(each[i], pages, hi >> (64 - DIR6_BITS) & (DIR6_WORDS - 1), PAGE6_BITS);
        w->at[i] = (const uint8_t *)(hi >> 61 == 1 ? in : &each[i]->outside);
    }
}

// Starts the walks: words and their blocks.
INLINE void walks_begin(struct walks *w, const struct poptrie *t, const struct poptrie *const *each,
                        const uint8_t (*dst)[16], unsigned n)
{
    const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);

    for (unsigned i = 0; i < n; i += LANES) {
        __m512i hi, lo;
        load6(dst + i, n - i, &hi, &lo);
        _mm512_storeu_si512(w->half + i, hi);
        word_at(w, i, t); // also for unused lanes of a vector
    }
    if (each)
        word_at_each(w, each, t->pages, n);
    for (unsigned i = 0; i < n; i++)
        w->more[i] = word_load((const uint32_t *)(const void *)w->at[i]);
    for (unsigned i = 0; i < n; i += LANES) {
        __m512i word = _mm512_loadu_si512(w->more + i),
                whose = _mm512_slli_epi64(_mm512_add_epi64(all_lanes(i), lane), STATE_WHOSE);
        __m512i depth = _mm512_maskz_mov_epi64(slotted(_mm512_loadu_si512(w->half + i)),
                                               all_lanes((uint64_t)DIR6_BITS << STATE_DEPTH));
        _mm512_storeu_si512(w->at + i, blocks_of(t->arena, word));
        _mm512_storeu_si512(w->state + i, _mm512_or_si512(word, _mm512_or_si512(depth, whose)));
        prefetch_before(w, i);
    }
    w->n_done = 0;
}

// Looks up n addresses (1..64) in table t; or, if `each` is not NULL, each in its own table of t's
// group.
INLINE void loads_burst6(const struct poptrie *t, const struct poptrie *const *each,
                         const uint8_t (*dst)[16], uint32_t *value, unsigned n)
{
    struct walks w;
    bool none = false;

    walks_begin(&w, t, each, dst, n);
    for (unsigned left = n; left; left = walks_level(&w, left, t->arena, dst))
        ;
    for (unsigned i = 0; i < n; i++) {
        uint32_t leaf = (uint32_t)w.done[i];
        value[w.done[i] >> 32] = leaf;
        none |= leaf == 0;
    }
    for (unsigned i = 0; none && i < n; i++) // the floor's value replaces a leaf of 0
        value[i] = leaf_answer(each ? each[i] : t, value[i], dst[i][0] >> (8 - FLOOR_BITS));
}

void poptrie_find6_loads(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value,
                         unsigned n)
{
    for (; n > BURST; n -= BURST, dst += BURST, value += BURST)
        loads_burst6(t, NULL, dst, value, BURST);
    loads_burst6(t, NULL, dst, value, n);
}

void poptrie_find6_each_loads(const struct poptrie *const *each, const uint8_t (*dst)[16],
                              uint32_t *value, unsigned n)
{
    for (unsigned some; n; n -= some, each += some, dst += some, value += some) {
        some = n < BURST ? n : BURST;
        if (tables_are_near(each, some))
            loads_burst6(each[0], each, dst, value, some);
        else
            poptrie_find6_each_scalar(each, dst, value, some);
    }
}
