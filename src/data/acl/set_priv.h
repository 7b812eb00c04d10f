// SPDX-License-Identifier: BSD-3-Clause
// set_priv.h - struct acl_set, for the set's files: one half per family
//
// Readers load the half of their family once per burst. The writer makes it with the first member.
#ifndef ACL_SET_PRIV_H
#define ACL_SET_PRIV_H

#include <string.h>

#include "acl/set.h"
#include "acl/set4.h"
#include "poptrie/poptrie.h"

struct acl_set {
    struct set4 *v4;    // readers load these two; NULL: there never was a member
    struct poptrie *v6; // every member has the value 1
    // the writer's own
    size_t max_bytes;
    uint64_t epoch;
    uint64_t ahead6; // the epoch here minus v6's
};

// Estimate of the bytes for so many more members of the IPv6 half.
size_t set6_need(const struct poptrie *t, size_t n);

static inline uint32_t acl_prefix_addr4(const struct prefix *p)
{
    return p->len ? __builtin_bswap32(p->ip4) & UINT32_MAX << (32 - p->len) : 0;
}

#endif
