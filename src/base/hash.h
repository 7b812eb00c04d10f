// SPDX-License-Identifier: BSD-3-Clause
// hash.h - integer mixing for flow hashes and hash tables
//
// hash_mix32/64 are finalizers of the Bob Jenkins/Murmur kind: every input bit affects every output
// bit. Against adversaries use a secret seed. Any thread; no state.
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_mix64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return x;
}

static inline uint32_t hash_mix32(uint32_t x)
{
    return (uint32_t)(hash_mix64(x) >> 16);
}

// Hash of `n` bytes with a seed.
static inline uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
    const uint8_t *b = p;
    uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15u), w;

    for (; n >= 8; n -= 8, b += 8) {
        memcpy(&w, b, 8);
        h = hash_mix64(h ^ w);
    }
    w = 0;
    memcpy(&w, b, n);
    return hash_mix64(h ^ w);
}

#endif
