// SPDX-License-Identifier: BSD-3-Clause
// set4.h - the IPv4 half of an address set: a filter, then a trie of two levels
//
//     filter   a word for each /17 (512 KiB; /15 or /12 in small sets, /19 in very large ones):
//              "all of it is in the set", or three bits, by a hash, for each /24 (/22, /19 in
//              small sets) that has a member. Most addresses end here after one read
//     dir      a word for each /17: "all of it is in the set", or a node
//     node     which of its 128 /24s are completely in the set, and which have longer members; a
//              word for each of the latter
//     leaf     the members of 25..32 bits in a /24: up to three in the node's word itself, up to
//              16 in a list, else a bitmap
//
// A code stands for a prefix inside 25..32, 17..24 or 0..16 bits: its k bits with a 1 in front. The
// readers' structure holds every member exactly, so the writer needs no copy, except for members of
// 0..16 bits (`top`).
//
// Invariant: nodes and leaves never change. A change makes new ones, and one store into the
// directory puts all of a /17 in force; replaced ones stay readable until set4_reclaim. The
// filter's word is stored after the directory's, so a reader sees each address old or new.
#ifndef ACL_SET4_H
#define ACL_SET4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"
#include "poptrie/pool.h"

#define SET4_DIR (1u << 17)
#define SET4_ALL 0x80000000u    // of a directory word: a member of 0..16 bits covers it
#define SET4_SHORTS 0x40000000u // the node has members of 17..24 bits
#define SET4_REF 0x07ffffffu    // location of node or list, in the pool's units
#define SET4_LIST 0x80000000u   // of a child's word: a list or bitmap, not the members themselves
#define SET4_KIND_SHIFT 27
#define SET4_KIND 15u

enum set4_kind { SET4_LIST8, SET4_LIST16, SET4_BITS };

#define SET4_WHOLE 1u // of a filter's word: all of it is in the set. No hash gives a single bit
#define SET4_ITEMS 128u
// gives each item two or three bits, distinct from every other item's; each bit belongs to 11 to 13
// items
#define SET4_HASH 0x9020fe79u

struct set4_filter {
    uint32_t *word;
    uint32_t shift;      // an address's word is its number >> shift
    uint32_t item_shift; // its item is the 7 lowest bits of its number >> item_shift
};

struct set4_node { // followed by a word for each bit of `longs`
    uint32_t longs[4];
    uint8_t below[4]; // number of child words before longs[i]'s
};
struct set4_shorts { // the same with members of 17..24 bits
    uint32_t longs[4];
    uint8_t below[4];
    uint32_t all[4];
    uint32_t code[8]; // bit c: the member of code c
};

struct set4_pending {
    uint32_t slot, word;
    int64_t more; // members
};
struct set4_garbage {
    uint64_t epoch;
    uint32_t ref;
};

struct set4 {
    const struct set4_filter *filter; // readers use these three, by acquire loads
    uint32_t *dir;
    uint8_t *arena;
    // the writer's own
    struct pool pool;
    size_t mapped_bytes, max_bytes;
    uint64_t members, used; // used: /24s that are not empty, without ones that SET4_ALL covers
    uint64_t top[SET4_DIR / 64]; // bit c: the member of 0..16 bits of code c
    VEC(struct set4_garbage) garbage;
    VEC(uint32_t) fresh, dead; // of the current change
    VEC(struct set4_pending) pending;
    uint64_t skipped;
    struct set4_filter *old_filter;
    uint64_t old_filter_epoch;
};

struct set4_change { // sorted by `set4_sort`: addr, length, removals first
    uint32_t addr;
    uint8_t len;
    bool add;
};

// max_bytes: 0 = no limit. NULL with errno. `expected`: members, to choose the size of pages.
struct set4 *set4_new(size_t max_bytes, size_t expected);
void set4_free(struct set4 *s);
void set4_sort(struct set4_change *c, size_t n);
// A change in two steps. prepare: 0, or -ENOSPC; invisible to readers. Then commit, which cannot
// fail, or abandon. *skipped grows by additions of members and deletions of non-members.
int set4_prepare(struct set4 *s, const struct set4_change *c, size_t n);
void set4_commit(struct set4 *s, const struct set4_change *c, size_t n, uint64_t epoch,
                 uint64_t *skipped);
void set4_abandon(struct set4 *s);
bool set4_has(const struct set4 *s, uint32_t addr, unsigned len);
int set4_walk(const struct set4 *s, int (*fn)(void *ctx, uint32_t addr, unsigned len), void *ctx);
void set4_reclaim(struct set4 *s, uint64_t epoch);
size_t set4_bytes(const struct set4 *s);
size_t set4_writer_bytes(const struct set4 *s);

// --- set4_leaf.c: the members of 25..32 bits in one /24 ---
struct set4_leaf {
    uint64_t code[8]; // bit c: the member of code c, 2..511
};
void set4_leaf_read(const struct set4 *s, uint32_t word, struct set4_leaf *l);
// false: no room. *word 0: no members
bool set4_leaf_write(struct set4 *s, const struct set4_leaf *l, uint32_t *word);
void set4_leaf_retire(struct set4 *s, uint32_t word);

