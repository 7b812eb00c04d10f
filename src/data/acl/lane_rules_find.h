// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_find.h - compares a burst with its buckets by prefix: code shared by the kernels,
// which differ in how they compare a block
//
// First it finds all buckets, by loads or by gathers, then it reads the packets' other fields, then
// it compares blocks while the blocks of later packets are prefetched.
//
// A bucket is found by the longest prefix around the address. Each side has a flat table of them:
// 65,536 words by the first 16 bits of an address, then chunks of 256 words by the next 8 and the
// last 8. A word is a prefix's number or leads to a chunk. Lists have some thousand prefixes, which
// cluster, so few lines are read. It takes three loads without branches for a host; a Poptrie, far
// smaller for a full table, needs five.
#ifndef ACL_LANE_RULES_FIND_H
#define ACL_LANE_RULES_FIND_H

#include <string.h>

#include "acl/key_burst.h"
#include "acl/lane_rules.h"

#define NET_FIRST 65536u // words by the first 16 bits
#define NET_CHUNK 256u
#define NET_DEEP 0x8000u // plus the number of a chunk
#define NET_MOST 0x7fffu // prefixes; chunks
#define BUCKET_AHEAD 4u
#define BUCKET_INLINE static inline __attribute__((always_inline))

struct bucket_queue { // of a side
    // the next BUCKET_AHEAD places refer to block 0
    uint32_t place[KEY_BURST + LANE_COUNT], packet[KEY_BURST + LANE_COUNT];
    unsigned n;
};

// Finds the places of the packets left, of both sides.
typedef void bucket_places(const struct key_burst *b, struct bucket_queue a[2]);
// Bit = rule of the block that matches the packet; addr: the address that the rows contain.
typedef unsigned bucket_match(const lane_row *row, const struct acl_key_l4 *l4, uint32_t addr);

struct packets_left { // packets to process
    unsigned n;
    uint8_t at[KEY_BURST];
};

BUCKET_INLINE void packets_left_of(struct packets_left *l, const struct key_burst *b)
{
    l->n = 0;
    for (unsigned i = 0; i < b->n; i++) {
        l->at[l->n] = (uint8_t)i;
        l->n += b->left >> i & 1;
    }
}

BUCKET_INLINE const uint16_t *net_chunk(const uint16_t *words, uint32_t word) // NET_DEEP is set
{
    return words + NET_FIRST + (word & (NET_DEEP - 1)) * NET_CHUNK;
}

// The number of the longest prefix around each address: first all words by 16 bits, then the
// chunks behind them, which are prefetched meanwhile. For words without a chunk the first one is
// prefetched: a line that is always the same costs little.
BUCKET_INLINE void net_numbers(const uint16_t *word, const uint32_t *addr_be,
                               const struct packets_left *l, uint32_t *number)
{
    uint32_t addr[KEY_BURST], deep[KEY_BURST];
    unsigned n = 0;

    for (unsigned k = 0; k < l->n; k++) {
        uint32_t a = __builtin_bswap32(addr_be[l->at[k]]), w = word[a >> 16];

        addr[k] = a;
        number[k] = w;
        deep[n] = k;
        n += w >= NET_DEEP;
        __builtin_prefetch(&net_chunk(word, w & -(w >> 15))[a >> 8 & (NET_CHUNK - 1)]);
    }
    for (int shift = 8; shift >= 0 && n; shift -= 8) {
        unsigned deeper = 0;

        for (unsigned j = 0; j < n; j++) {
            uint32_t k = deep[j],
                     w = net_chunk(word, number[k])[addr[k] >> shift & (NET_CHUNK - 1)];

            number[k] = w;
            deep[deeper] = k;
            deeper += w >= NET_DEEP;
            __builtin_prefetch(&net_chunk(word, w & -(w >> 15))[addr[k] & (NET_CHUNK - 1)]);
        }
        n = deeper;
    }
}

BUCKET_INLINE void bucket_places_plain(const struct key_burst *b, struct bucket_queue a[2])
{
    uint32_t number[KEY_BURST];
    struct packets_left l;

    packets_left_of(&l, b);
    for (unsigned side = 0; side < 2; side++) {
        const uint32_t *place = b->lanes->place[side];

        net_numbers(b->lanes->net[side], b->addr4[side], &l, number);
        a[side].n = 0;
        for (unsigned k = 0; k < l.n; k++) {
            uint32_t *at = &a[side].place[a[side].n];

            *at = place[number[k]];
            a[side].packet[a[side].n] = l.at[k];
            a[side].n += *at != 0;
        }
    }
}

BUCKET_INLINE uint64_t queue_packets(const struct bucket_queue *a)
{
    uint64_t which = 0;

    for (unsigned k = 0; k < a->n; k++)
        which |= UINT64_C(1) << a->packet[k];
    return which;
}

BUCKET_INLINE const lane_row *place_block(const struct lane_rules *s, uint32_t place)
{
    return (const lane_row *)(s->block + (place >> BUCKET_BLOCKS_BITS) * BUCKET_UNIT);
}

BUCKET_INLINE void block_prefetch(const lane_row *row)
{
    for (unsigned r = 0; r <= LANE_ROWS(BUCKET_WORDS); r++) // and the first line of names
        __builtin_prefetch(row + r);
}

// Compares one block for each packet; packets with more blocks are packed to the front. No
// branches: whether a block has the rule is unpredictable.
BUCKET_INLINE unsigned blocks_compare(const struct lane_rules *s, const struct acl_key_l4 *l4,
                                      const uint32_t *addr, uint64_t *first, struct bucket_queue *a,
                                      bucket_match *match)
{
    unsigned left = 0;

    for (unsigned k = 0; k < a->n; k++) {
        uint32_t place = a->place[k], i = a->packet[k];
        const lane_row *row = place_block(s, place);

        block_prefetch(place_block(s, a->place[k + BUCKET_AHEAD]));
        unsigned hit = match(row, &l4[i], addr[i]);
        unsigned lane = (unsigned)__builtin_ctz(hit | 1u << LANE_COUNT) % LANE_COUNT;
        uint64_t none = (uint64_t)(hit != 0) - 1,
                 name = ((const uint64_t *)(row + LANE_ROWS(BUCKET_WORDS)))[lane] | none,
                 have = first[i];

        first[i] = name < have ? name : have;
        a->place[left] = place + (1u << BUCKET_BLOCKS_BITS) - 1;
        a->packet[left] = i;
        left += (unsigned)none & ((place & BUCKET_BLOCKS) > 1);
    }
    return left;
}

BUCKET_INLINE void buckets_match(struct key_burst *b, bucket_places *places, bucket_match *match)
{
    struct bucket_queue a[2];
    uint64_t first[KEY_BURST]; // number << 32 | slot of the first match so far

    places(b, a);
    for (unsigned side = 0; side < 2; side++)
        memset(a[side].place + a[side].n, 0, BUCKET_AHEAD * sizeof *a->place);
    if (!a[0].n && !a[1].n)
        return;
    if (b->ip)
        key_burst_read_l4(b, queue_packets(&a[0]) | queue_packets(&a[1]));
    for (unsigned i = 0; i < b->n; i++)
        first[i] = (uint64_t)b->best[i] << 32 | b->slot[i];
    for (unsigned side = 0; side < 2; side++)
        while (a[side].n)
            a[side].n = blocks_compare(b->lanes, b->l4, b->addr4[!side], first, &a[side], match);
    for (unsigned i = 0; i < b->n; i++) {
        b->best[i] = (uint32_t)(first[i] >> 32);
        b->slot[i] = (uint32_t)first[i];
    }
}

#endif
