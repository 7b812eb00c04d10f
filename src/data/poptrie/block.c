// SPDX-License-Identifier: BSD-3-Clause
// block.c - builds the blocks that readers walk from the nodes of the tree. Called by edit.c.
//
// Invariant: a block never changes, except for words in branch and mixed blocks (edit.c).
// block_build() makes a new block from a node: its routes over 64 children, shorter ones first,
// then the words of its children. A child is rebuilt only if the value it inherits has changed.
//
// A node with references among its 64 words becomes a mixed block in IPv4, where few /24s have
// longer routes, and a branch block in IPv6, or if a value is too large for a mixed block.
#include "poptrie/poptrie_priv.h"

// Appends bit fields of up to 16 bits; the caller ensures that they fit.
struct packer {
    uint8_t *p;
    uint64_t acc;
    unsigned values_fill;
};

static inline void leaves_pack(struct packer *k, uint64_t v, unsigned width)
{
    k->acc |= v << k->values_fill;
    k->values_fill += width;
    if (k->values_fill >= 64) {
        memcpy(k->p, &k->acc, 8);
        k->p += 8;
        k->values_fill -= 64;
        k->acc = v >> (width - k->values_fill);
    }
}

static inline void leaves_pack_end(struct packer *k)
{
    memcpy(k->p, &k->acc, (k->values_fill + 7) / 8);
}

// Returns a bit for each value that differs from its predecessor; the first always does. *all: OR
// of all values.
static uint64_t runs_of(const uint16_t v[64], unsigned *all)
{
    const uint64_t low15 = 0x7fff7fff7fff7fff;
    uint64_t runs = v[1] != v[0] ? 3 : 1, any = 0, at, before, differ;

    runs |= (uint64_t)(v[2] != v[1]) << 2 | (uint64_t)(v[3] != v[2]) << 3;
    for (unsigned i = 0; i < 64; i += 4) { // four values at a time
        memcpy(&at, v + i, 8);
        any |= at;
        if (i == 0)
            continue;
        memcpy(&before, v + i - 1, 8);
        differ = at ^ before;
        differ = (((differ & low15) + low15) | differ) >> 15 & 0x0001000100010001;
        runs |= (differ * 0x0001000200040008 >> 48 & 15) << i;
    }
    any |= any >> 32;
    *all = (any | any >> 16) & 0xffff;
    return runs;
}

// Packs v[0..64) as a run vector and leaves; a single run needs no block.
static uint32_t leaf_block(struct poptrie *t, const uint16_t v[64])
{
    unsigned all, n, width;
    uint64_t runs = runs_of(v, &all);
    struct packer k = {0};
    uint32_t word;

    if (runs == 1)
        return v[0];
    n = __builtin_popcountll(runs);
    width = value_bits(all);
    k.p = txn_block(t, 8 + (n * width + 7) / 8, width - 1, &word);
    if (k.p == NULL)
        return 0;
    memcpy(k.p, &runs, 8);
    k.p += 8;
    for (; runs != 0; runs &= runs - 1)
        leaves_pack(&k, v[__builtin_ctzll(runs)], width);
    leaves_pack_end(&k);
    return word;
}

static uint32_t branch_block(struct poptrie *t, const uint32_t w[64], uint64_t runs)
{
    uint32_t word, *leaf;
    uint8_t *p = txn_block(t, 8 + 4 * __builtin_popcountll(runs), CODE_BRANCH, &word);

    if (p == NULL)
        return 0;
    memcpy(p, &runs, 8);
    leaf = (uint32_t *)(p + 8);
    for (; runs != 0; runs &= runs - 1)
        *leaf++ = w[__builtin_ctzll(runs)];
    return word;
}

static uint32_t mixed_block(struct poptrie *t, const uint32_t w[64], uint64_t runs, unsigned refs,
                            unsigned width)
{
    // offset of the references, in 32-bit words
    unsigned at = (8 + (__builtin_popcountll(runs) * width + 7) / 8 + 3) / 4;
    struct packer k = {0};
    uint32_t word, *block;

    block = txn_block(t, 4 * (at + refs), CODE_MIXED + width - 1, &word);
    if (block == NULL)
        return 0;
    memcpy(block, &runs, 8);
    k.p = (uint8_t *)block + 8;
    for (; runs != 0; runs &= runs - 1) {
        uint32_t child = w[__builtin_ctzll(runs)];

        if (word_is_ref(child)) {
            block[at] = child;
            child = at++ | 1u << (width - 1);
        }
        leaves_pack(&k, child, width);
    }
    leaves_pack_end(&k);
    return word;
}

