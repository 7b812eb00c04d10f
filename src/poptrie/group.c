// SPDX-License-Identifier: BSD-3-Clause
// group.c - tables in one arena: their memory, and what of it they share
//
// Many full tables do not fit a core's caches, and virtual routers with the same upstreams have nearly the same tables. So the tables of a
// group have one arena, in which a word means the same block to all of them, and two things may be shared:
//
//   - the tree of blocks under a directory slot, by tables that have the same word in that slot. Only the same slot counts, so looking for a
//     partner is one comparison for each table, and nobody counts references: a tree is shared as long as another directory has the word. Once
//     shared it is never changed: before a change the table gets blocks of its own (group_unshare), and leaves the old ones to the others;
//   - a page of the directory, by bursts of several tables, which read directories by page numbers. Such a page is never changed either: a table
//     whose directory changes goes back to reading its own, which is always whole and is what everybody else reads.
//
// poptrie_fold() makes shared what has become equal since it was called last. Whoever becomes equal to another one later finds it, so there is
// nothing to look for in between.
//
// A table that others are beside never frees at once what it alone had: readers of another one, which had it until a moment ago, may be in there. It
// is the group's garbage, and waits like all of that.
#include "poptrie/walk.h"

#include <errno.h>
#include <stdlib.h>

#define CHANGED_MAX 4096u // more to look through are all

// --- life ---

static size_t reader_bytes(const struct table_group *g)
{
    return g->places * g->dir_bytes + g->pages_bytes + g->arena_bytes + ARENA_TAIL_BYTES;
}

static size_t copy_bytes(const struct table_group *g)
{
    return reader_bytes(g) + g->places * sizeof(struct poptrie);
}

static struct poptrie *table_at(const struct table_group *g, unsigned copy, unsigned place)
{
    return (struct poptrie *)(g->base[copy] + reader_bytes(g)) + place; // 64-byte aligned, as all before it are
}

void group_free(struct table_group *g)
{
    for (unsigned k = 0; k < POPTRIE_COPIES_MAX; k++)
        if (g->base[k] != NULL)
            g->cfg.unmap(g->cfg.ctx, g->base[k], copy_bytes(g));
    pool_fini(&g->blocks);
    free(g->free_page);
    free(g->garbage);
    free(g);
}

// What readers read lies in one piece, so that an IPv4 directory of 1 MiB has its share of a huge page, and so do the tables themselves.
static bool group_map(struct table_group *g)
{
    for (unsigned k = 0; k == 0 || k < g->cfg.copies; k++) {
        uint8_t *arena;

        g->base[k] = g->cfg.map(g->cfg.ctx, "poptrie", copy_bytes(g), k);
        if (g->base[k] == NULL)
            return false;
        arena = g->base[k] + g->places * g->dir_bytes + g->pages_bytes;
        memcpy(arena, &(uint64_t){1}, 8); // block 0, for who has nothing to read: one run of 0
        if (k == 0 && pool_init(&g->blocks, arena, g->arena_bytes) != 0)
            return false;
    }
    return true;
}

static struct table_group *group_new(const struct poptrie_config *cfg, const struct tree_geometry *geo)
{
    struct table_group *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return NULL;
    g->cfg = *cfg;
    g->geo = *geo;
    g->places = cfg->places == 0 ? 1 : cfg->places;
    g->epoch = 1;
    g->dir_bytes = (geo->key_bits == 32 ? DIR4_WORDS : DIR6_WORDS) * sizeof(uint32_t);
    g->pages_bytes = g->places == 1 ? 0 : g->places * g->dir_bytes / 2; // each is of two tables, or more
    g->page_top = g->places * PAGES;
    g->arena_bytes = (cfg->max_bytes + 2 * POOL_CHUNK - 1) / POOL_CHUNK * POOL_CHUNK;
    if (g->arena_bytes > ARENA_MAX_BYTES)
        g->arena_bytes = ARENA_MAX_BYTES;
    g->free_page = calloc(g->places * PAGES / 2, sizeof(*g->free_page));
    if (g->free_page == NULL || !group_map(g)) {
        group_free(g);
        return NULL;
    }
    return g;
}

