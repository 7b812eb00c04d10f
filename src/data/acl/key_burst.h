// SPDX-License-Identifier: BSD-3-Clause
// key_burst.h - up to 64 keys on their way through a classifier, and the function table of a kernel
//
// classify.c fills it and calls the steps; best[] and slot[] hold the first match so far. Lives on
// the reader's stack.
#ifndef ACL_KEY_BURST_H
#define ACL_KEY_BURST_H

#include "acl/classifier.h"
#include "acl/set4_find.h"

#define KEY_BURST 64u
#define CANDIDATES_MAX 512u // searched together

struct lane_rules;
struct key_burst {
    union { // by side, network order
        const uint32_t *addr4[2];
        const uint8_t (*addr6[2])[16];
    };
    struct acl_key_l4 l4[KEY_BURST];
    uint8_t *const *ip;            // headers, to read l4 on demand; NULL: l4 is filled
    const struct classifier *late; // acl_late_end's; NULL: it has nothing to do
    uint32_t *slot;
    unsigned n, n_tuples;
    bool tuples;                    // some rule is under a tuple
    const struct lane_rules *lanes; // used instead of tuples; NULL: none
    uint64_t left;                  // packets that rules under tuples may still decide
    bool walks;                     // a set lookup is in progress
    bool ahead;                     // the caller works while that lookup waits for memory
    uint8_t walk_side, walk_set;
    struct set4_walk walk;
    uint32_t best[KEY_BURST];         // number of the first match so far
    uint64_t sets[2];                 // sets whose members are known
    uint64_t member[2][ACL_SETS_MAX]; // by set: bit = packet
    unsigned n_candidates;
    // candidates: key, later the index of an entry; and the packet
    uint32_t key[CANDIDATES_MAX + KEY_BURST + 16];
    uint32_t packet[CANDIDATES_MAX + KEY_BURST + 16];
};

// begin: expects addresses, `tuples`, `ahead`, and `ip` or l4. Applies prefix rules and set
// rules; b->left has the packets that other rules may still decide. end: completes a set lookup
// that is in progress.
void key_burst_begin(struct key_burst *b, const struct classifier *c, uint32_t *slot, unsigned n);
void key_burst_end(struct key_burst *b, const struct classifier *c);
// Advances the current set lookup by one step, between two pieces of other work.
void key_burst_walk(struct key_burst *b);
// Advances it to its longest wait. Returns false if it need not wait.
bool key_burst_waits(struct key_burst *b);
void key_burst_read_headers(struct key_burst *b, uint64_t which);

static inline uint64_t low_bits(unsigned n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

// Call before using any field but the addresses of these packets.
static inline void key_burst_read_l4(struct key_burst *b, uint64_t which)
{
    if (b->ip)
        key_burst_read_headers(b, which);
}

// --- kernels ---

struct acl_kernel {
    const char *name;
    // l4 may be NULL
    void (*part4)(const struct acl_key4 *key, unsigned n, uint32_t src[KEY_BURST],
                  uint32_t dst[KEY_BURST], struct acl_key_l4 *l4);
    // rules under tuples, for b->left
    void (*classify4)(const struct classifier *c, struct key_burst *b);
    void (*classify6)(const struct classifier *c, struct key_burst *b);
    // instead of tuples: a whole bucket of lanes, NULL: it does not pay; buckets by prefix
    void (*lanes_all)(const struct classifier *c, struct key_burst *b);
    void (*lanes_near)(const struct classifier *c, struct key_burst *b);
};
extern const struct acl_kernel acl_kernel_scalar;
#ifdef ACL_X86
extern const struct acl_kernel acl_kernel_avx512, acl_kernel_avx2;
// lane_rules_simd.c
void lane_rules_all_avx512(const struct classifier *c, struct key_burst *b);
void lane_rules_all_avx2(const struct classifier *c, struct key_burst *b);
void lane_rules_near_avx512(const struct classifier *c, struct key_burst *b);
void lane_rules_near_avx2(const struct classifier *c, struct key_burst *b);
#endif
void lane_rules_near_plain(const struct classifier *c, struct key_burst *b);

#endif
