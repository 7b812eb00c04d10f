// SPDX-License-Identifier: BSD-3-Clause
// cache.h - verdict cache: the deciding slot of recent flows; one cache per forwarder, which alone
// reads and writes it
//
// Keys are hashed with a secret of the process, so nobody can force collisions. A flow is stored at
// its second packet. If more than about half of the packets miss, the cache is bypassed and only
// sampled, until it pays again. An entry belongs to a list and its epoch: a change of the list, or
// of one of its sets, invalidates all its entries at once.
#ifndef ACL_CACHE_H
#define ACL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"

struct acl_cache;

struct acl_cache_stats {
    uint64_t hits, misses, admitted, bypassed; // packets
    uint64_t entries, bytes;
    uint64_t stepped_aside; // how often a list's bypass began
};

// NULL with errno. bytes: rounded down to a power of two
struct acl_cache *acl_cache_new(size_t bytes, const uint8_t secret[16]);
void acl_cache_free(struct acl_cache *c);
void acl_cache_stats(const struct acl_cache *c, struct acl_cache_stats *s); // any thread

struct acl_asked { // which list is asked
    const struct acl *rules;
    uint16_t list;  // its id
    uint32_t epoch; // of its content, loaded by the reader before the call
};

// True if the cache is bypassed for this burst of n packets: then call the classifier directly,
// without making keys. acl_cache_classify decides the same way.
bool acl_cache_is_bypassed(struct acl_cache *c, uint16_t list, uint32_t epoch, unsigned n);

// As acl_classify4 or 6, which it calls for packets that are not in the cache; any n. c NULL: there
// is no cache. key: struct acl_key4 or acl_key6 [n].
void acl_cache_classify(struct acl_cache *c, const struct acl_asked *q, enum acl_family family,
                        const void *key, uint32_t *slot, unsigned n);

enum cache_kernel { CACHE_PLAIN, CACHE_AVX512, CACHE_VAES };
// For tests, before the first burst. False: not on this CPU.
bool acl_cache_use(struct acl_cache *c, enum cache_kernel k);

#endif
