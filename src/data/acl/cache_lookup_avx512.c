// SPDX-License-Identifier: BSD-3-Clause
// cache_lookup_avx512.c - looks up a burst of keys in the verdict cache; compiled with and without
// VAES
//
// Hashes are rounds of AES with the secret as round keys. No branch depends on a packet: in each
// bucket it takes the first way with a matching tag, or way 8 (the next bucket's first, which never
// has the same key), then compares all keys, four at a time. One packet in ten thousand finds
// another way with the same tag first, and counts as a new flow.
#include <immintrin.h>

#include "acl/cache_table.h"

#ifdef __VAES__
#define NAME(name) name##_vaes
#else
#define NAME(name) name##_avx512
#endif
#define INLINE static inline __attribute__((always_inline))

INLINE __m512i round4(__m512i x, __m512i k) // of four blocks
{
#ifdef __VAES__
    return _mm512_aesenc_epi128(x, k);
#else
    __m128i key = _mm512_castsi512_si128(k);
    __m512i r = _mm512_castsi128_si512(_mm_aesenc_si128(_mm512_castsi512_si128(x), key));
    r = _mm512_inserti64x2(r, _mm_aesenc_si128(_mm512_extracti64x2_epi64(x, 1), key), 1);
    r = _mm512_inserti64x2(r, _mm_aesenc_si128(_mm512_extracti64x2_epi64(x, 2), key), 2);
    return _mm512_inserti64x2(r, _mm_aesenc_si128(_mm512_extracti64x2_epi64(x, 3), key), 3);
#endif
}

INLINE __m512i secret4(const uint64_t *secret, unsigned i)
{
    return _mm512_broadcast_i64x2(_mm_loadu_si128((const __m128i *)secret + i));
}

INLINE __m512i rounds4(__m512i x, const uint64_t *secret, unsigned from)
{
    x = _mm512_xor_si512(x, secret4(secret, from));
    return round4(round4(x, secret4(secret, from + 1)), secret4(secret, from + 2));
}

INLINE __mmask8 lanes_of(unsigned left, unsigned most)
{
    return (__mmask8)(left >= most ? (1u << most) - 1 : (1u << left) - 1);
}

INLINE void hash_store(uint64_t *hash, __m512i x) // the first half of each block
{
    _mm256_storeu_si256((__m256i *)hash,
                        _mm512_castsi512_si256(_mm512_maskz_compress_epi64(0x55, x)));
}

INLINE void hashes4(const uint64_t *secret, const uint8_t *key, unsigned n, uint64_t *hash)
{
    for (unsigned i = 0; i < n; i += 4) {
        __mmask8 m = lanes_of(2 * (n - i), 8);
        hash_store(hash + i, rounds4(_mm512_maskz_loadu_epi64(m, key + 16 * i), secret, 0));
    }
}

// 16 bytes at offset `at` of up to four keys
INLINE __m512i blocks6(const uint8_t *key, unsigned n, unsigned at, __mmask8 m)
{
    __m512i x = _mm512_castsi128_si512(_mm_maskz_loadu_epi64(m, key + at));

    if (n > 1)
        x = _mm512_inserti64x2(x, _mm_maskz_loadu_epi64(m, key + 40 + at), 1);
    if (n > 2)
        x = _mm512_inserti64x2(x, _mm_maskz_loadu_epi64(m, key + 80 + at), 2);
    if (n > 3)
        x = _mm512_inserti64x2(x, _mm_maskz_loadu_epi64(m, key + 120 + at), 3);
    return x;
}

INLINE void hashes6(const uint64_t *secret, const uint8_t *key, unsigned n, uint64_t *hash)
{
    for (unsigned i = 0; i < n; i += 4) {
        unsigned some = n - i < 4 ? n - i : 4;
        const uint8_t *k = key + 40 * i;
        __m512i x = rounds4(blocks6(k, some, 0, 3), secret, 0);
        x = _mm512_xor_si512(x, rounds4(blocks6(k, some, 16, 3), secret, 3));
        x = _mm512_xor_si512(x, rounds4(blocks6(k, some, 32, 1), secret, 6));
        hash_store(hash + i, round4(x, secret4(secret, 0)));
    }
}

