// SPDX-License-Identifier: BSD-3-Clause
// key_burst.h - a burst on its way, and what a kernel is
#ifndef ACL_KEY_BURST_H
#define ACL_KEY_BURST_H

#include "acl/classifier.h"
#include "acl/set4_find.h"

#define KEY_BURST 64u
#define CANDIDATES_MAX 512u // candidates of a burst that are looked at together

struct address_buckets;
struct key_burst {
    union { // by side, network order
        const uint32_t *addr4[2];
        const uint8_t (*addr6[2])[16];
    };
    struct acl_key_l4 l4[KEY_BURST];
    const struct acl_late *late; // who reads them; NULL: they are there
    uint32_t *slot;
    unsigned n, n_tuples;
    bool tuples;                           // some rule is under one
    const struct address_buckets *buckets; // asked instead of tuples; NULL: none
    uint64_t left;                         // whom rules under tuples may still decide
    bool walks;                            // one set's members are still looked for
    bool meanwhile;                        // and late->meanwhile is to be called when it waits
    uint8_t walk_side, walk_set;
    struct set4_walk walk;
    uint32_t best[KEY_BURST];         // number of the best rule so far
    uint64_t sets[2];                 // whose members are known
    uint64_t member[2][ACL_SETS_MAX]; // of a set: bit = packet
    unsigned n_candidates;
    // candidates: what their block hangs by, and the packet
    uint32_t key[CANDIDATES_MAX + KEY_BURST + 16];
    uint32_t packet[CANDIDATES_MAX + KEY_BURST + 16];
};

// Of b's addresses, tuples, late, and l4 if there are any: what address sets and prefix rules
// decide before rules under tuples are asked, if b->left and b->tuples say so; and what was still
// looked for meanwhile.
void key_burst_begin(struct key_burst *b, const struct classifier *c, uint32_t *slot, unsigned n);
void key_burst_end(struct key_burst *b, const struct classifier *c);
// Between two pieces of work on a burst: the set that is still looked for gets one step further.
void key_burst_walk(struct key_burst *b);

// Before anything but addresses is looked at of these packets.
static inline void key_burst_read_l4(struct key_burst *b, uint64_t which)
{
    if (b->late)
        b->late->read(b->late->ctx, which, b->l4);
}

// --- kernels ---

struct acl_kernel {
    const char *name;
    // l4 NULL: not wanted
    void (*part4)(const struct acl_key4 *key, unsigned n, uint32_t src[KEY_BURST],
                  uint32_t dst[KEY_BURST], struct acl_key_l4 *l4);
    // rules under tuples, for b->left
    void (*classify4)(const struct classifier *c, struct key_burst *b);
    void (*classify6)(const struct classifier *c, struct key_burst *b);
    // instead of them, of few rules; NULL: it does not pay
    void (*linear)(const struct classifier *c, struct key_burst *b, unsigned blocks);
    void (*buckets)(const struct classifier *c, struct key_burst *b); // instead of them, b->bucket
};
extern const struct acl_kernel acl_kernel_scalar;
#ifdef ACL_X86
extern const struct acl_kernel acl_kernel_avx512, acl_kernel_avx2;
// linear_match_simd.c
void linear_match_avx512(const struct classifier *c, struct key_burst *b, unsigned blocks);
void linear_match_avx2(const struct classifier *c, struct key_burst *b, unsigned blocks);
// address_bucket_simd.c
void address_buckets_avx512(const struct classifier *c, struct key_burst *b);
void address_buckets_avx2(const struct classifier *c, struct key_burst *b);
#endif
void address_buckets_plain(const struct classifier *c, struct key_burst *b);

#endif
