// SPDX-License-Identifier: BSD-3-Clause
// cache_lookup.c - looks up a burst of keys in the verdict cache, on any CPU
//
// First computes all hashes and prefetches the buckets; then reads one bucket after the other.
#include <stdbool.h>

#include "acl/cache_table.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline unsigned ways_with(const uint32_t *tag, uint32_t want)
{
#ifdef __SSE2__
    __m128i w = _mm_set1_epi32((int)want);
    __m128i lo = _mm_cmpeq_epi32(_mm_load_si128((const __m128i *)tag), w),
            hi = _mm_cmpeq_epi32(_mm_load_si128((const __m128i *)tag + 1), w);
    return (unsigned)(_mm_movemask_ps(_mm_castsi128_ps(lo)) | _mm_movemask_ps(_mm_castsi128_ps(hi))
                                                                  << 4);
#else
    unsigned ways = 0;
    for (unsigned w = 0; w < CACHE_WAYS; w++)
        ways |= (unsigned)(tag[w] == want) << w;
    return ways;
#endif
}

static inline bool key_equals(const uint64_t *kept, const uint8_t *key, unsigned words)
{
    uint64_t k[CACHE_WORDS6], differ = 0;

    memcpy(k, key, words * sizeof *k);
    for (unsigned i = 0; i < words; i++)
        differ |= kept[i] ^ k[i];
    return !differ;
}

static inline __attribute__((always_inline)) uint64_t
cache_look_up(const struct cache_table *t, const uint64_t *secret, uint32_t generation,
              const uint8_t *key, unsigned n, uint32_t *slot, uint64_t *hash, unsigned words)
{
    const unsigned bytes = words * 8;
    uint64_t found = 0;

    for (unsigned i = 0; i < n; i++) {
        hash[i] = cache_hash(secret, key + i * bytes, words);
        __builtin_prefetch(&t->bucket[cache_bucket_of(t, hash[i])]);
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t at = cache_bucket_of(t, hash[i]);
        const struct cache_bucket *b = &t->bucket[at];
        unsigned ways = ways_with(b->tag, cache_tag(generation, hash[i])),
                 way = (unsigned)__builtin_ctz(ways | 1u << CACHE_WAYS);
        if (!ways || !key_equals(t->key + (at * CACHE_WAYS + way) * words, key + i * bytes, words))
            continue;
        slot[i] = b->slot[way];
        found |= 1ull << i;
    }
    return found;
}

uint64_t cache_look4_plain(const struct cache_table *t, const uint64_t secret[CACHE_SECRETS],
                           uint32_t generation, const void *key, unsigned n, uint32_t slot[64],
                           uint64_t hash[64])
{
    return cache_look_up(t, secret, generation, key, n, slot, hash, CACHE_WORDS4);
}

uint64_t cache_look6_plain(const struct cache_table *t, const uint64_t secret[CACHE_SECRETS],
                           uint32_t generation, const void *key, unsigned n, uint32_t slot[64],
                           uint64_t hash[64])
{
    return cache_look_up(t, secret, generation, key, n, slot, hash, CACHE_WORDS6);
}
