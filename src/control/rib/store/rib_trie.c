// SPDX-License-Identifier: BSD-3-Clause
// rib_trie.c - prefixes in order: a path-compressed binary trie
//
// Invariants (the unit test checks them after random operations):
//   T1  a child's prefix is longer than its parent's and lies under it, on the side of its next
//       bit;
//   T2  a node without content has two children (else it is pruned), except while its owner fills
//       it.
// A path has at most 33 (129) nodes; every function is a loop along one path. Dumps come in order,
// so the path is in the cache; random changes miss on the last few nodes only.
#include <endian.h>

#include "rib/rib_trie.h"

#define CLIMB_MAX 6 // nodes: more than a sorted dump needs, fewer than a path from the root

void rib_trie_init(struct rib_trie *t, uint8_t family)
{
    *t = (struct rib_trie){.family = family, .bytes = family == IP4 ? 4 : 16};
    rib_pool_init(&t->node, (uint32_t)sizeof(struct rib_node) + t->bytes);
}

void rib_trie_fini(struct rib_trie *t)
{
    rib_pool_fini(&t->node);
    t->root = t->last = 0;
}

static inline unsigned bit_of(const uint8_t *key, unsigned i)
{
    return key[i >> 3] >> (7 - (i & 7)) & 1;
}

// Length of the common prefix of two keys, at most `max` bits.
static inline unsigned common_bits(const struct rib_trie *t, const uint8_t *a, const uint8_t *b,
                                   unsigned max)
{
    unsigned n = 0;

    for (unsigned i = 0; i < t->bytes && n < max; i += 4, n += 32) {
        uint32_t x, y;

        memcpy(&x, a + i, 4);
        memcpy(&y, b + i, 4);
        if (x != y) {
            n += (unsigned)__builtin_clz(be32toh(x ^ y));
            break;
        }
    }
    return n < max ? n : max;
}

