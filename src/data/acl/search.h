// SPDX-License-Identifier: BSD-3-Clause
// search.h - candidates under tuples: code shared by classify_plain.c and classify_simd.c
//
// The net bitmap in front, and the comparison of entries with packets.
#ifndef ACL_SEARCH_H
#define ACL_SEARCH_H

#include <string.h>

#include "acl/key_burst.h"

static inline uint32_t tuples_in_use(const struct classifier *c, unsigned n_tuples)
{
    uint32_t used = 0;

    for (unsigned t = 0; t < n_tuples; t++)
        used |= (uint32_t)(__atomic_load_n(&c->tuple[t].rules, __ATOMIC_RELAXED) != 0) << t;
    return used;
}

// Bit = address in a /16 that some rule's prefix touches.
typedef uint64_t bitmap_side(const uint32_t *bits, const uint32_t *addr_be, unsigned n);

// Packets of the burst that the bitmap lets pass.
static inline __attribute__((always_inline)) uint64_t bitmap_match(const struct classifier *c,
                                                                   const struct key_burst *b,
                                                                   uint32_t used, bitmap_side *side)
{
    uint32_t any_src = used & __atomic_load_n(&c->bitmap[SIDE_SRC].always, __ATOMIC_RELAXED);
    uint32_t any_dst = used & __atomic_load_n(&c->bitmap[SIDE_DST].always, __ATOMIC_RELAXED);
    uint64_t in[2] = {0, 0};

    if (!c->bitmap[0].bits || any_src & any_dst)
        return UINT64_MAX;
    if (any_dst || !any_src) // else the destination alone decides
        in[SIDE_SRC] = side(c->bitmap[SIDE_SRC].bits, b->addr4[SIDE_SRC], b->n);
    if (any_src || !any_dst)
        in[SIDE_DST] = side(c->bitmap[SIDE_DST].bits, b->addr4[SIDE_DST], b->n);
    return any_src || any_dst ? in[0] | in[1] : in[0] & in[1];
}

// --- one packet, one entry ---

static inline bool is_member(const struct key_burst *b, unsigned side, uint64_t set, unsigned i)
{
    return b->sets[side] >> set & b->member[side][set] >> i & 1;
}

static inline bool sets_match(const struct key_burst *b, const struct entry_l4 *e, uint64_t src,
                              uint64_t dst, unsigned i)
{
    return (!(e->is & ENTRY_SRC_SET) || is_member(b, SIDE_SRC, src, i)) &&
           (!(e->is & ENTRY_DST_SET) || is_member(b, SIDE_DST, dst, i));
}

static inline bool entry4_matches(const struct key_burst *b, const struct entry4 *e, unsigned i)
{
    uint32_t differ = ((__builtin_bswap32(b->addr4[0][i]) ^ e->addr[0]) & mask4(e->l4.len[0])) |
                      ((__builtin_bswap32(b->addr4[1][i]) ^ e->addr[1]) & mask4(e->l4.len[1])) |
                      entry_l4_differs(&e->l4, &b->l4[i]);

    bool match = !differ;

    if (__builtin_expect(e->l4.is & (ENTRY_SRC_SET | ENTRY_DST_SET), 0))
        match &= sets_match(b, &e->l4, e->addr[0], e->addr[1], i);
    return match;
}

static inline uint64_t differ6(const uint8_t addr[16], const uint64_t want[2], unsigned len)
{
    uint64_t a[2];

    memcpy(a, addr, sizeof a);
    return ((__builtin_bswap64(a[0]) ^ want[0]) & mask6(len, 0)) |
           ((__builtin_bswap64(a[1]) ^ want[1]) & mask6(len, 1));
}

static inline bool entry6_matches(const struct key_burst *b, const struct entry6 *e, unsigned i)
{
    uint64_t differ = differ6(b->addr6[0][i], e->addr[0], e->l4.len[0]) |
                      differ6(b->addr6[1][i], e->addr[1], e->l4.len[1]) |
                      entry_l4_differs(&e->l4, &b->l4[i]);

    bool match = !differ;

    if (__builtin_expect(e->l4.is & (ENTRY_SRC_SET | ENTRY_DST_SET), 0))
        match &= sets_match(b, &e->l4, e->addr[0][0], e->addr[1][0], i);
    return match;
}

// --- candidates ---

// Applies the entry's result; true: check the next entry of the block.
static inline bool entry_apply(struct key_burst *b, const struct entry_l4 *e, bool match,
                               unsigned i)
{
    uint32_t best = b->best[i], slot = b->slot[i];
    bool before = e->number < best;

    match &= before;
    b->best[i] = match ? e->number : best;
    b->slot[i] = match ? e->slot : slot;
    return !match & before & !(e->is & ENTRY_LAST);
}

// Compares one entry of each block; candidates with more entries are packed to the front.
static inline unsigned search4(struct key_burst *b, const struct classifier *c, unsigned n)
{
    const struct entry4 *block = (const struct entry4 *)c->block;
    unsigned left = 0;

    for (unsigned j = 0; j < n; j++) {
        uint32_t ref = b->key[j], i = b->packet[j];
        bool more = entry_apply(b, &block[ref].l4, entry4_matches(b, &block[ref], i), i);

        b->key[left] = ref + 1;
        b->packet[left] = i;
        left += more;
    }
    return left;
}

static inline unsigned search6(struct key_burst *b, const struct classifier *c, unsigned n)
{
    const struct entry6 *block = (const struct entry6 *)c->block;
    unsigned left = 0;

    for (unsigned j = 0; j < n; j++) {
        uint32_t ref = b->key[j], i = b->packet[j];
        bool more = entry_apply(b, &block[ref].l4, entry6_matches(b, &block[ref], i), i);

        b->key[left] = ref + 1;
        b->packet[left] = i;
        left += more;
    }
    return left;
}

// Reads the heads of the candidates found so far and prefetches their blocks. Returns their number;
// b->key then holds entries, as search4 and search6 expect.
static inline unsigned candidates_to_blocks(struct key_burst *b, const struct classifier *c)
{
    unsigned n = 0;

    for (unsigned i = 0; i < b->n_candidates; i++) {
        // partner: classifier_change.c head_publish
        uint32_t ref = __atomic_load_n(head_of(c, b->key[i]), __ATOMIC_ACQUIRE);

        __builtin_prefetch(c->block + ref * entry_bytes(c));
        b->key[n] = ref;
        b->packet[n] = b->packet[i];
        n += ref != 0;
    }
    b->n_candidates = 0;
    return n;
}

// Compares the candidates found so far: first all heads, then all blocks, so that no load waits for
// another packet's.
static inline void candidates_search(struct key_burst *b, const struct classifier *c)
{
    unsigned n = candidates_to_blocks(b, c);

    while (n)
        n = c->family == ACL_IP4 ? search4(b, c, n) : search6(b, c, n);
}

#endif
