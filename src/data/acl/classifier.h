// SPDX-License-Identifier: BSD-3-Clause
// classifier.h - the rules of one family as readers see them: a tuple space in hash tables
//
// Written by the list's writer, read by any thread. acl.h describes its place among the other
// steps. A tuple is a mask: a number of bits of the source and of the destination, and possibly
// protocol and destination port; a side may have an address set instead of a prefix. Each rule is
// under one tuple, whose mask contains only bits that the rule compares. A packet's candidates
// under a tuple are the rules with the packet's masked key.
//
//     digest        each side, cut to each length in use and mixed with a secret: 32 bits. A key is
//                   the XOR of two digests and its tuple's salt: n lengths a side make n * n keys
//                   from 2n digests
//     net bitmap    prefilter, IPv4: a bit for each /16 of a side that some rule's prefix touches
//     tuple index   prefilter: maps the first bits of a side to the tuples of matching rules
//     side filter   prefilter, if there are too many addresses for an index (blocklists): the first
//                   bits of a side as keys of the filter, for all tuples at once
//     filter        three bits in a 32-bit word for each key of a rule. Small enough to stay near
//                   the core; nearly every other key ends here
//     head          a hash table of 32-bit words: the key's block
//     block         all rules whose keys share a head, sorted by number, each complete (32 bytes,
//                   IPv6 64). Hashes only find candidates; the comparison decides. A collision
//                   costs time, but never gives a wrong answer
//
// Invariant: blocks never change, except that a deletion without room for a shorter block marks its
// entry dead. The writer makes a new block aside, stores its head (release; partner: the acquire in
// search.h) and retires the old one for a grace period. Then it sets filter bits, which only a new
// classifier clears. Tuples are appended; readers load their number once a burst.
#ifndef ACL_CLASSIFIER_H
#define ACL_CLASSIFIER_H

#include "acl/acl.h"
#include "acl/arena.h"
#include "acl/entry_l4.h"
#include "acl/prefix_rules.h"
#include "acl/rule.h"
#include "base/vec.h"

#define TUPLES_MAX 32u // one bit each in tuple indexes
#define LEVELS_MAX 16u // prefix lengths of a side
#define SIDE_FILTERS_MAX 4u
#define INDEX_NONE 0xffu
#define SET_RULES_MAX 16u        // further ones go under tuples
#define PLACE_SET_RULE 0xfeu     // in place of a tuple's number
#define PLACE_PREFIX_TABLE 0x80u // plus the number of the table

enum side_index { SIDE_SRC, SIDE_DST };

struct entry4 {
    uint32_t addr[2]; // host order
    struct entry_l4 l4;
};
struct entry6 {
    uint64_t addr[2][2]; // host order, high half first
    struct entry_l4 l4;
    uint64_t unused;
};
_Static_assert(sizeof(struct entry4) == 32 && sizeof(struct entry6) == 64,
               "entries fill cache lines");

struct tuple {
    uint8_t level[2];       // index into classifier.len
    uint8_t set[2];         // instead of a prefix (then level is that of length 0); INDEX_NONE
    uint8_t side_filter[2]; // INDEX_NONE
    bool port;              // the key has protocol and destination port
    uint32_t salt;
    uint32_t rules; // 0: readers skip it
};

struct side_filter {
    uint8_t side, level;
    uint32_t salt;
};

struct tuple_index {
    uint8_t level;   // INDEX_NONE: all tuples pass
    uint8_t shift;   // 32 - log2 of the words
    uint32_t always; // tuples with shorter prefixes or sets
    uint32_t *tuples;
};
#define INDEX_SPREAD 8u // a prefix up to so many bits shorter is in every word that it covers

struct net_bitmap {
    uint32_t *bits;  // for each /16; NULL: IPv6, few rules, or most packets would pass
    uint32_t always; // tuples with prefixes that are too short, or with sets
};
#define BITMAP_LEN 16u
#define BITMAP_WORDS ((1u << BITMAP_LEN) / 32)

struct set_rule {    // checks address sets only
    uint32_t number; // UINT32_MAX: deleted
    uint32_t slot;
    uint8_t set[2]; // INDEX_NONE: any address
};

struct classifier_garbage { // waits for a grace period
    uint64_t epoch;
    uint32_t ref, n;      // block; or index
    uint8_t prefix_table; // if not INDEX_NONE: an index of this prefix table, not a block
};

