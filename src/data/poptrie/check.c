// SPDX-License-Identifier: BSD-3-Clause
// check.c - checks a table against its own tree (poptrie_check), for tests; counts its memory
//
// Independent of block.c and edit.c: derives the expected value of every word from the tree alone,
// and compares. Takes about as long as a load.
#include "poptrie/walk.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct checker {
    const struct poptrie *t;
    char *why;
    size_t n;
    bool bad;
    uint64_t nodes, blocks, block_bytes, routes, leaves;
};

static void check_fail(struct checker *k, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void check_fail(struct checker *k, const char *format, ...)
{
    va_list ap;

    if (k->bad)
        return;
    k->bad = true;
    va_start(ap, format);
    if (k->n > 0)
        vsnprintf(k->why, k->n, format, ap);
    va_end(ap);
}

// --- P7: the other copies ---

// Counts a reachable block, and compares the copies with it.
static void block_reached(struct checker *k, uint32_t word)
{
    const uint8_t *block = block_at(k->t->arena, word);

    k->blocks++;
    k->block_bytes += pool_block_bytes(&k->t->group->blocks, word_ref(word));
    for (unsigned c = 0; c < k->t->n_copies; c++)
        if (memcmp(block_at(k->t->copy[c]->arena, word), block,
                   pool_block_bytes(&k->t->group->blocks, word_ref(word))) != 0)
            check_fail(k, "P7: copy %u has another block at %u", c + 1, word_ref(word));
}

static void check_copies(struct checker *k)
{
    const struct poptrie *t = k->t;

    for (unsigned i = 0; i < t->n_copies; i++) {
        const struct poptrie *c = t->copy[i];

        if (memcmp(c->floor, t->floor, sizeof(t->floor)) != 0 || c->outside != t->outside ||
            memcmp(c->dir, t->dir, t->group->dir_bytes) != 0 ||
            memcmp(c->page, t->page, sizeof(t->page)) != 0)
            check_fail(k, "P7: copy %u has another directory or floor", i + 1);
    }
}

// --- P2: one block against its expected words ---

// The code of a block with these 64 words.
static uint32_t expected_code(const struct checker *k, const uint32_t want[64])
{
    uint32_t all = 0;
    bool refs = false;

    for (unsigned i = 0; i < 64; i++) {
        refs |= word_is_ref(want[i]);
        all |= word_is_ref(want[i]) ? 0 : want[i];
    }
    if (!refs)
        return value_bits(all) - 1;
    if (k->t->geo.key_bits == 128 || value_bits(all) >= MIXED_MAX_WIDTH)
        return CODE_BRANCH;
    return CODE_MIXED +
           (value_bits(all) >= MIXED_MIN_WIDTH ? value_bits(all) : MIXED_MIN_WIDTH - 1);
}

static uint32_t child_word(const struct checker *k, uint32_t word, unsigned c)
{
    const uint32_t *slot = NULL;

    if (word_code(word) >= CODE_MIXED)
        slot = block_slot(k->t->arena, word, c);
    return slot != NULL ? *slot : block_leaf(k->t->arena, word, c);
}

static void check_block(struct checker *k, uint32_t word, const uint32_t want[64],
                        const struct node *n)
{
    uint64_t runs, must = 1;

    for (unsigned i = 1; i < 64; i++)
        must |= (uint64_t)(want[i] != want[i - 1]) << i;
    if (must == 1) {
        if (word != want[0])
            check_fail(k, "P2: node at depth %u: one run of %08x, but its word is %08x", n->depth,
                       want[0], word);
        return;
    }
    if (!word_is_ref(word) || word_code(word) != expected_code(k, want) ||
        pool_block_bytes(&k->t->group->blocks, word_ref(word)) == 0) {
        check_fail(k, "P2: node at depth %u: word %08x, but the block's code must be %u", n->depth,
                   word, expected_code(k, want));
        return;
    }
    block_reached(k, word);
    k->leaves += __builtin_popcountll(must);
    memcpy(&runs, block_at(k->t->arena, word), sizeof(runs));
    if (runs != must)
        check_fail(k, "P2: node at depth %u: runs %016llx, not %016llx", n->depth,
                   (unsigned long long)runs, (unsigned long long)must);
    for (unsigned i = 0; i < 64 && !k->bad; i++)
        if (child_word(k, word, i) != want[i])
            check_fail(k, "P2: node at depth %u: child %u is %08x, not %08x", n->depth, i,
                       child_word(k, word, i), want[i]);
}

static void check_shape(struct checker *k, const struct node *n, const struct node *parent);
static void count_node(struct checker *k, const struct node *n);

static void check_wide(struct checker *k, uint32_t word, const struct node *n, uint16_t inherited)
{
    const struct pool *nodes = &k->t->nodes;
    uint16_t want[256];
    unsigned runs = 1;

    for (unsigned i = 0; i < 256; i++) {
        want[i] = node_value_over(n, 64 | i / 4, inherited);
        if (node_has_kid(n, i / 4))
            want[i] = node_value_over(node_at(nodes, node_kid(n, i / 4)->node), 64 | (i % 4) << 4,
                                      want[i]);
        runs += i > 0 && want[i] != want[i - 1];
    }
    for (unsigned i = 0; i < n->n_kids; i++) {
        check_shape(k, node_at(nodes, node_kids(n)[i].node), n);
        count_node(k, node_at(nodes, node_kids(n)[i].node));
        if ((node_kids(n)[i].node & KID_DIRTY) != 0 || node_kids(n)[i].word != 0)
            check_fail(k, "P5: a node inside a wide block has a word or is not built");
    }
    if (runs == 1 && word != want[0])
        check_fail(k, "P2: wide node: one run of %u, but its word is %08x", want[0], word);
    if (runs == 1)
        return;
    if (!word_is_ref(word) || word_code(word) != CODE_WIDE) {
        check_fail(k, "P2: wide node: its word is %08x", word);
        return;
    }
    block_reached(k, word);
    k->leaves += runs;
    for (unsigned i = 0; i < 256 && !k->bad; i++)
        if (wide_leaf(k->t->arena, word, i) != want[i])
            check_fail(k, "P2: wide node: child %u is %u, not %u", i,
                       wide_leaf(k->t->arena, word, i), want[i]);
}

// --- P3: the skips from `site` to `bits` bits ---

static uint32_t check_skips(struct checker *k, uint32_t word, unsigned site, unsigned bits,
                            const uint64_t key[2], uint16_t out)
{
    for (unsigned half = site >> 6; half <= (bits - 1) >> 6; half++) {
        const struct skip *s = pool_at(&k->t->group->blocks, word_ref(word));
        unsigned want = bits - 64 * half < 64 ? bits - 64 * half : 64;

        if (!word_is_ref(word) || word_code(word) != CODE_SKIP) {
            check_fail(k, "P3: word %08x at depth %u is not a skip to depth %u", word, site, bits);
            return 0;
        }
        block_reached(k, word);
        if (s->bits != want || s->key != key[half] || s->out != out) {
            check_fail(k, "P3: skip from %u to %u compares %u bits with %016llx, else %u", site,
                       bits, s->bits, (unsigned long long)s->key, s->out);
            return 0;
        }
        word = s->in;
    }
    return word;
}

// --- the tree ---

static void count_node(struct checker *k, const struct node *n)
{
    k->nodes++;
    k->routes += n->n_values;
}

static void check_shape(struct checker *k, const struct node *n, const struct node *parent)
{
    uint64_t key[2] = {n->key[0], n->key[1]};

    key_mask(key, n->depth);
    if (n->n_values != __builtin_popcountll(n->routes[0]) + __builtin_popcountll(n->routes[1]) ||
        n->n_kids != __builtin_popcountll(n->kids) || depth_floor(n->depth) != n->depth ||
        key[0] != n->key[0] || key[1] != n->key[1])
        check_fail(k, "P5: node at depth %u contradicts itself", n->depth);
    if (parent == NULL)
        return;
    if (n->n_values == 0 && n->n_kids < 2)
        check_fail(k, "P5: node at depth %u has no purpose", n->depth);
    if (n->depth < depth_next(parent->depth) || !key_equal(n->key, parent->key, parent->depth))
        check_fail(k, "P5: node at depth %u does not belong under depth %u", n->depth,
                   parent->depth);
}

static void check_entry(struct checker *k, const struct kid *via, const struct node *parent,
                        unsigned site, uint16_t inherited)
{
    const struct node *n = node_at(&k->t->nodes, via->node);
    bool root6 = n->depth == 0;
    uint32_t want[64], word = via->word;
    uint64_t key[2] = {n->key[0], n->key[1]};
    unsigned bits = n->depth, span = n->depth == 60 || n->depth == 124 ? 4 : 1;

    if ((via->node & KID_DIRTY) != 0)
        check_fail(k, "P5: node at depth %u is not built", n->depth);
    check_shape(k, n, parent);
    count_node(k, n);
    if (node_is_wide(k->t, n)) {
        if (n->depth > site && word != inherited)
            word = check_skips(k, word, site, bits, key, inherited);
        check_wide(k, word, n, inherited);
        return;
    }
    for (unsigned c = 0; c < 64; c++)
        want[c] = node_value_over(n, 64 | c, inherited);
    for (unsigned c = 0; c < 64 && !k->bad; c++)
        if (node_has_kid(n, c) && !(root6 && c >= 8 && c < 16)) {
            const struct kid *kid = node_kid(n, c);

            check_entry(k, kid, n, depth_next(n->depth), want[c]);
            for (unsigned i = c; i < c + span; i++)
                want[i] = kid->word;
        }
    for (unsigned c = 8; root6 && c < 16; c++)
        want[c] = want[7];
    if (n->depth > site && n->n_kids == 0 && n->n_values == 1) {
        unsigned idx =
            n->routes[0] != 0 ? __builtin_ctzll(n->routes[0]) : 64 + __builtin_ctzll(n->routes[1]);
        unsigned l = 31 - __builtin_clz(idx);

        bits += l;
        key[n->depth >> 6] |= (uint64_t)(idx - (1u << l)) << (64 - (n->depth & 63) - l);
        for (unsigned c = 0; c < 64; c++)
            want[c] = node_value_over(n, idx, 0);
    }
    if (n->depth > site && word != inherited)
        word = check_skips(k, word, site, bits, key, inherited);
    if (!k->bad)
        check_block(k, word, want, n);
}

// --- P1: the directory ---

static void check_slots(struct checker *k, uint32_t lo, uint32_t hi, uint32_t want)
{
    const uint32_t *dir = k->t->dir;

    // the first is right and each equals the next: libc's comparison is faster than ours
    if (k->bad || lo >= hi ||
        (dir[lo] == want && memcmp(dir + lo, dir + lo + 1, (hi - lo - 1) * sizeof(*dir)) == 0))
        return;
    while (dir[lo] == want)
        lo++;
    check_fail(k, "P1: slot %u is %08x, not %08x", lo, dir[lo], want);
}

static void check_heap(struct checker *k, const struct node *n, unsigned idx, uint32_t lo,
                       uint32_t hi, uint16_t inherited)
{
    const struct poptrie *t = k->t;
    const struct kid *kid;
    const struct node *y;
    uint32_t from, to;

    if (idx > 1 && node_has_route(n, idx) && !node_is_floor(n))
        inherited = node_values(n)[node_rank(n, idx)];
    if (idx < 64) {
        check_heap(k, n, 2 * idx, lo, lo + (hi - lo) / 2, inherited);
        check_heap(k, n, 2 * idx + 1, lo + (hi - lo) / 2, hi, inherited);
        return;
    }
    if (!node_has_kid(n, idx - 64)) {
        check_slots(k, lo, hi, inherited);
        return;
    }
    kid = node_kid(n, idx - 64);
    y = node_at(&t->nodes, kid->node);
    from = key_slot(t, y->key);
    if (y->depth < t->geo.dir_bits) {
        to = from + (1u << (t->geo.dir_bits - y->depth));
        if (kid->word != 0 || (kid->node & KID_DIRTY) != 0)
            check_fail(k, "P5: node at depth %u above the directory has a word", y->depth);
        check_shape(k, y, n);
        count_node(k, y);
        check_heap(k, y, 1, from, to, inherited);
    } else {
        to = from + 1;
        check_entry(k, kid, n, t->geo.dir_bits, inherited);
        check_slots(k, from, to, kid->word);
    }
    check_slots(k, lo, from, inherited);
    check_slots(k, to, hi, inherited);
}

static void check_floor(struct checker *k, const struct node *root)
{
    const struct poptrie *t = k->t;

    for (unsigned i = 0; i < FLOOR_ENTRIES && !k->bad; i++) {
        uint16_t want = node_longest(root, FLOOR_ENTRIES | i, t->default_value);

        if (t->floor[i] != want)
            check_fail(k, "P1: floor entry %u is %u, not %u", i, t->floor[i], want);
    }
}

static void check_tree(struct checker *k)
{
    const struct poptrie *t = k->t;
    const struct node *root = node_at(&t->nodes, t->root.node);

    if (t->geo.key_bits == 32) {
        check_shape(k, root, NULL);
        count_node(k, root);
        check_heap(k, root, 1, 0, DIR4_WORDS, 0);
    } else {
        check_entry(k, &t->root, NULL, 0, 0);
        if (t->root.word != t->outside)
            check_fail(k, "P1: addresses outside 2000::/3 start at %08x, not %08x", t->outside,
                       t->root.word);
        check_heap(k, root, 9, 0, DIR6_WORDS, 0);
    }
    check_floor(k, root);
    k->routes += t->default_value != POPTRIE_NONE;
}

// --- P4, P8: the group ---

// Marks all blocks of the tree behind w; none may be marked yet.
static void mark_reachable(struct checker *k, uint64_t *seen, uint32_t w)
{
    const uint8_t *block = block_at(k->t->arena, w);

    if (!word_is_ref(w) || k->bad)
        return;
    if ((seen[word_ref(w) / 64] >> word_ref(w) % 64 & 1) != 0)
        check_fail(k, "P4: block %u is reachable twice", word_ref(w));
    seen[word_ref(w) / 64] |= (uint64_t)1 << word_ref(w) % 64;
    k->blocks++;
    if (word_code(w) == CODE_SKIP) {
        mark_reachable(k, seen, ((const struct skip *)block)->in);
        return;
    }
    for (unsigned c = 0; c < 64 && word_code(w) > CODE_MIXED; c++) {
        const uint32_t *slot = c == 0 || run_of(block, c) != run_of(block, c - 1)
                                   ? block_slot(k->t->arena, w, c)
                                   : NULL;

        if (slot != NULL)
            mark_reachable(k, seen, *slot);
    }
}

// Does a table before `o` share this tree, and are both marked so?
static bool is_reached_before(struct checker *k, const struct poptrie *o, uint32_t slot)
{
    for (unsigned i = 0; i < o->place; i++) {
        const struct poptrie *e = o->group->table[i];

        if (e == NULL || e->dir[slot] != o->dir[slot])
            continue;
        if (!slot_is_marked(e, slot) || !slot_is_marked(o, slot))
            check_fail(
                k, "P8: the tree under slot %u is shared, but tables %u and %u do not both know",
                slot, i, o->place);
        return true;
    }
    return false;
}

static void check_group_blocks(struct checker *k)
{
    const struct table_group *g = k->t->group;
    uint64_t *seen = calloc((size_t)g->blocks.top * POOL_CHUNK_UNITS / 64, sizeof(*seen));

    if (seen == NULL)
        return;
    k->blocks = 0;
    for (unsigned i = 0; i < g->places; i++) {
        const struct poptrie *o = g->table[i];

        for (uint32_t slot = 0; o != NULL && slot < dir_words(o); slot++)
            if (word_is_ref(o->dir[slot]) && !(g->places > 1 && is_reached_before(k, o, slot)))
                mark_reachable(k, seen, o->dir[slot]);
        if (o != NULL)
            mark_reachable(k, seen, o->outside);
    }
    free(seen);
    if (k->blocks + g->garbage_n - g->garbage_pages != g->blocks.blocks)
        check_fail(k, "P4: %llu blocks reachable and %zu garbage, but %llu allocated",
                   (unsigned long long)k->blocks, g->garbage_n - g->garbage_pages,
                   (unsigned long long)g->blocks.blocks);
}

static void check_pages(struct checker *k)
{
    const struct poptrie *t = k->t;
    const struct table_group *g = t->group;
    size_t words = (size_t)1 << page_bits(t);
    unsigned used = 0;

    for (unsigned p = 0; p < PAGES; p++) {
        if (t->page[p] != page_own(t, p) &&
            (t->page[p] < g->places * PAGES || t->page[p] >= g->page_top))
            check_fail(k, "P8: page %u is number %u", p, t->page[p]);
        for (unsigned c = 0; c <= t->n_copies && !k->bad; c++)
            if (memcmp((const uint32_t *)g->base[c] + t->page[p] * words, t->dir + p * words,
                       words * sizeof(*t->dir)) != 0)
                check_fail(k, "P8: page %u, number %u, of copy %u is not like the directory", p,
                           t->page[p], c);
        for (unsigned i = 0; i < g->places; i++) { // count each page number at its first table
            bool first = g->table[i] != NULL && g->table[i]->page[p] >= g->places * PAGES;

            for (unsigned e = 0; first && e < i; e++)
                first &= g->table[e] == NULL || g->table[e]->page[p] != g->table[i]->page[p];
            used += first;
        }
    }
    if (used != g->pages_used ||
        g->page_top - g->places * PAGES != used + g->garbage_pages + g->n_free_pages)
        check_fail(k, "P8: %u shared pages are read, %u counted, %zu garbage, %u free, of %u", used,
                   g->pages_used, g->garbage_pages, g->n_free_pages,
                   g->page_top - g->places * PAGES);
}

static void check_touched(struct checker *k)
{
    for (uint32_t slot = 0; slot < dir_words(k->t); slot++) {
        size_t page = slot * sizeof(*k->t->dir) / TOUCHED_PAGE;

        if (k->t->dir[slot] != 0 && (k->t->dir_touched[page / 64] >> page % 64 & 1) == 0)
            check_fail(k, "P9: slot %u is in a page that counts as never written to", slot);
    }
}

// Compares the table's counters with the results of check_tree.
static void check_reach(struct checker *k)
{
    const struct poptrie *t = k->t;
    uint64_t shared = 0;

    if (k->blocks != t->reach.blocks || k->block_bytes != t->reach.bytes ||
        k->leaves != t->reach.leaves)
        check_fail(
            k, "P4: %llu blocks, %llu bytes, %llu leaves reachable, but %llu, %llu, %llu counted",
            (unsigned long long)k->blocks, (unsigned long long)k->block_bytes,
            (unsigned long long)k->leaves, (unsigned long long)t->reach.blocks,
            (unsigned long long)t->reach.bytes, (unsigned long long)t->reach.leaves);
    for (uint32_t slot = 0; slot < dir_words(t) && t->maybe_shared != NULL; slot++)
        if (slot_is_shared(t, slot))
            shared += share_bytes(t, t->dir[slot]);
    if (shared != t->shared_bytes)
        check_fail(k, "P4: %llu bytes shared, but %llu counted", (unsigned long long)shared,
                   (unsigned long long)t->shared_bytes);
}

int poptrie_check(const struct poptrie *t, char *why, size_t n)
{
    struct checker k = {.t = t, .why = why, .n = n};

    check_tree(&k);
    check_reach(&k);
    if (t->group->tables > 1)
        check_group_blocks(&k);
    else if (k.blocks + t->group->garbage_n - t->group->garbage_pages != t->group->blocks.blocks)
        check_fail(&k, "P4: %llu blocks reachable and %zu garbage, but %llu allocated",
                   (unsigned long long)k.blocks, t->group->garbage_n,
                   (unsigned long long)t->group->blocks.blocks);
    if (k.nodes != (t->has_tree ? t->nodes.blocks : 1))
        check_fail(&k, "P5: %llu nodes reachable, but %llu allocated", (unsigned long long)k.nodes,
                   (unsigned long long)t->nodes.blocks);
    if (k.routes != t->routes)
        check_fail(&k, "P5: %llu routes stored, but %llu counted", (unsigned long long)k.routes,
                   (unsigned long long)t->routes);
    if (!pool_is_sound(&t->group->blocks) || (t->has_tree && !pool_is_sound(&t->nodes)))
        check_fail(&k, "P6: an allocator's lists disagree with its counts");
    check_copies(&k);
    check_pages(&k);
    check_touched(&k);
    return k.bad ? -EINVAL : 0;
}

// Bytes of the directory pages that have been written to.
static uint64_t dir_bytes_used(const struct poptrie *t)
{
    size_t words = TOUCHED_WORDS(t->group->dir_bytes);

    return t->huge ? touched_pieces(t->dir_touched, words, TOUCHED_WORDS(HUGE_PAGE))
                   : touched_bytes(t->dir_touched, words);
}

static uint64_t pool_and_chunks_bytes(const struct pool *p)
{
    return pool_bytes(p) + p->top * sizeof(struct pool_chunk);
}

static uint64_t garbage_list_bytes(const struct table_group *g)
{
    return g->garbage_cap * sizeof(*g->garbage) + g->blocks.top * sizeof(struct pool_chunk);
}

// Memory of a group with several tables is attributed to none of them.
void poptrie_usage(const struct poptrie *t, struct poptrie_stats *s)
{
    const struct table_group *g = t->group;
    bool alone = g->tables == 1;

    *s = (struct poptrie_stats){
        .routes = t->routes,
        .nodes = t->reach.blocks,
        .leaves = t->reach.leaves,
        .bytes_used = dir_bytes_used(t) + (alone ? pool_bytes(&g->blocks) : t->reach.bytes),
        .shared_bytes = t->shared_bytes,
        .bytes_reserved = g->dir_bytes + g->arena_bytes + ARENA_TAIL_BYTES,
        .garbage_bytes = g->garbage_bytes,
        .writer_bytes = pool_and_chunks_bytes(&t->nodes) + (alone ? garbage_list_bytes(g) : 0) +
                        touched_bytes(&t->marks_touched, 1) +
                        t->changed.cap * sizeof(struct changed) + txn_bytes(&t->txn) + sizeof(*t),
        .updates = t->updates,
    };
}