static struct poptrie *place_take(const struct table_group *g, unsigned copy, unsigned place)
{
    struct poptrie *t = table_at(g, copy, place);
    uint8_t *base = g->base[copy];

    memset(t, 0, sizeof(*t));
    t->place = place;
    t->dir = (uint32_t *)(base + place * g->dir_bytes);
    t->pages = (uint32_t *)base;
    t->arena = base + g->places * g->dir_bytes + g->pages_bytes;
    t->first = table_at(g, copy, 0);
    t->geo = g->geo;
    for (unsigned p = 0; p < PAGES; p++)
        t->page[p] = page_own(t, p);
    return t;
}

struct poptrie *group_join(const struct poptrie_config *cfg, const struct tree_geometry *geo)
{
    struct table_group *g = cfg->beside != NULL ? cfg->beside->group : group_new(cfg, geo);
    uint64_t *maybe_shared = NULL;
    struct poptrie *t;
    unsigned place = 0;

    errno = ENOMEM;
    if (g == NULL)
        return NULL;
    while (place < g->places && g->table[place] != NULL)
        place++;
    if (place == g->places) {
        errno = ENOSPC;
        return NULL;
    }
    if (g->places > 1)
        maybe_shared = calloc(g->dir_bytes / sizeof(uint32_t) / 64, sizeof(*maybe_shared));
    if (g->places > 1 && maybe_shared == NULL) {
        if (g->tables == 0)
            group_free(g);
        return NULL;
    }
    t = place_take(g, 0, place);
    t->group = g;
    t->maybe_shared = maybe_shared;
    for (unsigned k = 1; k < g->cfg.copies; k++)
        t->copy[t->n_copies++] = place_take(g, k, place);
    g->table[place] = t;
    g->tables++;
    return t;
}

// --- garbage ---

bool group_garbage_reserve(struct table_group *g, size_t more)
{
    size_t need = g->garbage_n + more, cap = g->garbage_cap == 0 ? 1024 : g->garbage_cap;
    struct garbage *ring;

    if (need <= g->garbage_cap)
        return true;
    while (cap < need)
        cap *= 2;
    ring = malloc(cap * sizeof(*ring));
    if (ring == NULL)
        return false;
    for (size_t i = 0; i < g->garbage_n; i++)
        ring[i] = g->garbage[(g->garbage_head + i) % g->garbage_cap];
    free(g->garbage);
    g->garbage = ring;
    g->garbage_cap = cap;
    g->garbage_head = 0;
    return true;
}

void group_retire(struct table_group *g, uint32_t ref)
{
    g->garbage[(g->garbage_head + g->garbage_n++) % g->garbage_cap] = (struct garbage){ref, g->epoch};
    if ((ref & GARBAGE_PAGE) != 0)
        g->garbage_pages++;
    else
        g->garbage_bytes += pool_block_bytes(&g->blocks, ref);
}

uint64_t poptrie_epoch(struct poptrie *t)
{
    return t->group->epoch++;
}

void poptrie_reclaim(struct poptrie *t, uint64_t epoch)
{
    struct table_group *g = t->group;

    while (g->garbage_n > 0) {
        const struct garbage *at = &g->garbage[g->garbage_head];

        if ((int32_t)((uint32_t)epoch - at->epoch) < 0)
            break;
        if ((at->ref & GARBAGE_PAGE) != 0) {
            g->free_page[g->n_free_pages++] = (uint16_t)at->ref;
            g->garbage_pages--;
        } else {
            g->garbage_bytes -= pool_block_bytes(&g->blocks, at->ref);
            pool_free(&g->blocks, at->ref);
        }
        g->garbage_head = (g->garbage_head + 1) % g->garbage_cap;
        g->garbage_n--;
    }
}

