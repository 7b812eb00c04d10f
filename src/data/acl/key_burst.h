// SPDX-License-Identifier: BSD-3-Clause
// key_burst.h - a burst on its way, and what a kernel is
#ifndef ACL_KEY_BURST_H
#define ACL_KEY_BURST_H

#include "acl/classifier.h"
#include "acl/set4_find.h"

#define BURST 64u
#define FOUND_MAX 512u // candidates of a burst that are looked at together

struct shelf;
struct burst {
    union { // by side, network order
        const uint32_t *addr4[2];
        const uint8_t (*addr6[2])[16];
    };
    struct acl_key_l4 l4[BURST];
    const struct acl_late *late; // who reads them; NULL: they are there
    uint32_t *slot;
    unsigned n, n_tuples;
    bool tuples; // some rule is under one
    const struct shelf *shelf; // asked instead of tuples; NULL: none
    uint64_t left; // whom rules under tuples may still decide
    bool walks;    // one set's members are still looked for
    bool meanwhile; // and late->meanwhile is to be called when it waits
    uint8_t walk_side, walk_set;
    struct set4_walk walk;
    uint32_t best[BURST]; // number of the best rule so far
    uint64_t sets[2]; // whose members are known
    uint64_t member[2][ACL_SETS_MAX]; // of a set: bit = packet
    unsigned n_found;
    uint32_t key[FOUND_MAX + BURST + 16]; // candidates: what their block hangs by, and the packet
    uint32_t packet[FOUND_MAX + BURST + 16];
};

// Of b's addresses, tuples, late, and l4 if there are any: what address sets and promoted rules
// decide before rules under tuples are asked, if b->left and b->tuples say so; and what was still
// looked for meanwhile.
void burst_begin(struct burst *b, const struct core *c, uint32_t *slot, unsigned n);
void burst_end(struct burst *b, const struct core *c);
// Between two pieces of work on a burst: the set that is still looked for gets one step further.
void burst_walk(struct burst *b);

// Before anything but addresses is looked at of these packets.
static inline void l4_read(struct burst *b, uint64_t which)
{
    if (b->late)
        b->late->read(b->late->ctx, which, b->l4);
}

// --- kernels ---

struct acl_kernel {
    const char *name;
    void (*part4)(const struct acl_key4 *key, unsigned n, uint32_t src[BURST], uint32_t dst[BURST],
                  struct acl_key_l4 *l4);                     // l4 NULL: not wanted
    void (*classify4)(const struct core *c, struct burst *b); // rules under tuples, for b->left
    void (*classify6)(const struct core *c, struct burst *b);
    void (*few)(const struct core *c, struct burst *b,
                unsigned blocks); // instead of them, of few rules; NULL: it does not pay
    void (*shelf)(const struct core *c, struct burst *b); // instead of them, b->shelf
};
extern const struct acl_kernel acl_kernel_scalar;
#ifdef ACL_X86
extern const struct acl_kernel acl_kernel_avx512, acl_kernel_avx2;
void few_avx512(const struct core *c, struct burst *b, unsigned blocks); // linear_match_simd.c
void few_avx2(const struct core *c, struct burst *b, unsigned blocks);
void shelf_avx512(const struct core *c, struct burst *b); // address_bucket_simd.c
void shelf_avx2(const struct core *c, struct burst *b);
#endif
void shelf_plain(const struct core *c, struct burst *b);

#endif