// Packs 64 words, some of which are references.
static uint32_t words_block(struct poptrie *t, const uint32_t w[64])
{
    uint64_t runs = 1;
    uint32_t all = 0;
    unsigned refs = 0, width;

    for (unsigned i = 0; i < 64; i++) {
        bool first = i == 0 || w[i] != w[i - 1];

        runs |= (uint64_t)first << i;
        refs += first && word_is_ref(w[i]);
        all |= word_is_ref(w[i]) ? 0 : w[i];
    }
    width = value_bits(all) + 1 > MIXED_MIN_WIDTH ? value_bits(all) + 1 : MIXED_MIN_WIDTH;
    if (t->geo.key_bits == 128 || width > MIXED_MAX_WIDTH)
        return branch_block(t, w, runs);
    return mixed_block(t, w, runs, refs, width);
}

// Makes the skips from depth `site` that lead to `in` if an address matches the first `bits` bits
// of key, and answer `out` otherwise.
static uint32_t skip_block(struct poptrie *t, unsigned site, unsigned bits, const uint64_t key[2],
                           uint32_t in, uint16_t out)
{
    uint32_t word = in;
    struct skip *s;

    if (bits > 64) {
        s = txn_block(t, sizeof(*s), CODE_SKIP, &word);
        if (s == NULL)
            return 0;
        *s = (struct skip){in, out, bits - 64, key[1]};
    }
    if (site < 64) {
        in = word;
        s = txn_block(t, sizeof(*s), CODE_SKIP, &word);
        if (s == NULL)
            return 0;
        *s = (struct skip){in, out, bits < 64 ? bits : 64, key[0]};
    }
    return word;
}

// v[0 .. 2^bits) = value
static inline void values_fill(uint16_t *v, unsigned bits, uint16_t value)
{
    uint64_t four = value * 0x0001000100010001u;

    if (bits == 0)
        *v = value;
    else if (bits == 1)
        memcpy(v, &four, 4);
    else
        for (unsigned i = 0; i < 1u << bits; i += 4)
            memcpy(v + i, &four, 8);
}

// Pushes the node's routes down to its 64 children, shorter ones first.
static void node_values_paint(const struct node *n, uint16_t inherited, uint16_t v[64])
{
    const uint16_t *value = node_values(n);

    values_fill(v, 6, inherited);
    for (unsigned half = 0; half < 2; half++)
        for (uint64_t m = n->routes[half]; m != 0; m &= m - 1) {
            unsigned idx = half * 64 + __builtin_ctzll(m);
            unsigned free_bits = __builtin_clz(idx) - 25; // 31 - 6 - log2(idx)
            unsigned from = (idx << free_bits) - 64;

            values_fill(v + from, free_bits, *value++);
        }
}

static bool is_root6(const struct poptrie *t, const struct node *n)
{
    return n->depth == 0 && t->geo.key_bits == 128;
}

// Value that child idx inherited before the change.
static uint16_t value_was_over(const struct node *n, unsigned idx, uint16_t inherited,
                               struct target tg)
{
    if (node_is_floor(n))
        return 0;
    for (; idx > 1; idx >>= 1) {
        if (idx == tg.idx && n->depth == tg.depth) {
            if (tg.was != 0)
                return tg.was;
        } else if (node_has_route(n, idx)) {
            return node_values(n)[node_rank(n, idx)];
        }
    }
    return inherited;
}

// Computes the 64 words of a node with children; true if any of them is a reference.
static bool branch_words(struct poptrie *t, const struct node *n, const uint16_t v[64],
                         uint16_t old, uint16_t new, struct target tg, uint32_t w[64])
{
    struct kid *kid = node_kids(n);
    unsigned span = 1; // children that one entry covers, at the end of a half
    bool any = false;
    uint64_t m = n->kids;

    if (n->depth == 60 || n->depth == 124)
        span = 4;
    if (old != new)
        prefetch_kids(t, n);
    if (is_root6(t, n))
        m &= ~(uint64_t)0xff00;
    for (unsigned i = 0; i < 64; i++)
        w[i] = v[i];
    for (; m != 0; m &= m - 1) {
        unsigned c = __builtin_ctzll(m);
        uint16_t kid_old = value_was_over(n, 64 | c, old, tg);
        uint16_t kid_new = node_value_over(n, 64 | c, new);

        kid = node_kid(n, c);
        if (kid_old != kid_new || (kid->node & KID_DIRTY) != 0)
            block_build(t, kid, depth_next(n->depth), kid_old, kid_new, tg);
        any |= word_is_ref(kid->word);
        for (unsigned i = c; i < c + span; i++)
            w[i] = kid->word;
    }
    for (unsigned i = 8; is_root6(t, n) && i < 16; i++)
        w[i] = w[7];
    return any;
}

