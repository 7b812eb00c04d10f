// SPDX-License-Identifier: BSD-3-Clause
// set4_find_plain.c - looks up IPv4 addresses in a set, on any CPU
//
// First the filter, for all addresses; then the addresses that pass go through each level together,
// so that their memory reads overlap.
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "acl/set4_find.h"

uint64_t set4_find_few(const struct set4 *s, uint64_t pass, const uint32_t *addr_be)
{
    uint32_t addr[64], word[64];
    uint8_t at[64];
    uint64_t found = 0;
    unsigned n = 0;

    for (; pass; pass &= pass - 1, n++) {
        at[n] = (uint8_t)__builtin_ctzll(pass);
        addr[n] = __builtin_bswap32(addr_be[at[n]]);
        __builtin_prefetch(&s->dir[addr[n] >> 15]);
    }
    for (unsigned i = 0; i < n; i++) {
        word[i] = set4_word(s, addr[i]);
        set4_node_fetch(s, word[i]);
    }
    for (unsigned i = 0; i < n; i++)
        found |= (uint64_t)set4_leaf_has(s, set4_child(s, word[i], addr[i]), addr[i]) << at[i];
    return found;
}

#ifdef __SSE2__

static inline __m128i host_order(__m128i be)
{
    __m128i half = _mm_or_si128(_mm_slli_epi16(be, 8), _mm_srli_epi16(be, 8));

    return _mm_shufflehi_epi16(_mm_shufflelo_epi16(half, 0xb1), 0xb1);
}

static inline __m128i four_words(const uint32_t *word, __m128i index)
{
    _Alignas(16) uint32_t i[4];

    _mm_store_si128((__m128i *)i, index);
    return _mm_setr_epi32(
        (int)__atomic_load_n(&word[i[0]], __ATOMIC_ACQUIRE),
        (int)__atomic_load_n(&word[i[1]], __ATOMIC_ACQUIRE), // partner: word_store
        (int)__atomic_load_n(&word[i[2]], __ATOMIC_ACQUIRE),
        (int)__atomic_load_n(&word[i[3]], __ATOMIC_ACQUIRE));
}

static inline uint64_t lanes_equal(__m128i a, __m128i b)
{
    return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(a, b)));
}

#endif

// Addresses that pass the filter; *found: addresses known to be in the set.
static uint64_t filter_addresses(const struct set4_filter *f, const uint32_t *addr_be, unsigned n,
                                 uint64_t *found)
{
    uint64_t pass = 0, whole = 0;
    unsigned i = 0;

#ifdef __SSE2__
    const __m128i shift = _mm_cvtsi32_si128((int)f->shift),
                  item_shift = _mm_cvtsi32_si128((int)f->item_shift);
    for (; i + 4 <= n; i += 4) {
        __m128i addr = host_order(_mm_loadu_si128((const __m128i *)(addr_be + i)));
        __m128i item = four_words(set4_item, _mm_and_si128(_mm_srl_epi32(addr, item_shift),
                                                           _mm_set1_epi32(SET4_ITEMS - 1)));
        __m128i word = four_words(f->word, _mm_srl_epi32(addr, shift));
        whole |= lanes_equal(word, _mm_set1_epi32(SET4_WHOLE)) << i;
        pass |= lanes_equal(_mm_and_si128(word, item), item) << i;
    }
#endif
    for (; i < n; i++) {
        uint32_t addr = __builtin_bswap32(addr_be[i]), word = set4_filter_word(f, addr),
                 item = set4_item_of(f, addr);
        whole |= (uint64_t)(word == SET4_WHOLE) << i;
        pass |= (uint64_t)((word & item) == item) << i;
    }
    *found = whole;
    return pass;
}

uint64_t set4_find_scalar(const struct set4 *s, const struct set4_filter *f,
                          const uint32_t *addr_be, unsigned n)
{
    uint64_t found, pass = filter_addresses(f, addr_be, n, &found);

    return pass ? found | set4_find_few(s, pass, addr_be) : found;
}

// --- in steps ---

static void step_filter(struct set4_walk *w)
{
    unsigned n = 0;

    w->pass = 0;
    for (unsigned i = 0; i < w->n; i++) { // no branches: addresses that pass move to the front
        uint32_t addr = w->addr[i], word = set4_filter_word(w->filter, addr),
                 item = set4_item_of(w->filter, addr);
        bool passes = (word & item) == item;
        w->addr[n] = addr;
        w->found |= (uint64_t)(word == SET4_WHOLE) << i;
        w->pass |= (uint64_t)passes << i;
        n += passes;
    }
    w->n = n;
    for (unsigned i = 0; i < n; i++)
        __builtin_prefetch(&w->set->dir[w->addr[i] >> 15]);
}

static void step_leaves(struct set4_walk *w)
{
    uint64_t pass = w->pass;

    for (unsigned i = 0; i < w->n; i++, pass &= pass - 1)
        w->found |= (uint64_t)set4_leaf_has(w->set, w->word[i], w->addr[i])
                    << __builtin_ctzll(pass);
}

void set4_step_scalar(struct set4_walk *w)
{
    const struct set4 *s = w->set;

    if (!w->n_steps)
        step_filter(w);
    else if (w->n_steps == 1)
        for (unsigned i = 0; i < w->n; i++) {
            w->word[i] = set4_word(s, w->addr[i]);
            set4_node_fetch(s, w->word[i]);
        }
    else if (w->n_steps == 2)
        for (unsigned i = 0; i < w->n; i++) {
            w->word[i] = set4_child(s, w->word[i], w->addr[i]);
            if (w->word[i] & SET4_LIST && w->word[i] != SET4_YES)
                __builtin_prefetch(set4_at(s, w->word[i]));
        }
    else
        step_leaves(w);
}
