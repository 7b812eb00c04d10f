// SPDX-License-Identifier: BSD-3-Clause
// set_priv.h - an address set from inside: two halves, one for each family
#ifndef ACL_SET_PRIV_H
#define ACL_SET_PRIV_H

#include "acl/set.h"
#include "acl/set4.h"
#include "poptrie/poptrie.h"

// A search in steps, each of which asks memory for what the next one reads: who has other work to do in between does not wait for it.
struct set4_walk {
    const struct set4 *set; // NULL: it is over
    const struct set4_filter *filter;
    unsigned step, n;  // addresses; from the second step on those that the filter leaves open, side by side
    uint64_t pass;     // which these are
    uint64_t found;    // bit = address; from the second step on those that the filter knows; complete when it is over
    uint32_t addr[64]; // host order
    uint32_t word[64];
};
void acl_set_walk4(const struct acl_set *s, struct set4_walk *w, const uint32_t *addr_be, unsigned n);
void set4_walk_on(struct set4_walk *w); // a step: the filter, the directory, the nodes, lists

enum set4_kernel { SET4_SCALAR, SET4_AVX512, SET4_VPOPCNT };

struct acl_set_old { // a half that was replaced
    struct set4 *v4;
    struct poptrie *v6;
    uint64_t epoch;
};

struct acl_set {
    struct set4 *v4;    // readers load these two; NULL: no member was ever there
    struct poptrie *v6; // every member has the value 1
    // the writer's own
    size_t max_bytes;
    uint64_t epoch;
    uint64_t ahead6; // how far `epoch` is ahead of v6's
    VEC(struct acl_set_old) old;
};

// set6.c
int set6_change(struct acl_set *s, const struct acl_prefix *del, size_t n_del, const struct acl_prefix *add, size_t n_add, uint64_t *skipped);
void set6_stats(const struct acl_set *s, struct acl_set_stats *out); // adds to *out
size_t set6_need(size_t n);

// set.c
size_t acl_set_bytes(const struct acl_set *s); // of both, readers' and writer's

// --- reader ---

// Which of n addresses are in the set; f: its filter. Kernels for any CPU, AVX-512, AVX-512 with VPOPCNTDQ and CD.
typedef uint64_t set4_find(const struct set4 *s, const struct set4_filter *f, const uint32_t *addr_be, unsigned n);
set4_find set4_find_scalar, set4_find_avx512, set4_find_avx512_vpopcnt;
uint64_t set4_find_few(const struct set4 *s, uint64_t pass, const uint32_t *addr_be); // of those that the filter leaves open, one by one
set4_find *set4_find_of(enum set4_kernel k);                                          // NULL: not on this CPU
// A step of a walk that is not over.
typedef void set4_step(struct set4_walk *w);
set4_step set4_step_scalar, set4_step_avx512_vpopcnt;
set4_step *set4_step_of(enum set4_kernel k); // as set4_find_of
void set4_walk_by(struct set4_walk *w, set4_step *step);

#endif
