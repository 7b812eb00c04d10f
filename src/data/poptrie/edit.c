// SPDX-License-Identifier: BSD-3-Clause
// edit.c - replaces the words affected by a changed route. Called by poptrie.c inside a
// transaction.
//
// The tree (tree.h) has changed at one entry. block_build() makes a new block for it, and the word
// that led to the old block is replaced. That word is:
//
//   - in a directory slot, for the first block below the directory;
//   - in the parent's branch or mixed block, in place, if it was a reference and stays one (every
//     reference is a run of its own, so the run vector stays valid);
//   - otherwise the parent's block is rebuilt, too, and the same question arises one level up.
//
// A route no longer than the directory's index has no block: slots_fill() writes its slots, except
// slots with longer routes.
#include "poptrie/walk.h"

// --- below the directory, and outside it ---

static unsigned depth_of(const struct poptrie *t, const struct kid *via)
{
    return node_at(&t->nodes, via->node)->depth;
}

// Searches from `via` down for the entry with the key's slot; NULL: none (left).
static struct kid *slot_entry(const struct poptrie *t, struct kid *via, const uint64_t key[2],
                              uint16_t *inherited)
{
    for (;;) {
        const struct node *n = node_at(&t->nodes, via->node);
        bool above = n->depth < t->geo.dir_bits;
        unsigned b;

        if (!key_equal(key, n->key, above ? n->depth : t->geo.dir_bits))
            return NULL;
        if (!above)
            return via;
        b = key_window(key, n->depth);
        *inherited = node_value_over(n, 64 | b, *inherited);
        if (!node_has_kid(n, b))
            return NULL;
        via = node_kid(n, b);
    }
}

// The depth at which a child of this entry's node starts to match.
static unsigned site_below(const struct poptrie *t, const struct kid *via, bool slotted)
{
    unsigned depth = depth_of(t, via);

    return slotted && depth < t->geo.dir_bits ? t->geo.dir_bits : depth_next(depth);
}

// Propagates the new word of path[i], which replaces `was`: to the parent, or further up.
static void edit_ancestors(struct poptrie *t, const struct tree_change *c, const uint64_t key[2],
                           unsigned i, uint32_t was)
{
    bool slotted = key_has_slot(t, key);

    for (;;) {
        uint32_t word = c->path[i].via->word, block;
        struct kid *parent;
        unsigned depth;

        if (t->txn.full || (word == was && !word_is_ref(word)))
            return;
        if (i == 0) {
            txn_stage(t, &t->outside, 1, word);
            return;
        }
        parent = c->path[i - 1].via;
        depth = depth_of(t, parent);
        if (slotted && depth < t->geo.dir_bits) {
            txn_stage(t, &t->dir[key_slot(t, key)], 1, word);
            return;
        }
        if (word_is_ref(was) && word_is_ref(word)) {
            for (block = parent->word; word_code(block) == CODE_SKIP;)
                block = ((const struct skip *)pool_at(&t->group->blocks, word_ref(block)))->in;
            txn_stage(t, block_slot(t->arena, block, key_window(key, depth)), 1, word);
            return;
        }
        i--;
        was = parent->word;
        block_build(t, parent, i == 0 ? 0 : site_below(t, c->path[i - 1].via, slotted),
                    c->path[i].inherited, c->path[i].inherited, (struct target){0});
    }
}

// Replaces the words for a route with blocks below it, not only slots.
static void edit_blocks(struct poptrie *t, const struct tree_change *c, const uint64_t key[2],
                        unsigned len, struct target tg, uint16_t is)
{
    unsigned last = c->n - 1;
    struct kid *via = c->path[last].via;
    uint16_t old, new;
    bool slotted = key_has_slot(t, key), in_dir = false;
    unsigned site = 0;
    uint32_t was;

    // the parent's block includes the node
    if (last > 0 && node_is_wide(t, node_at(&t->nodes, c->path[last - 1].via->node)))
        via = c->path[--last].via;
    old = c->path[last].inherited;
    if (slotted) {
        in_dir = last == 0 || depth_of(t, c->path[last - 1].via) < t->geo.dir_bits;
        via = slot_entry(t, via, key, &old);
        if (via == NULL) {
            txn_stage(t, &t->dir[key_slot(t, key)], 1, old);
            return;
        }
    }
    if (in_dir)
        site = t->geo.dir_bits;
    else if (last > 0)
        site = site_below(t, c->path[last - 1].via, slotted);
    new = old;
    if (depth_of(t, via) > tg.depth && depth_of(t, via) >= len &&
        key_equal(key, node_at(&t->nodes, via->node)->key, len)) {
        old = tg.was != 0 ? tg.was : c->cover; // the route's node is gone; the route it covered
                                               // remains
        new = is != 0 ? is : c->cover;
    }
    was = via->word;
    block_build(t, via, site, old, new, tg);
    if (in_dir)
        txn_stage(t, &t->dir[key_slot(t, key)], 1, via->word);
    else
        edit_ancestors(t, c, key, last, was);
}

// --- the directory ---

static void slots_fill_heap(struct poptrie *t, const struct node *n, unsigned idx, uint32_t lo,
                            uint32_t hi, uint16_t old, uint16_t new);