struct classifier {
    // readers
    uint8_t family, n_side_filters;
    bool ports;                              // some tuple's key has ports
    uint8_t n_levels[2], len[2][LEVELS_MAX]; // lengths are appended
    uint64_t secret[2][2];
    uint32_t n_tuples; // stored last (release)
    struct tuple tuple[TUPLES_MAX];
    struct side_filter side_filter[SIDE_FILTERS_MAX];
    struct tuple_index tuple_index[2];
    struct net_bitmap bitmap[2];
    uint64_t sets[2];          // address sets named by rules under tuples
    uint32_t in_tuples;        // number of rules
    uint32_t least;            // lowest number of a rule under a tuple
    uint32_t n_set_rules;      // sorted by number; later only deletions
    uint64_t set_rule_sets[2]; // sets that these rules name
    struct set_rule set_rule[SET_RULES_MAX];
    uint8_t n_prefix_tables;
    struct prefix_rules *prefix_table[PREFIX_TABLES_MAX];
    struct acl_set *const *set;
    struct lane_rules *lanes; // lane_rules.h; NULL: readers use tuples
    uint32_t *filter, *head;
    uint8_t *block;
    unsigned filter_shift, head_shift; // 32 - log2 of the words
    // writer
    struct arena arena;
    VEC(struct classifier_garbage) garbage;
    size_t bytes;                 // total, including this struct
    uint32_t rules;               // including set rules and prefix rules
    uint32_t room;                // rules that fit under tuples
    uint32_t deleted;             // rules whose filter bits are still set
    uint64_t side_filter_keys;    // estimate; the filter has room for these, too
    uint64_t epoch;               // when it was retired
    uint64_t changed;             // epoch of the last change
    struct lane_rules *old_lanes; // that readers may still see, newest first
    bool lanes_due;               // rules have changed, or may fit into lanes now: build them
    uint32_t lanes_missed;        // changes without lanes, since the last attempt
    struct classifier *next;
};

// --- keys: for writers and scalar readers; the vector kernels compute the same values ---

#define KEY_MIX1 0x9e3779b1u
#define KEY_MIX2 0x85ebca77u
#define KEY_MIX_WORD 0xc2b2ae3du
#define KEY_MIX_BITS 0x27d4eb2fu
#define KEY_MIX_HEAD 0x165667b1u
#define KEY_MIX6_HIGH 0x9e3779b185ebca87u
#define KEY_MIX6_LOW 0xc2b2ae3d27d4eb4fu
#define KEY_MIX6_END 0xd6e8feb86659fd93u

static inline uint64_t mask6(unsigned len, unsigned half) // half 0: the high one
{
    unsigned n = half ? (len > 64 ? len - 64 : 0) : (len > 64 ? 64 : len);

    return n ? ~UINT64_C(0) << (64 - n) : 0;
}

static inline uint32_t digest4(const struct classifier *c, enum side_index side, uint32_t addr,
                               unsigned len)
{
    uint32_t x = ((addr & mask4(len)) ^ (uint32_t)c->secret[side][0]) * KEY_MIX1;

    return (x ^ x >> 15) * KEY_MIX2;
}

static inline uint32_t digest6(const struct classifier *c, enum side_index side,
                               const uint64_t addr[2], unsigned len)
{
    uint64_t x = ((addr[0] & mask6(len, 0)) ^ c->secret[side][0]) * KEY_MIX6_HIGH;

    x ^= x >> 32;
    x += ((addr[1] & mask6(len, 1)) ^ c->secret[side][1]) * KEY_MIX6_LOW;
    return (uint32_t)(((x ^ x >> 29) * KEY_MIX6_END) >> 32);
}

static inline uint32_t digest_port(const struct classifier *c, uint8_t proto, uint16_t dport)
{
    return (((uint32_t)proto << 16 | dport) ^ (uint32_t)(c->secret[0][1] >> 32)) * KEY_MIX1;
}

static inline uint32_t filter_bits(uint32_t key)
{
    uint32_t h = key * KEY_MIX_BITS;

    return 1u << (h >> 27) | 1u << (h >> 22 & 31) | 1u << (h >> 17 & 31);
}

static inline uint32_t *filter_word(const struct classifier *c, uint32_t key)
{
    return &c->filter[key * KEY_MIX_WORD >> c->filter_shift];
}

static inline bool filter_has(const struct classifier *c, uint32_t key)
{
    uint32_t bits = filter_bits(key);

    return (__atomic_load_n(filter_word(c, key), __ATOMIC_RELAXED) & bits) == bits;
}

static inline uint32_t *head_of(const struct classifier *c, uint32_t key)
{
    return &c->head[key * KEY_MIX_HEAD >> c->head_shift];
}

static inline uint32_t *tuple_index_word(const struct tuple_index *g, uint32_t digest)
{
    return &g->tuples[digest * KEY_MIX_WORD >> g->shift];
}

static inline size_t entry_bytes(const struct classifier *c)
{
    return c->family == ACL_IP4 ? sizeof(struct entry4) : sizeof(struct entry6);
}

static inline struct entry_l4 *entry_l4_at(const struct classifier *c, uint32_t ref, unsigned i)
{
    uint8_t *p = c->block + (size_t)(ref + i) * entry_bytes(c);

    return c->family == ACL_IP4 ? &((struct entry4 *)p)->l4 : &((struct entry6 *)p)->l4;
}

// --- writer ---

static inline bool is_under_tuple(uint8_t tuple)
{
    return tuple < TUPLES_MAX;
}

static inline bool is_prefix_rule(uint8_t tuple)
{
    return tuple >= PLACE_PREFIX_TABLE && tuple < PLACE_PREFIX_TABLE + PREFIX_TABLES_MAX;
}

struct classifier_rules {        // a list's rules, for the builder
    const struct acl_rule *rule; // [slot]
    const uint32_t *slot;        // by number, lowest first
    uint32_t n;
};

// Is rule i of this family, and under a tuple?
static inline bool is_for_tuples(const struct classifier *c, const struct classifier_rules *r,
                                 uint32_t i, const uint8_t *tuple)
{
    return (r->rule[r->slot[i]].families & c->family) && is_under_tuple(tuple[r->slot[i]]);
}

#endif