// A node at depth 24 of IPv4 together with its children: 256 leaves; the children have no words.
static uint32_t wide_block(struct poptrie *t, const struct node *n, uint16_t inherited)
{
    uint16_t v[256], sub[64];
    unsigned all = 0, runs = 0, width;
    struct packer k = {0};
    uint64_t head[8];
    uint32_t word;

    node_values_paint(n, inherited, sub);
    for (unsigned i = 0; i < 256; i++)
        v[i] = sub[i / 4];
    for (unsigned i = 0; i < n->n_kids; i++) {
        struct kid *kid = node_kids(n) + i;
        const struct node *y = node_at(&t->nodes, kid->node);
        unsigned c = key_window(y->key, WIDE_DEPTH) * 4;

        inherited = v[c];
        for (unsigned j = 0; j < 4; j++) // a node of two bits: heap indexes 4..7 are its children
            v[c + j] = node_value_over(y, 4 | j, inherited);
        txn_set(t, &kid->node, kid->node & ~KID_DIRTY);
    }
    for (unsigned i = 0; i < 256; i++)
        all |= v[i];
    width = value_bits(all);
    for (unsigned i = 0; i < 256; i++) {
        if (i % 32 == 0)
            head[i / 32] = (uint64_t)width << 48 | (uint64_t)runs << 32;
        if (i == 0 || v[i] != v[i - 1]) {
            head[i / 32] |= (uint64_t)1 << i % 32;
            runs++;
        }
    }
    if (runs == 1)
        return v[0];
    k.p = txn_block(t, WIDE_HEAD_BYTES + (runs * width + 7) / 8, CODE_WIDE, &word);
    if (k.p == NULL)
        return 0;
    memcpy(k.p, head, sizeof(head));
    k.p += WIDE_HEAD_BYTES;
    for (unsigned i = 0; i < 256; i++)
        if (i == 0 || v[i] != v[i - 1])
            leaves_pack(&k, v[i], width);
    leaves_pack_end(&k);
    return word;
}

// Makes the word of a node, without the skip before it.
static uint32_t node_block(struct poptrie *t, const struct node *n, uint16_t old, uint16_t new,
                           struct target tg)
{
    uint16_t v[64] = {0};
    uint32_t w[64];

    if (node_is_wide(t, n))
        return wide_block(t, n, new);
    if (!node_is_floor(n))
        node_values_paint(n, new, v);
    // never read: the directory covers 2000::/3
    if (is_root6(t, n))
        for (unsigned i = 8; i < 16; i++)
            v[i] = v[7];
    if (n->n_kids > 0) {
        if (branch_words(t, n, v, old, new, tg, w))
            return words_block(t, w);
        for (unsigned i = 0; i < 64; i++)
            v[i] = w[i];
    }
    return leaf_block(t, v);
}

void block_build(struct poptrie *t, struct kid *via, unsigned site, uint16_t old, uint16_t new,
                 struct target tg)
{
    const struct node *n = node_at(&t->nodes, via->node);
    uint64_t key[2] = {n->key[0], n->key[1]};
    unsigned bits = n->depth;
    uint32_t word;

    if (n->n_kids == 0 && n->n_values == 1 && n->depth > site) { // a single route: a skip is enough
        unsigned idx =
            n->routes[0] != 0 ? __builtin_ctzll(n->routes[0]) : 64 + __builtin_ctzll(n->routes[1]);
        unsigned l = 31 - __builtin_clz(idx);

        bits += l;
        key[n->depth >> 6] |= ((uint64_t)idx << (6 - l) & 63) << 58 >> (n->depth & 63);
        word = node_value_over(n, idx, new);
    } else {
        word = node_block(t, n, old, new, tg);
    }
    if (n->depth > site && word != new)
        word = skip_block(t, site, bits, key, word, new);
    txn_retire(t, via->word);
    txn_set(t, &via->word, word);
    txn_set(t, &via->node, via->node & ~KID_DIRTY);
}