// --- trees of blocks ---

static bool maybe_shared(const struct poptrie *t, uint32_t slot)
{
    return t->maybe_shared != NULL && (t->maybe_shared[slot / 64] >> slot % 64 & 1) != 0;
}

bool group_shares(const struct poptrie *t, uint32_t slot)
{
    const struct table_group *g = t->group;

    if (!maybe_shared(t, slot) || !word_is_ref(t->dir[slot]))
        return false;
    for (unsigned k = 0; k < g->places; k++)
        if (g->table[k] != NULL && g->table[k] != t && g->table[k]->dir[slot] == t->dir[slot])
            return true;
    return false;
}

// Calls fn with each of the block's words that lead on.
#define FOR_WORDS_BELOW(arena, w, slot)                                                                      \
    for (uint64_t left_ = runs_with_words((arena), (w)); left_ != 0; left_ &= left_ - 1)                     \
        if (((slot) = block_slot((arena), (w), (unsigned)__builtin_ctzll(left_))) != NULL && word_is_ref(*(slot)))

// The children at which the runs of a mixed or branch block begin; none of any other.
static uint64_t runs_with_words(const uint8_t *arena, uint32_t w)
{
    uint64_t runs = 0;

    if (word_code(w) == CODE_BRANCH || (word_code(w) > CODE_MIXED && word_code(w) != CODE_SKIP))
        memcpy(&runs, block_at(arena, w), sizeof(runs));
    return runs;
}

uint64_t group_tree_bytes(const struct poptrie *t, uint32_t w)
{
    uint64_t bytes;
    const uint32_t *slot;

    if (!word_is_ref(w))
        return 0;
    bytes = pool_block_bytes(&t->group->blocks, word_ref(w));
    if (word_code(w) == CODE_SKIP)
        return bytes + group_tree_bytes(t, ((const struct skip *)pool_at(&t->group->blocks, word_ref(w)))->in);
    FOR_WORDS_BELOW(t->arena, w, slot)
        bytes += group_tree_bytes(t, *slot);
    return bytes;
}

static void tree_retire(struct poptrie *t, uint32_t w) // in a transaction
{
    const uint32_t *slot;

    txn_retire(t, w); // skips and what is behind them
    while (word_is_ref(w) && word_code(w) == CODE_SKIP)
        w = ((const struct skip *)pool_at(&t->group->blocks, word_ref(w)))->in;
    if (word_is_ref(w))
        FOR_WORDS_BELOW(t->arena, w, slot)
            tree_retire(t, *slot);
}

// The same tree in blocks of its own; in a transaction, whose error says whether it worked.
static uint32_t tree_copy(struct poptrie *t, uint32_t w)
{
    size_t bytes;
    uint32_t word, *slot;
    uint8_t *block;

    if (!word_is_ref(w) || t->txn.error != 0)
        return w;
    bytes = pool_block_bytes(&t->group->blocks, word_ref(w));
    block = txn_block(t, bytes, word_code(w), &word);
    if (block == NULL)
        return 0;
    memcpy(block, block_at(t->arena, w), bytes);
    if (word_code(w) == CODE_SKIP)
        ((struct skip *)block)->in = tree_copy(t, ((struct skip *)block)->in);
    else
        FOR_WORDS_BELOW(t->arena, word, slot)
            *slot = tree_copy(t, *slot);
    return word;
}

// Bytes behind the run vector, or the heads, that are leaves.
static size_t leaves_bytes(const uint8_t *arena, uint32_t w)
{
    uint64_t head;

    if (word_code(w) != CODE_WIDE)
        return ((run_of(block_at(arena, w), 63) + 1) * word_width(w) + 7) / 8;
    memcpy(&head, block_at(arena, w) + 56, sizeof(head));
    return (((head >> 32 & 0xffff) + __builtin_popcount((uint32_t)head)) * (head >> 48) + 7) / 8;
}

