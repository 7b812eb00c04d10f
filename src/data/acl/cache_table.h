// SPDX-License-Identifier: BSD-3-Clause
// cache_table.h - the verdict cache's memory layout, shared by cache.c and the lookup kernels
//
// A bucket is a cache line: eight entries of { generation and 16 bits of the hash, slot }. Keys are
// stored beside the buckets; if the tag matches, the whole key is compared, so a verdict never
// belongs to another flow. A generation stands for a list and its epoch, so one comparison checks
// flow, list and epoch.
// epoch.
#ifndef ACL_CACHE_TABLE_H
#define ACL_CACHE_TABLE_H

#include <stdint.h>
#include <string.h>

#define CACHE_WAYS 8u
#define CACHE_WORDS4 2u // of a key, 8 bytes each
#define CACHE_WORDS6 5u
#define CACHE_SECRETS 18u // nine vectors of 16 bytes

struct cache_bucket {
    uint32_t tag[CACHE_WAYS]; // generation << 16 | 16 bits of the hash; 0: empty
    uint32_t slot[CACHE_WAYS];
} __attribute__((aligned(64)));

// of one family; with one spare bucket, for `way 8` of the last one
struct cache_table {
    struct cache_bucket *bucket;
    uint64_t *key; // [bucket][way][words]
    uint8_t *door; // [bucket][way]: 8 bits of the hash of the last flow that was not admitted
    uint64_t mask; // buckets - 1
    unsigned words;
};

static inline uint64_t cache_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)a * b;

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

// The hash for CPUs without AES. The secret determines which keys collide.
static inline uint64_t cache_hash(const uint64_t secret[CACHE_SECRETS], const void *key,
                                  unsigned words)
{
    uint64_t k[CACHE_WORDS6], h;

    memcpy(k, key, words * sizeof *k);
    h = cache_fold(k[0] ^ secret[0], k[1] ^ secret[1]);
    if (words == CACHE_WORDS6)
        h = cache_fold(h ^ k[2] ^ secret[2], k[3] ^ secret[3]) ^
            cache_fold(h ^ k[4] ^ secret[1], secret[2]);
    return h;
}

static inline uint64_t cache_bucket_of(const struct cache_table *t, uint64_t hash)
{
    return hash >> 8 & t->mask;
}

// The alternative bucket of a flow whose own bucket was full.
static inline uint64_t cache_other_bucket_of(const struct cache_table *t, uint64_t hash)
{
    return hash >> 27 & t->mask;
}

static inline uint32_t cache_tag(uint32_t generation, uint64_t hash)
{
    return generation << 16 | (uint32_t)(hash >> 48);
}

// Bit i of the result: key i was found, slot[i] is its verdict. Fills hash[0..n); may write
// hash[0..64) and slot[0..64). n <= 64. Kernels hash differently, but use the same bits for bucket
// and tag (cache_bucket_of, cache_tag).
typedef uint64_t cache_look(const struct cache_table *t, const uint64_t secret[CACHE_SECRETS],
                            uint32_t generation, const void *key, unsigned n, uint32_t slot[64],
                            uint64_t hash[64]);
cache_look cache_look4_plain, cache_look6_plain;
cache_look cache_look4_avx512, cache_look6_avx512; // needs AES
cache_look cache_look4_vaes, cache_look6_vaes;     // needs VAES

#endif
