// SPDX-License-Identifier: BSD-3-Clause
// shelf_find.h - a burst at its shelves: what the kernels share; they differ in how a block is compared
//
// All shelves are found first, then the packets' other fields are read, then blocks are compared while those of the packets behind come
// into the cache. Where sets, promoted rules or gates have left few packets, these are packed together before Poptries are asked.
#ifndef ACL_SHELF_FIND_H
#define ACL_SHELF_FIND_H

#include "acl/classify.h"
#include "acl/shelf.h"
#include "poptrie/poptrie.h"

#define SHELF_AHEAD 4u
#define SHELF_INLINE static inline __attribute__((always_inline))

struct shelf_asked { // of a side
    uint32_t place[BURST + LANE_COUNT], packet[BURST + LANE_COUNT]; // SHELF_AHEAD places behind the last one name the first block there is
    unsigned n;
};

// Those of the first n that have a place: [i] of index[i].
typedef void shelf_places(const uint32_t *place, const uint32_t *index, unsigned n, struct shelf_asked *a);
// Bit = rule of the block that the packet matches; addr: the one that rows have.
typedef unsigned shelf_match(const lane_row *row, const struct acl_key_l4 *l4, const uint8_t *addr);

SHELF_INLINE void shelf_places_plain(const uint32_t *place, const uint32_t *index, unsigned n, struct shelf_asked *a)
{
    a->n = 0;
    for (unsigned i = 0; i < n; i++) {
        a->place[a->n] = __atomic_load_n(&place[index[i]], __ATOMIC_ACQUIRE); // partner: rule_into
        a->packet[a->n] = i;
        a->n += a->place[a->n] != 0;
    }
}

struct shelf_left { // packets that are asked about: side by side
    unsigned n;
    bool packed; // else they are the burst
    uint8_t at[BURST];
    union {
        uint32_t addr4[BURST];
        uint8_t addr6[BURST][16];
    };
};

SHELF_INLINE void left_of(struct shelf_left *l, const struct burst *b)
{
    l->n = b->n;
    l->packed = (unsigned)__builtin_popcountll(b->left) < b->n - b->n / 4;
    if (!l->packed)
        return;
    l->n = 0;
    for (uint64_t left = b->left; left; left &= left - 1)
        l->at[l->n++] = (uint8_t)__builtin_ctzll(left);
}

SHELF_INLINE const void *left_addresses(struct shelf_left *l, const struct burst *b, unsigned side, uint8_t family)
{
    if (!l->packed)
        return family == ACL_IP4 ? (const void *)b->addr4[side] : b->addr6[side];
    for (unsigned i = 0; i < l->n; i++)
        if (family == ACL_IP4)
            l->addr4[i] = b->addr4[side][l->at[i]];
        else
            memcpy(l->addr6[i], b->addr6[side][l->at[i]], sizeof l->addr6[i]);
    return family == ACL_IP4 ? (const void *)l->addr4 : l->addr6;
}

SHELF_INLINE void find(const struct burst *b, unsigned side, uint8_t family, struct shelf_left *l, struct shelf_asked *a, shelf_places *places)
{
    const struct shelf *s = b->shelf;
    const void *addr = left_addresses(l, b, side, family);
    uint32_t index[BURST];

    if (family == ACL_IP4)
        poptrie_find4_bulk(s->table[side], addr, index, l->n);
    else
        poptrie_find6_bulk(s->table[side], addr, index, l->n);
    places(s->place[side], index, l->n, a);
    for (unsigned k = 0; k < a->n && l->packed; k++)
        a->packet[k] = l->at[a->packet[k]];
    for (unsigned k = 0; k < SHELF_AHEAD; k++)
        a->place[a->n + k] = 0;
}

SHELF_INLINE uint64_t packets_of(const struct shelf_asked *a)
{
    uint64_t which = 0;

    for (unsigned k = 0; k < a->n; k++)
        which |= UINT64_C(1) << a->packet[k];
    return which;
}

SHELF_INLINE uint32_t address4(const uint8_t *addr)
{
    uint32_t v;

    memcpy(&v, addr, sizeof v);
    return v;
}

SHELF_INLINE void prefetch(const uint8_t *block, uint8_t family)
{
    for (unsigned r = 0; r <= LANE_ROWS(LANE_WORDS(family)); r++) // and the first of the names
        __builtin_prefetch(block + r * sizeof(lane_row));
}

// One block of each; those that go on are packed to the front. Without branches: whether a block has the rule is anybody's guess.
SHELF_INLINE unsigned compare(const uint8_t *blocks, const struct acl_key_l4 *l4, const uint8_t *addr, uint64_t *first, uint8_t family,
                              struct shelf_asked *a, shelf_match *match)
{
    const size_t unit = SHELF_UNIT(family);
    unsigned left = 0;

    for (unsigned k = 0; k < a->n; k++) {
        uint32_t place = a->place[k], i = a->packet[k];
        const lane_row *row = (const lane_row *)(blocks + (size_t)(place >> SHELF_BLOCKS_BITS) * unit);

        prefetch(blocks + (size_t)(a->place[k + SHELF_AHEAD] >> SHELF_BLOCKS_BITS) * unit, family);
        unsigned hit = match(row, &l4[i], addr + i * sizeof(uint32_t) * LANE_WORDS(family));
        unsigned lane = (unsigned)__builtin_ctz(hit | 1u << LANE_COUNT) % LANE_COUNT;
        uint64_t none = (uint64_t)(hit != 0) - 1, name = ((const uint64_t *)(row + LANE_ROWS(LANE_WORDS(family))))[lane] | none, have = first[i];

        first[i] = name < have ? name : have;
        a->place[left] = place + (1u << SHELF_BLOCKS_BITS) - 1;
        a->packet[left] = i;
        left += (unsigned)none & ((place & SHELF_BLOCKS) > 1);
    }
    return left;
}

SHELF_INLINE void shelves_ask(struct burst *b, uint8_t family, shelf_places *places, shelf_match *match)
{
    struct shelf_asked a[2];
    struct shelf_left l;
    uint64_t first[BURST]; // number << 32 | slot of the first rule so far

    left_of(&l, b);
    for (unsigned side = 0; side < 2; side++)
        find(b, side, family, &l, &a[side], places);
    if (!a[0].n && !a[1].n)
        return;
    if (b->late)
        l4_read(b, packets_of(&a[0]) | packets_of(&a[1]));
    for (unsigned i = 0; i < b->n; i++)
        first[i] = (uint64_t)b->best[i] << 32 | b->slot[i];
    for (unsigned side = 0; side < 2; side++) {
        const uint8_t *other = family == ACL_IP4 ? (const uint8_t *)b->addr4[!side] : (const uint8_t *)b->addr6[!side];

        while (a[side].n)
            a[side].n = compare(b->shelf->block, b->l4, other, first, family, &a[side], match);
    }
    for (unsigned i = 0; i < b->n; i++) {
        b->best[i] = (uint32_t)(first[i] >> 32);
        b->slot[i] = (uint32_t)first[i];
    }
}

#endif
