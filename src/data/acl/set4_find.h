// SPDX-License-Identifier: BSD-3-Clause
// set4_find.h - looks up addresses in the IPv4 half of a set, at once or in steps
//
// Kernels: any CPU, AVX-512, AVX-512 with VPOPCNTDQ and CD; set_find.c chooses.
#ifndef ACL_SET4_FIND_H
#define ACL_SET4_FIND_H

#include "acl/set4.h"

struct acl_set;

// A lookup in steps. Each step prefetches data for the next one, so that the caller can do other
// work in between.
struct set4_walk {
    const struct set4 *set; // NULL: the lookup is over
    const struct set4_filter *filter;
    unsigned n_steps,
        n;         // addresses; after the first step only filter hits, packed
    uint64_t pass; // the addresses that pass
    // bit = address in the set; complete when the lookup is over
    uint64_t found;
    uint32_t addr[64]; // host order
    uint32_t word[64];
};
void acl_set_walk4(const struct acl_set *s, struct set4_walk *w, const uint32_t *addr_be,
                   unsigned n);
void set4_walk_on(struct set4_walk *w); // the next step: filter, directory, nodes, lists

// --- kernels ---

enum set4_kernel { SET4_SCALAR, SET4_AVX512, SET4_VPOPCNT };

// Bit = address in the set, of n; f: the set's filter.
typedef uint64_t set4_find(const struct set4 *s, const struct set4_filter *f,
                           const uint32_t *addr_be, unsigned n);
set4_find set4_find_scalar, set4_find_avx512, set4_find_avx512_vpopcnt;
// the addresses that passed the filter, one by one
uint64_t set4_find_few(const struct set4 *s, uint64_t pass, const uint32_t *addr_be);
set4_find *set4_find_of(enum set4_kernel k); // NULL: not on this CPU
// One step of an unfinished lookup.
typedef void set4_step(struct set4_walk *w);
set4_step set4_step_scalar, set4_step_avx512_vpopcnt;
set4_step *set4_step_of(enum set4_kernel k); // as set4_find_of
void set4_walk_by(struct set4_walk *w, set4_step *next);

#endif