// Blocks may have anything behind their last leaf.
static bool tree_equal(const uint8_t *arena, uint32_t a, uint32_t b)
{
    const uint8_t *p = block_at(arena, a), *q = block_at(arena, b);
    const uint32_t *slot;

    if (a == b || !word_is_ref(a) || !word_is_ref(b))
        return a == b;
    if (word_code(a) != word_code(b))
        return false;
    if (word_code(a) == CODE_SKIP) {
        const struct skip *x = (const void *)p, *y = (const void *)q;

        return x->out == y->out && x->bits == y->bits && x->key == y->key && tree_equal(arena, x->in, y->in);
    }
    if (word_code(a) == CODE_WIDE)
        return memcmp(p, q, WIDE_HEAD_BYTES) == 0 && memcmp(p + WIDE_HEAD_BYTES, q + WIDE_HEAD_BYTES, leaves_bytes(arena, a)) == 0;
    if (memcmp(p, q, 8) != 0)
        return false;
    if (word_code(a) == CODE_BRANCH) {
        for (unsigned i = 0; i <= run_of(p, 63); i++)
            if (!tree_equal(arena, ((const uint32_t *)(p + 8))[i], ((const uint32_t *)(q + 8))[i]))
                return false;
        return true;
    }
    if (memcmp(p + 8, q + 8, leaves_bytes(arena, a)) != 0)
        return false;
    FOR_WORDS_BELOW(arena, a, slot)
        if (!tree_equal(arena, *slot, *(const uint32_t *)(q + ((const uint8_t *)slot - p))))
            return false;
    return true;
}

// The entry and those below it say what the tree of blocks behind `word` has in the same places; in a transaction.
static void rehang(struct poptrie *t, struct kid *kid, uint32_t word)
{
    const struct node *n = node_at(&t->nodes, kid->node);

    txn_set(t, &kid->word, word);
    while (word_is_ref(word) && word_code(word) == CODE_SKIP)
        word = ((const struct skip *)pool_at(&t->group->blocks, word_ref(word)))->in;
    if (!word_is_ref(word) || runs_with_words(t->arena, word) == 0)
        return; // the entries below have values, which are the same, or no words
    for (uint64_t m = n->kids; m != 0; m &= m - 1) {
        unsigned c = __builtin_ctzll(m);
        const uint32_t *slot = block_slot(t->arena, word, c);

        if (slot != NULL && word_is_ref(*slot))
            rehang(t, node_kid(n, c), *slot);
    }
}

// The entry that this slot's word belongs to, which is a reference.
static struct kid *entry_of(struct poptrie *t, uint32_t slot)
{
    uint64_t key[2] = {0};
    struct kid *via = &t->root;
    const struct node *n = node_at(&t->nodes, via->node);

    key[0] = t->geo.key_bits == 32 ? (uint64_t)slot << (64 - DIR4_BITS) : (uint64_t)1 << 61 | (uint64_t)slot << (64 - DIR6_BITS);
    while (n->depth < t->geo.dir_bits) {
        via = node_kid(n, key_window(key, n->depth));
        n = node_at(&t->nodes, via->node);
    }
    return via;
}

void group_changed(struct poptrie *t, uint32_t from, uint32_t n)
{
    struct changed *c = t->changed.v;

    if (t->group->tables == 1 || t->all_changed)
        return;
    if (t->changed.n > 0 && c[t->changed.n - 1].from == from && c[t->changed.n - 1].n == n)
        return;
    if (c == NULL)
        t->changed.v = c = malloc(CHANGED_MAX * sizeof(*c));
    if (c == NULL || t->changed.n == CHANGED_MAX || n == dir_words(t))
        t->all_changed = true;
    else
        c[t->changed.n++] = (struct changed){from, n};
}