// --- set4_filter.c ---
// replaces the filter by a finer one of at most `room` bytes, if there are many members
bool set4_filter_fit(struct set4 *s, size_t room, uint64_t epoch);
// from the directory, for the /17s [from, to)
void set4_filter_store(struct set4 *s, unsigned from, unsigned to);
// /24s of a /17 with members: a bit for each; returns how many
unsigned set4_used(const struct set4 *s, unsigned slot, uint64_t used[2]);
void set4_filter_free(struct set4_filter *f);
size_t set4_filter_bytes(const struct set4_filter *f);

static inline void *set4_at(const struct set4 *s, uint32_t word)
{
    return s->arena + (size_t)(word & SET4_REF) * POOL_UNIT;
}

static inline uint32_t *set4_children(const struct set4 *s, uint32_t word)
{
    return (uint32_t *)((uint8_t *)set4_at(s, word) + (word & SET4_SHORTS
                                                           ? sizeof(struct set4_shorts)
                                                           : sizeof(struct set4_node)));
}

static inline bool set4_bit(const uint64_t *bits, unsigned i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

// --- reader: the filter ---

extern const uint32_t set4_item[SET4_ITEMS]; // bits of each item

static inline uint32_t set4_item_of(const struct set4_filter *f, uint32_t addr)
{
    return set4_item[addr >> f->item_shift & (SET4_ITEMS - 1)];
}

static inline uint32_t set4_filter_word(const struct set4_filter *f, uint32_t addr)
{
    // partner: word_store in set4_filter.c
    return __atomic_load_n(&f->word[addr >> f->shift], __ATOMIC_ACQUIRE);
}

// --- reader: behind the filter. No branches on the result, which would be unpredictable ---

static inline uint32_t set4_word(const struct set4 *s, uint32_t addr)
{
    // partner: slot_store in set4_change.c
    return __atomic_load_n(&s->dir[addr >> 15], __ATOMIC_ACQUIRE);
}

#define SET4_YES 0xffffffffu // never a child's word: its kind does not exist

// An address's answer from its directory word: 0 = not in the set, SET4_YES, or a leaf's word. A
// word without a node leads to the pool's first unit, which is unused and empty.
static inline uint32_t set4_child(const struct set4 *s, uint32_t word, uint32_t addr)
{
    static const uint32_t nothing[1];
    unsigned at = addr >> 8 & 127, quarter = at / 32;
    const struct set4_shorts *n = set4_at(s, word);
    const uint32_t *all = word & SET4_SHORTS ? &n->all[quarter] : nothing;
    uint32_t longs = n->longs[quarter], before = longs & ((1u << at % 32) - 1);
    const uint32_t *child = set4_children(s, word) + n->below[quarter] + __builtin_popcount(before);

    child = longs >> at % 32 & 1 ? child : nothing;
    return *child | -(*all >> at % 32 & 1) | -(word >> 31); // SET4_ALL
}

// Prefetches a node: its first line and, if it has one, its second.
static inline void set4_node_fetch(const struct set4 *s, uint32_t word)
{
    const uint8_t *n = set4_at(s, word);

    __builtin_prefetch(n);
    __builtin_prefetch(n + 40);
}

typedef uint16_t set4_v8 __attribute__((vector_size(16), may_alias, aligned(8)));

// A list holds last octets, each with the mask of its length in the upper byte.
static inline bool set4_list_has(const set4_v8 *list, unsigned vectors, uint8_t octet)
{
    set4_v8 hit = (set4_v8){0};

    for (unsigned i = 0; i < vectors; i++)
        hit |= (set4_v8)(((list[i] ^ octet) & (list[i] >> 8)) == 0);
    uint64_t any[2];
    memcpy(any, &hit, sizeof any);
    return any[0] | any[1];
}

static inline bool set4_bits_have(const uint64_t *code, unsigned c) // c: of the whole address
{
    bool hit = false;

    for (; c > 1; c >>= 1)
        hit |= set4_bit(code, c);
    return hit;
}

static inline bool set4_leaf_has(const struct set4 *s, uint32_t word, uint32_t addr)
{
    unsigned host = 256 | (addr & 255);

    bool hit = word == SET4_YES;

    if (word & SET4_LIST && !hit) {
        enum set4_kind kind = word >> SET4_KIND_SHIFT & SET4_KIND;
        return kind == SET4_BITS ? set4_bits_have(set4_at(s, word), host)
                                 : set4_list_has(set4_at(s, word), kind + 1, (uint8_t)addr);
    }
    for (unsigned i = 0; i < 3;
         i++, word >>= 9) { // no branch: a code of 0 is no prefix of anything
        unsigned code = word & 511;
        hit |= host >> (__builtin_clz(code | 1) - 23) == code;
    }
    return hit;
}

#endif