// Computes each packet's candidate entry; slot[] gets its content.
INLINE void entries_locate(const struct cache_table *t, uint32_t generation, const uint64_t *hash,
                           unsigned n, uint32_t *entry, uint32_t *slot)
{
    uint32_t at[64], want[64];

    for (unsigned i = 0; i < n; i += 8) {
        __m512i h = _mm512_loadu_si512(hash + i);
        __m512i b =
            _mm512_and_si512(_mm512_srli_epi64(h, 8), _mm512_set1_epi64((long long)t->mask));
        _mm256_storeu_si256((__m256i *)(at + i), _mm512_cvtepi64_epi32(_mm512_slli_epi64(b, 3)));
        _mm256_storeu_si256((__m256i *)(want + i),
                            _mm256_or_si256(_mm512_cvtepi64_epi32(_mm512_srli_epi64(h, 48)),
                                            _mm256_set1_epi32((int)(generation << 16))));
    }
    for (unsigned i = 0; i < n; i++) {
        const uint32_t *b = (const uint32_t *)t->bucket + 2 * (size_t)at[i];
        unsigned ways = _mm256_cmpeq_epi32_mask(_mm256_load_si256((const __m256i *)b),
                                                _mm256_set1_epi32((int)want[i]));
        unsigned way = (unsigned)__builtin_ctz(ways | 1u << CACHE_WAYS);
        entry[i] = at[i] + way;
        slot[i] = b[CACHE_WAYS + way];
    }
}

INLINE __m128i kept4(const struct cache_table *t, uint32_t entry)
{
    return _mm_loadu_si128((const __m128i *)(t->key + 2 * (size_t)entry));
}

uint64_t NAME(cache_look4)(const struct cache_table *t, const uint64_t secret[CACHE_SECRETS],
                           uint32_t generation, const void *key, unsigned n, uint32_t slot[64],
                           uint64_t hash[64])
{
    uint64_t found = 0;
    uint32_t entry[64 + 4];

    hashes4(secret, key, n, hash);
    entries_locate(t, generation, hash, n, entry, slot);
    entry[n] = entry[n + 1] = entry[n + 2] = 0;
    for (unsigned i = 0; i < n; i += 4) {
        __mmask8 m = lanes_of(2 * (n - i), 8);
        __m512i kept = _mm512_castsi128_si512(kept4(t, entry[i]));
        kept = _mm512_inserti64x2(kept, kept4(t, entry[i + 1]), 1);
        kept = _mm512_inserti64x2(kept, kept4(t, entry[i + 2]), 2);
        kept = _mm512_inserti64x2(kept, kept4(t, entry[i + 3]), 3);
        unsigned same = _mm512_mask_cmpeq_epi64_mask(
            m, kept, _mm512_maskz_loadu_epi64(m, (const uint8_t *)key + 16 * i));
        found |= (uint64_t)_pext_u32(same & same >> 1, 0x55) << i;
    }
    return found;
}

uint64_t NAME(cache_look6)(const struct cache_table *t, const uint64_t secret[CACHE_SECRETS],
                           uint32_t generation, const void *key, unsigned n, uint32_t slot[64],
                           uint64_t hash[64])
{
    const __mmask8 m = (1u << CACHE_WORDS6) - 1;
    uint64_t found = 0;
    uint32_t entry[64];

    hashes6(secret, key, n, hash);
    entries_locate(t, generation, hash, n, entry, slot);
    for (unsigned i = 0; i < n; i++) {
        __m512i kept = _mm512_maskz_loadu_epi64(m, t->key + CACHE_WORDS6 * (size_t)entry[i]);
        __mmask8 same = _mm512_mask_cmpeq_epi64_mask(
            m, kept, _mm512_maskz_loadu_epi64(m, (const uint8_t *)key + 40 * i));
        found |= (uint64_t)(same == m) << i;
    }
    return found;
}
