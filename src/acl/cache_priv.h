// SPDX-License-Identifier: BSD-3-Clause
// cache_priv.h - how the verdict cache lies in memory
//
// A bucket is a cache line: eight entries of { generation and 16 bits of the hash, slot }. Keys lie beside the buckets; the one whose
// tag agrees is compared in full, so that a verdict is never another flow's. A generation is a list with an epoch, in the
// order in which this forwarder met them: one comparison tells flow, list and epoch.
#ifndef ACL_CACHE_PRIV_H
#define ACL_CACHE_PRIV_H

#include <stdbool.h>
#include <string.h>

#include "acl/cache.h"

#define CACHE_WAYS 8u
#define CACHE_WORDS4 2u // of a key, 8 bytes each
#define CACHE_WORDS6 5u
#define CACHE_SECRETS 4u

struct cache_bucket {
    uint32_t tag[CACHE_WAYS]; // generation << 16 | 16 bits of the hash; 0: empty
    uint32_t slot[CACHE_WAYS];
} __attribute__((aligned(64)));

struct cache_table { // of one family
    struct cache_bucket *bucket;
    uint64_t *key;  // [bucket][way][words]
    uint8_t *door;  // [bucket][way]: 8 bits of the hash of what was here last without being let in
    uint64_t mask;  // buckets - 1
    unsigned words;
};

static inline uint64_t cache_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)a * b;

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

// Which keys collide depends on the secret alone: who does not know it cannot choose them.
static inline uint64_t cache_hash(const uint64_t secret[CACHE_SECRETS], const void *key, unsigned words)
{
    uint64_t k[CACHE_WORDS6], h;

    memcpy(k, key, words * sizeof *k);
    h = cache_fold(k[0] ^ secret[0], k[1] ^ secret[1]);
    if (words == CACHE_WORDS6)
        h = cache_fold(h ^ k[2] ^ secret[2], k[3] ^ secret[3]) ^ cache_fold(h ^ k[4] ^ secret[1], secret[2]);
    return h;
}

static inline uint64_t cache_bucket_of(const struct cache_table *t, uint64_t hash)
{
    return hash >> 8 & t->mask;
}

static inline uint32_t cache_tag(uint32_t generation, uint64_t hash)
{
    return generation << 16 | (uint32_t)(hash >> 48);
}

// Bit i: key i was found, slot[i] is its verdict. hash[0..n) of all of them. n <= 64.
typedef uint64_t cache_look(const struct cache_table *t, const uint64_t secret[CACHE_SECRETS], uint32_t generation, const void *key, unsigned n,
                            uint32_t *slot, uint64_t *hash);
cache_look cache_look4_plain, cache_look6_plain, cache_look4_avx2, cache_look6_avx2;

void acl_cache_use_plain(struct acl_cache *c); // for tests

#endif