// Fills slots [lo, hi) below the entry kid (NULL: none), which inherits `new` instead of `old`.
static void slots_fill(struct poptrie *t, struct kid *kid, uint32_t lo, uint32_t hi, uint16_t old,
                       uint16_t new)
{
    const struct node *n;
    uint32_t from, to;

    if (kid == NULL) {
        txn_stage(t, t->dir + lo, hi - lo, new);
        return;
    }
    n = node_at(&t->nodes, kid->node);
    from = key_slot(t, n->key);
    to = from + (n->depth < t->geo.dir_bits ? 1u << (t->geo.dir_bits - n->depth) : 1);
    txn_stage(t, t->dir + lo, from - lo, new);
    if (n->depth < t->geo.dir_bits) {
        prefetch_kids(t, n);
        slots_fill_heap(t, n, 1, from, to, old, new);
    } else {
        block_build(t, kid, t->geo.dir_bits, old, new, (struct target){0});
        txn_stage(t, t->dir + from, 1, kid->word);
    }
    txn_stage(t, t->dir + to, hi - to, new);
}

// Fills slots [lo, hi) below heap index idx, without the route at idx itself.
static void slots_fill_heap(struct poptrie *t, const struct node *n, unsigned idx, uint32_t lo,
                            uint32_t hi, uint16_t old, uint16_t new)
{
    uint32_t mid = lo + (hi - lo) / 2;

    for (unsigned side = 0; side < 2; side++) {
        unsigned i = 2 * idx + side, c = i - 64;
        uint32_t from = side == 0 ? lo : mid, to = side == 0 ? mid : hi;
        uint16_t o = old, v = new;

        if (node_has_route(n, i) && !node_is_floor(n)) {
            // longer than the changed route: not affected
            if (!t->txn.whole_tree)
                continue;
            o = v = node_values(n)[node_rank(n, i)];
        }
        if (i < 64)
            slots_fill_heap(t, n, i, from, to, o, v);
        else
            slots_fill(t, node_has_kid(n, c) ? node_kid(n, c) : NULL, from, to, o, v);
    }
}

static void edit_slots(struct poptrie *t, const uint64_t key[2], unsigned len, uint16_t old,
                       uint16_t new)
{
    struct kid *via = &t->root;
    const struct node *n = node_at(&t->nodes, via->node);
    unsigned depth = depth_floor(len - 1), idx = route_index(key, len);
    uint32_t lo = key_slot(t, key), hi = lo + (1u << (t->geo.dir_bits - len));

    if (old == new)
        return;
    while (n->depth < depth) {
        unsigned b = key_window(key, n->depth);

        via = node_has_kid(n, b) ? node_kid(n, b) : NULL;
        n = via != NULL ? node_at(&t->nodes, via->node) : NULL;
        if (n == NULL || n->depth > depth || !key_equal(key, n->key, n->depth)) {
            bool under = n != NULL && n->depth >= len && key_equal(key, n->key, len);

            slots_fill(t, under ? via : NULL, lo, hi, old, new);
            return;
        }
    }
    if (idx < 64)
        slots_fill_heap(t, n, idx, lo, hi, old, new);
    else
        slots_fill(t, node_has_kid(n, idx - 64) ? node_kid(n, idx - 64) : NULL, lo, hi, old, new);
}

// --- changes of a route, of everything; removal of a tree ---

void edit_route(struct poptrie *t, const struct tree_change *c, const uint64_t key[2], unsigned len,
                uint16_t was, uint16_t is)
{
    struct target tg = {depth_floor(len - 1), route_index(key, len), was};
    bool slotted = key_has_slot(t, key);

    if (len <= FLOOR_BITS) { // the floor has its value, but its node is new or gone
        tg = (struct target){0};
        was = is = 0;
    }
    for (unsigned i = 0; i < c->n_dead; i++)
        txn_retire(t, c->dead[i]);
    if (!slotted || len > t->geo.dir_bits)
        edit_blocks(t, c, key, len, tg, is);
    else if (len > FLOOR_BITS)
        edit_slots(t, key, len, was != 0 ? was : c->cover, is != 0 ? is : c->cover);
}

#define HEAP_2000_3 9u // prefix 001 in the root

void edit_everything(struct poptrie *t)
{
    const struct node *root = node_at(&t->nodes, t->root.node);

    if (t->geo.key_bits == 32) {
        slots_fill_heap(t, root, 1, 0, DIR4_WORDS, 0, 0);
        return;
    }
    slots_fill_heap(t, root, HEAP_2000_3, 0, DIR6_WORDS, 0, 0);
    block_build(t, &t->root, 0, 0, 0, (struct target){0});
    txn_stage(t, &t->outside, 1, t->root.word);
}

void edit_retire_tree(struct poptrie *t, struct kid root)
{
    const struct node *n = node_at(&t->nodes, root.node);

    // other tables still use it
    if (n->depth >= t->geo.dir_bits && key_has_slot(t, n->key) && word_is_ref(root.word) &&
        t->dir[key_slot(t, n->key)] == root.word && slot_is_shared(t, key_slot(t, n->key)))
        return;
    txn_retire(t, root.word);
    for (unsigned i = 0; i < n->n_kids; i++)
        edit_retire_tree(t, node_kids(n)[i]);
}