// Where nobody else has the tree any more it is replaced all the same: readers of who had it a moment ago may be in there, and words in
// blocks that only this table's readers ever saw are what it replaces in place (edit.c).
static int slot_unshare(struct poptrie *t, uint32_t slot)
{
    uint64_t blocks = t->blocks, bytes = t->block_bytes;
    uint32_t word;
    int rc;

    txn_begin(t, false);
    if (!group_shares(t, slot))
        tree_retire(t, t->dir[slot]);
    word = tree_copy(t, t->dir[slot]);
    if (t->txn.error == 0)
        rehang(t, entry_of(t, slot), word);
    txn_stage(t, &t->dir[slot], 1, word);
    rc = txn_finish(t);
    t->blocks = blocks; // as many as before
    t->block_bytes = bytes;
    return rc;
}

int group_unshare(struct poptrie *t, uint32_t from, uint32_t n)
{
    if (t->maybe_shared == NULL || n == 0)
        return 0;
    group_changed(t, from, n); // whatever becomes of the change
    for (uint32_t slot = from; slot < from + n; slot++) {
        int rc;

        if (t->maybe_shared[slot / 64] == 0) {
            slot |= 63;
            continue;
        }
        if (!maybe_shared(t, slot))
            continue;
        rc = word_is_ref(t->dir[slot]) ? slot_unshare(t, slot) : 0;
        if (rc != 0)
            return rc;
        t->maybe_shared[slot / 64] &= ~((uint64_t)1 << slot % 64);
    }
    return 0;
}

// --- pages ---

// Partner: page_word. A shared page is complete, and the directory's own always is.
static void page_publish(struct poptrie *t, unsigned p, uint16_t number)
{
    for (unsigned k = 0; k < t->n_copies; k++)
        __atomic_store_n(&t->copy[k]->page[p], number, __ATOMIC_RELEASE);
    __atomic_store_n(&t->page[p], number, __ATOMIC_RELEASE);
}

void group_page_leave(struct poptrie *t, uint32_t *loc, uint32_t n)
{
    unsigned first = (unsigned)(loc - t->dir) >> page_bits(t), last = (unsigned)(loc + n - 1 - t->dir) >> page_bits(t);

    for (unsigned p = first; p <= last; p++) {
        uint16_t was = t->page[p];
        bool left = true;

        if (was == page_own(t, p))
            continue;
        page_publish(t, p, page_own(t, p));
        for (unsigned k = 0; k < t->group->places; k++)
            left &= t->group->table[k] == NULL || t->group->table[k]->page[p] != was;
        if (left) {
            group_retire(t->group, GARBAGE_PAGE | was);
            t->group->pages_used--;
        }
    }
}

// A new shared page like page p of this table; 0: there is none left.
static uint16_t page_make(const struct poptrie *t, unsigned p)
{
    struct table_group *g = t->group;
    size_t words = (size_t)1 << page_bits(t);
    unsigned number;

    if (g->n_free_pages > 0)
        number = g->free_page[--g->n_free_pages];
    else if (g->page_top < g->places * (PAGES + PAGES / 2))
        number = g->page_top++;
    else
        return 0;
    for (unsigned k = 0; k == 0 || k < g->cfg.copies; k++)
        memcpy((uint32_t *)g->base[k] + number * words, t->dir + p * words, words * sizeof(*t->dir));
    g->pages_used++;
    return (uint16_t)number;
}

static bool page_fold(struct poptrie *t, unsigned p)
{
    const struct table_group *g = t->group;
    size_t at = (size_t)p << page_bits(t), bytes = sizeof(*t->dir) << page_bits(t);

    if (t->page[p] != page_own(t, p))
        return false;
    for (unsigned k = 0; k < g->places; k++) {
        struct poptrie *o = g->table[k];

        if (o == NULL || o == t || o->routes == 0 || memcmp(o->dir + at, t->dir + at, bytes) != 0)
            continue;
        if (o->page[p] == page_own(o, p)) {
            uint16_t number = page_make(o, p);

            if (number == 0)
                return false;
            page_publish(o, p, number);
        }
        page_publish(t, p, o->page[p]);
        return true;
    }
    return false;
}

