// SPDX-License-Identifier: BSD-3-Clause
// set.h - address sets: up to millions of IPv4 and IPv6 prefixes; is an address in one of them?
//
// One thread writes, any number read wait-free, as in acl.h. Members are prefixes and may nest.
// IPv4 has its own layout (set4.h): a million hosts take about 11 MB, and most addresses in a /24
// without members cost one read. IPv6 is a Poptrie.
#ifndef ACL_SET_H
#define ACL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

struct acl_set;

struct acl_set_stats {
    uint64_t members[2]; // IPv4, IPv6 prefixes
    uint64_t bytes, writer_bytes;
};

struct acl_set *acl_set_new(size_t max_bytes); // 0 = no limit; NULL with errno
void acl_set_free(struct acl_set *s);

// Writer. Makes all deletions, then all additions, in one publication; skips additions of members
// and deletions of non-members, and counts them in *skipped, which may be NULL. 0; -ENOMEM,
// -ENOSPC: the old set stays in force.
int acl_set_change(struct acl_set *s, const struct prefix *del, size_t n_del,
                   const struct prefix *add, size_t n_add, uint64_t *skipped);
bool acl_set_has(const struct acl_set *s, const struct prefix *p); // exactly this member
size_t acl_set_need(size_t n4, size_t n6); // bytes for so many members, estimate
// In no particular order; stops at, and returns, the first non-zero fn().
int acl_set_walk(const struct acl_set *s, int (*fn)(void *ctx, const struct prefix *p), void *ctx);
uint64_t acl_set_epoch(struct acl_set *s);
void acl_set_reclaim(struct acl_set *s, uint64_t epoch);
void acl_set_stats(const struct acl_set *s, struct acl_set_stats *out);

// Reader. Bit i of the result: address i is in the set. n <= 64.
uint64_t acl_set_find4(const struct acl_set *s, const uint32_t *addr_be, unsigned n);
uint64_t acl_set_find6(const struct acl_set *s, const uint8_t (*addr)[16], unsigned n);

#endif