static inline unsigned min_len(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static uint32_t node_new(struct rib_trie *t, const uint8_t *key, unsigned len, uint32_t parent)
{
    uint32_t id = rib_pool_new(&t->node);
    struct rib_node *n = rib_trie_at(t, id);
    struct prefix p = {.family = t->family, .len = (uint8_t)len};

    memcpy(p.b, key, t->bytes);
    prefix_canon(&p);
    memcpy(n->key, p.b, t->bytes);
    n->len = (uint8_t)len;
    n->parent = parent;
    return id;
}

// The link to a node: its parent's child word or the root.
static uint32_t *link_to(struct rib_trie *t, uint32_t id)
{
    struct rib_node *n = rib_trie_at(t, id), *parent;

    if (!n->parent)
        return &t->root;
    parent = rib_trie_at(t, n->parent);
    return &parent->child[parent->child[1] == id];
}

uint32_t rib_trie_find(const struct rib_trie *t, const struct prefix *p)
{
    uint32_t id = t->root;

    while (id) {
        const struct rib_node *n = rib_trie_at(t, id);

        if (n->len >= p->len)
            return n->len == p->len && common_bits(t, n->key, p->b, p->len) == p->len ? id : 0;
        id = n->child[bit_of(p->b, n->len)];
    }
    return 0;
}

// Start node of the path to p: an ancestor of p near the last node, since prefixes mostly come in
// order, or the root.
static uint32_t way_to(const struct rib_trie *t, const struct prefix *p)
{
    uint32_t id = t->last;

    for (unsigned i = 0; id && i < CLIMB_MAX; i++) {
        const struct rib_node *n = rib_trie_at(t, id);

        if (n->len <= p->len && common_bits(t, n->key, p->b, n->len) == n->len)
            return id;
        id = n->parent;
    }
    return t->root;
}

static uint32_t find_or_make(struct rib_trie *t, const struct prefix *p)
{
    uint32_t id = way_to(t, p), parent = id ? rib_trie_at(t, id)->parent : 0, made, fork;
    uint32_t *link = id ? link_to(t, id) : &t->root;
    struct rib_node *n = NULL;
    unsigned same = 0;

    while (id) {
        n = rib_trie_at(t, id);
        same = common_bits(t, n->key, p->b, min_len(n->len, p->len));
        if (same < n->len)
            break; // p forks off above n, or covers it
        if (n->len == p->len)
            return id;
        parent = id;
        link = &n->child[bit_of(p->b, n->len)];
        id = *link;
    }
    made = node_new(t, p->b, p->len, parent);
    if (!id) {
        *link = made;
        return made;
    }
    if (same == p->len) { // p covers n
        rib_trie_at(t, made)->child[bit_of(n->key, p->len)] = id;
        n->parent = made;
        *link = made;
        return made;
    }
    fork = node_new(t, p->b, same, parent);
    rib_trie_at(t, fork)->child[bit_of(p->b, same)] = made;
    rib_trie_at(t, fork)->child[!bit_of(p->b, same)] = id;
    rib_trie_at(t, made)->parent = fork;
    n->parent = fork;
    *link = fork;
    return made;
}

uint32_t rib_trie_add(struct rib_trie *t, const struct prefix *p)
{
    t->last = find_or_make(t, p);
    return t->last;
}

void rib_trie_prune(struct rib_trie *t, uint32_t id)
{
    while (id) {
        struct rib_node *n = rib_trie_at(t, id);
        uint32_t parent = n->parent, only;

        if (n->head || n->nexthop || (n->child[0] && n->child[1]))
            return;
        only = n->child[0] | n->child[1];
        *link_to(t, id) = only;
        if (only)
            rib_trie_at(t, only)->parent = parent;
        if (t->last == id)
            t->last = parent;
        rib_pool_free(&t->node, id);
        id = parent; // may now be a fork with one child
    }
}

static bool has_content(const struct rib_node *n)
{
    return n->head || n->nexthop;
}

uint32_t rib_trie_cover(const struct rib_trie *t, const struct prefix *p)
{
    uint32_t id = t->root, best = 0;

    while (id) {
        const struct rib_node *n = rib_trie_at(t, id);

        if (n->len > p->len || common_bits(t, n->key, p->b, n->len) < n->len)
            break;
        if (has_content(n))
            best = id;
        if (n->len == p->len)
            break;
        id = n->child[bit_of(p->b, n->len)];
    }
    return best;
}

uint32_t rib_trie_parent(const struct rib_trie *t, uint32_t id)
{
    for (id = rib_trie_at(t, id)->parent; id && !has_content(rib_trie_at(t, id));)
        id = rib_trie_at(t, id)->parent;
    return id;
}

uint32_t rib_trie_first(const struct rib_trie *t)
{
    return t->root;
}

// The node after the whole subtree of `id`.
static uint32_t next_outside(const struct rib_trie *t, uint32_t id)
{
    for (;;) {
        uint32_t parent = rib_trie_at(t, id)->parent;
        const struct rib_node *n;

        if (!parent)
            return 0;
        n = rib_trie_at(t, parent);
        if (n->child[0] == id && n->child[1])
            return n->child[1];
        id = parent;
    }
}

uint32_t rib_trie_next(const struct rib_trie *t, uint32_t id)
{
    const struct rib_node *n = rib_trie_at(t, id);

    return n->child[0] ? n->child[0] : n->child[1] ? n->child[1] : next_outside(t, id);
}

uint32_t rib_trie_first_in(const struct rib_trie *t, const struct prefix *p)
{
    uint32_t id = t->root;

    while (id) {
        const struct rib_node *n = rib_trie_at(t, id);

        if (n->len >= p->len)
            return common_bits(t, n->key, p->b, p->len) == p->len ? id : 0;
        id = n->child[bit_of(p->b, n->len)];
    }
    return 0;
}

uint32_t rib_trie_after(const struct rib_trie *t, const struct prefix *p)
{
    uint32_t id = t->root;

    while (id) {
        const struct rib_node *n = rib_trie_at(t, id);
        unsigned min = min_len(n->len, p->len), same = common_bits(t, n->key, p->b, min), bit;

        if (same < min) // disjoint: the subtree lies entirely before or behind p
            return bit_of(p->b, same) < bit_of(n->key, same) ? id : next_outside(t, id);
        if (n->len > p->len)
            return id;
        if (n->len == p->len)
            return rib_trie_next(t, id);
        bit = bit_of(p->b, n->len);
        if (!n->child[bit])
            return !bit && n->child[1] ? n->child[1] : next_outside(t, id);
        id = n->child[bit];
    }
    return 0;
}

struct prefix rib_trie_prefix(const struct rib_trie *t, uint32_t id)
{
    const struct rib_node *n = rib_trie_at(t, id);
    struct prefix p = {.family = t->family, .len = n->len};

    memcpy(p.b, n->key, t->bytes);
    return p;
}

bool rib_trie_is_in(const struct rib_trie *t, uint32_t id, const struct prefix *p)
{
    const struct rib_node *n = rib_trie_at(t, id);

    return n->len >= p->len && common_bits(t, n->key, p->b, p->len) == p->len;
}