// --- folding ---

static void share(struct poptrie *t, uint32_t slot)
{
    t->maybe_shared[slot / 64] |= (uint64_t)1 << slot % 64;
}

// Another table whose tree under this slot is equal, one that shares it already if there is such.
static struct poptrie *equal_beside(const struct poptrie *t, uint32_t slot)
{
    const struct table_group *g = t->group;
    struct poptrie *found = NULL;

    for (unsigned k = 0; k < g->places; k++) {
        struct poptrie *o = g->table[k];

        if (o == NULL || o == t || !word_is_ref(o->dir[slot]) || (found != NULL && !maybe_shared(o, slot)))
            continue;
        if (tree_equal(t->arena, t->dir[slot], o->dir[slot])) {
            found = o;
            if (maybe_shared(o, slot))
                break;
        }
    }
    return found;
}

static bool slot_fold(struct poptrie *t, uint32_t slot)
{
    struct poptrie *o;
    uint32_t word = t->dir[slot];
    uint64_t blocks = t->blocks, bytes = t->block_bytes;
    int rc;

    if (!word_is_ref(word) || group_shares(t, slot))
        return false;
    o = equal_beside(t, slot);
    if (o == NULL)
        return false;
    txn_begin(t, false);
    tree_retire(t, word);
    rehang(t, entry_of(t, slot), o->dir[slot]);
    txn_stage(t, &t->dir[slot], 1, o->dir[slot]);
    rc = txn_finish(t);
    if (rc != 0)
        return false;
    t->blocks = blocks; // as many as before, and as large
    t->block_bytes = bytes;
    share(t, slot);
    share(o, slot);
    return true;
}

// Marks the pages of the slots.
static bool range_fold(struct poptrie *t, struct changed c, bool page[PAGES])
{
    bool any = false;

    for (uint32_t slot = c.from; slot < c.from + c.n; slot++) {
        any |= slot_fold(t, slot);
        page[slot >> page_bits(t)] = true;
    }
    return any;
}

bool poptrie_fold(struct poptrie *t)
{
    const struct changed *c = t->changed.v;
    bool any = false, page[PAGES] = {false};

    if (t->all_changed)
        any = range_fold(t, (struct changed){0, dir_words(t)}, page);
    for (size_t i = 0; !t->all_changed && i < t->changed.n; i++)
        any |= range_fold(t, c[i], page);
    for (unsigned p = 0; (t->all_changed || t->changed.n > 0) && p < PAGES; p++)
        if (page[p])
            any |= page_fold(t, p);
    t->all_changed = false;
    t->changed.n = 0;
    return any;
}

// --- the end ---

// Of a table that nobody reads any more, in a group that goes on. Readers of other tables may be in what it has: that becomes garbage.
static void place_leave(struct poptrie *t)
{
    struct table_group *g = t->group;

    txn_begin(t, true);
    for (uint32_t i = 0; t->routes > 0 && i < dir_words(t); i++)
        if (!group_shares(t, i))
            tree_retire(t, t->dir[i]);
    tree_retire(t, t->outside);
    if (t->routes > 0)
        txn_stage(t, t->dir, dir_words(t), 0);
    if (txn_finish(t) == 0) {
        group_page_leave(t, t->dir, dir_words(t));
        return;
    }
    for (unsigned k = 0; k == 0 || k < g->cfg.copies; k++) // without memory for the list of garbage the arena loses the blocks, no more
        memset(k == 0 ? t->dir : t->copy[k - 1]->dir, 0, g->dir_bytes);
}

void group_leave(struct poptrie *t)
{
    struct table_group *g = t->group;

    if (g->tables > 1)
        place_leave(t);
    g->table[t->place] = NULL;
    g->tables--;
    free(t->maybe_shared);
    free(t->changed.v);
}
