// SPDX-License-Identifier: BSD-3-Clause
// tree.h - the writer's copy of the routes, with the structure of the table
//
// A node at depth d holds the routes of lengths d+1 .. d+6 that begin with its key, as a bitmap in
// heap order (prefix of l bits b = bit (1 << l) | b, so 2..127) and an array of values; and its
// children, one bit and one `struct kid` per six-bit branch. Depths are multiples of six, counted
// anew from 64 so that no node straddles the two halves of an IPv6 address (60 and 124 have four
// bits, 30 of IPv4 has two). Nodes with neither routes nor two children are left out, except the
// root (depth 0, always there): a child may lie any number of levels below its parent.
//
// About 14 bytes per route on a full IPv4 table. Nodes have a fixed size: a change makes a new node
// and swaps it in, so undoing is swapping back.
#ifndef POPTRIE_TREE_H
#define POPTRIE_TREE_H

#include "poptrie/layout.h"
#include "poptrie/pool.h"

#include <stdbool.h>
#include <stdint.h>

#define KID_DIRTY 0x80000000u // in kid.node: the word is not built yet
#define TREE_MAX_DEPTH 24u    // nodes on a path

struct kid {
    uint32_t node; // | KID_DIRTY; 0 = none
    uint32_t word; // for readers; 0 in the directory's domain
};

struct node {
    uint64_t key[2]; // host order, bits from `depth` on are zero
    uint64_t routes[2];
    uint64_t kids;
    uint16_t n_values;
    uint8_t n_kids;
    uint8_t depth;
    uint32_t pad;
    // struct kid kid[n_kids]; uint16_t value[n_values];
};

struct tree_step {
    struct kid *via; // the entry that leads to this node
    uint16_t inherited;
};

struct tree_change {
    struct tree_step path[TREE_MAX_DEPTH]; // root .. topmost changed node
    unsigned n;                            // length of path
    uint16_t cover;                        // value of the longest shorter route, 0 = none
    uint32_t fresh[4], stale[4];           // nodes made, nodes to free
    unsigned n_fresh, n_stale;
    uint32_t dead[2]; // words no longer referenced
    unsigned n_dead;
    struct kid *site; // the swapped entry, and its former content
    struct kid site_was;
};

// dir_bits: children below this depth belong to the directory, where a word does not depend on the
// parent; has_slot: is the key in the directory's domain?
struct tree_geometry {
    unsigned key_bits, dir_bits;
};

int tree_init(struct pool *p, struct kid *root);
void tree_free(struct pool *p, struct kid root);
// Returns the former value (0 = was absent) in *was. 0, or -ENOMEM with nothing changed.
int tree_set(struct pool *p, struct kid *root, struct tree_geometry g, const uint64_t key[2],
             unsigned len, uint16_t value, struct tree_change *c, uint16_t *was);
// 0, -ENOENT, -ENOMEM.
int tree_del(struct pool *p, struct kid *root, struct tree_geometry g, const uint64_t key[2],
             unsigned len, struct tree_change *c, uint16_t *was);
void tree_undo(struct pool *p, struct tree_change *c);
void tree_settle(struct pool *p, struct tree_change *c); // makes the change final: frees stale
                                                         // nodes
uint16_t tree_get(const struct pool *p, struct kid root, const uint64_t key[2], unsigned len);

static inline struct node *node_at(const struct pool *p, uint32_t ref)
{
    return pool_at(p, ref & ~KID_DIRTY);
}

static inline struct kid *node_kids(const struct node *n)
{
    return (struct kid *)(n + 1);
}

static inline uint16_t *node_values(const struct node *n)
{
    return (uint16_t *)(node_kids(n) + n->n_kids);
}

static inline unsigned depth_floor(unsigned bits) // depth of the node that contains bit number
                                                  // `bits`
{
    return bits < 64 ? bits / 6 * 6 : 64 + (bits - 64) / 6 * 6;
}

static inline unsigned depth_next(unsigned depth)
{
    return depth == 60 ? 64 : depth + 6;
}

// Six bits of a key from `depth` on, with zeros after the end of the half.
static inline unsigned key_window(const uint64_t key[2], unsigned depth)
{
    return key[depth >> 6 & 1] << (depth & 63) >> 58;
}

static inline void key_mask(uint64_t key[2], unsigned len)
{
    if (len < 64) {
        key[0] &= ~(len == 0 ? UINT64_MAX : UINT64_MAX >> len);
        key[1] = 0;
    } else if (len < 128) {
        key[1] &= ~(UINT64_MAX >> (len - 64));
    }
}

static inline bool key_equal(const uint64_t a[2], const uint64_t b[2], unsigned len)
{
    uint64_t x[2] = {a[0] ^ b[0], a[1] ^ b[1]};

    key_mask(x, len);
    return (x[0] | x[1]) == 0;
}

static inline bool node_has_route(const struct node *n, unsigned idx)
{
    return n->routes[idx >> 6] >> (idx & 63) & 1;
}

static inline unsigned node_rank(const struct node *n, unsigned idx) // routes before idx
{
    unsigned r = __builtin_popcountll(n->routes[idx >> 6] & (((uint64_t)1 << (idx & 63)) - 1));

    return idx < 64 ? r : r + __builtin_popcountll(n->routes[0]);
}

static inline bool node_has_kid(const struct node *n, unsigned c)
{
    return n->kids >> c & 1;
}

static inline struct kid *node_kid(const struct node *n, unsigned c)
{
    return node_kids(n) + __builtin_popcountll(n->kids & (((uint64_t)1 << c) - 1));
}

// Heap index of the route key/len in the node at depth_floor(len - 1).
static inline unsigned route_index(const uint64_t key[2], unsigned len)
{
    unsigned depth = depth_floor(len - 1), l = len - depth;

    return 1u << l | key_window(key, depth) >> (6 - l);
}

// The value of the node's longest route covering heap index idx, or `none`.
static inline uint16_t node_longest(const struct node *n, unsigned idx, uint16_t none)
{
    for (; idx > 1; idx >>= 1)
        if (node_has_route(n, idx))
            return node_values(n)[node_rank(n, idx)];
    return none;
}

// Does the floor answer for this node's routes, instead of leaves and directory words?
static inline bool node_is_floor(const struct node *n)
{
    return n->depth < FLOOR_BITS;
}

// Value inherited by heap index idx: the node's longest covering route, or `inherited`.
static inline uint16_t node_value_over(const struct node *n, unsigned idx, uint16_t inherited)
{
    return node_is_floor(n) ? 0 : node_longest(n, idx, inherited);
}

#endif
