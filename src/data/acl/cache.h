// SPDX-License-Identifier: BSD-3-Clause
// cache.h - verdict cache: the slot of flows seen lately; one for each forwarder, which alone reads
// and writes it
//
// Keys are hashed with a secret of the process, so that nobody can make flows collide on purpose. A
// flow is kept at its second sighting. When more than about half of the packets miss, the cache
// steps aside and only samples whether it would pay again. An entry belongs to a list and its
// epoch: a change of the list (or of a set that it names) takes all its entries out of force at
// once.
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
    uint64_t stepped_aside; // times
};

// NULL with errno. bytes: rounded down to a power of two
struct acl_cache *acl_cache_new(size_t bytes, const uint8_t secret[16]);
void acl_cache_free(struct acl_cache *c);
void acl_cache_stats(const struct acl_cache *c, struct acl_cache_stats *s); // any thread

// What the cache does not know is asked of the classifier: acl_classify4 and 6, or another one of
// the same form. acl_backend_of is it for a plain list.
struct acl_backend {
    void (*classify4)(const void *a, const struct acl_key4 *key, uint32_t *slot, unsigned n);
    void (*classify6)(const void *a, const struct acl_key6 *key, uint32_t *slot, unsigned n);
    const void *a;
    uint16_t list;  // its id
    uint32_t epoch; // of its content, as the reader loaded it before `a`
};

struct acl_backend acl_backend_of(const struct acl *a, uint16_t list, uint32_t epoch);

// Does it stand aside for this burst of n packets? Then the classifier is to be asked, without the
// cache and its keys; what is asked by way of the cache does that itself.
bool acl_cache_is_bypassed(struct acl_cache *c, uint16_t list, uint32_t epoch, unsigned n);

// As acl_classify4 and 6, by way of the cache; any n.
void acl_cache_classify4(struct acl_cache *c, const struct acl_backend *asked,
                         const struct acl_key4 *key, uint32_t *slot, unsigned n);
void acl_cache_classify6(struct acl_cache *c, const struct acl_backend *asked,
                         const struct acl_key6 *key, uint32_t *slot, unsigned n);

enum cache_kernel { CACHE_PLAIN, CACHE_AVX512, CACHE_VAES };
// false: not on this CPU. For tests: before the first burst
bool acl_cache_use(struct acl_cache *c, enum cache_kernel k);

#endif
