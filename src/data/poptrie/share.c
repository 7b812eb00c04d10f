// SPDX-License-Identifier: BSD-3-Clause
// share.c - trees of blocks shared by several tables of a group
//
// Tables with the same word in the same directory slot share the tree behind it. Only equal slots
// count, so finding partners takes one comparison per table, and there are no reference counts.
// Invariant: a shared tree never changes; before a change, the table makes its own blocks
// (share_separate) and leaves the old ones to the others.
#include "poptrie/walk.h"

#include <errno.h>
#include <sys/mman.h>

// Counts other tables that share the tree in this slot, up to `enough`; *one: the last one found.
static unsigned tables_with_tree(const struct poptrie *t, uint32_t slot, unsigned enough,
                                 struct poptrie **one)
{
    const struct table_group *g = t->group;
    unsigned n = 0;

    if (!slot_is_marked(t, slot) || !word_is_ref(t->dir[slot]))
        return 0;
    for (unsigned k = 0; k < g->places && n < enough; k++)
        if (g->table[k] != NULL && g->table[k] != t && g->table[k]->dir[slot] == t->dir[slot]) {
            *one = g->table[k];
            n++;
        }
    return n;
}

bool slot_is_shared(const struct poptrie *t, uint32_t slot)
{
    struct poptrie *one;

    return tables_with_tree(t, slot, 1, &one) > 0;
}

uint64_t share_bytes(const struct poptrie *t, uint32_t w)
{
    uint64_t bytes;
    const uint32_t *slot;

    if (!word_is_ref(w))
        return 0;
    bytes = pool_block_bytes(&t->group->blocks, word_ref(w));
    if (word_code(w) == CODE_SKIP)
        return bytes +
               share_bytes(t, ((const struct skip *)pool_at(&t->group->blocks, word_ref(w)))->in);
    FOR_WORDS_BELOW(t->arena, w, slot)
    bytes += share_bytes(t, *slot);
    return bytes;
}

static void tree_retire(struct poptrie *t, uint32_t w) // in a transaction
{
    const uint32_t *slot;

    txn_retire(t, w); // skips, and the block after them
    while (word_is_ref(w) && word_code(w) == CODE_SKIP)
        w = ((const struct skip *)pool_at(&t->group->blocks, word_ref(w)))->in;
    if (word_is_ref(w))
        FOR_WORDS_BELOW(t->arena, w, slot)
    tree_retire(t, *slot);
}

// Copies a tree into new blocks, in a transaction, whose error tells the result.
static uint32_t tree_copy(struct poptrie *t, uint32_t w)
{
    size_t bytes;
    uint32_t word, *slot;
    uint8_t *block;

    if (!word_is_ref(w) || t->txn.full)
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

// Sets the words of the entry and of those below it to the tree of blocks behind `word`, in a
// transaction.
static void entry_set_words(struct poptrie *t, struct kid *kid, uint32_t word)
{
    const struct node *n = node_at(&t->nodes, kid->node);

    txn_set(t, &kid->word, word);
    while (word_is_ref(word) && word_code(word) == CODE_SKIP)
        word = ((const struct skip *)pool_at(&t->group->blocks, word_ref(word)))->in;
    // the entries below have equal values, or no words
    if (!word_is_ref(word) || runs_that_lead_on(t->arena, word) == 0)
        return;
    for (uint64_t m = n->kids; m != 0; m &= m - 1) {
        unsigned c = __builtin_ctzll(m);
        const uint32_t *slot = block_slot(t->arena, word, c);

        if (slot != NULL && word_is_ref(*slot))
            entry_set_words(t, node_kid(n, c), *slot);
    }
}

// The entry of this slot's word, which is a reference.
static struct kid *entry_of(struct poptrie *t, uint32_t slot)
{
    uint64_t key[2] = {0};
    struct kid *via = &t->root;
    const struct node *n = node_at(&t->nodes, via->node);

    key[0] = t->geo.key_bits == 32 ? (uint64_t)slot << (64 - DIR4_BITS)
                                   : (uint64_t)1 << 61 | (uint64_t)slot << (64 - DIR6_BITS);
    while (n->depth < t->geo.dir_bits) {
        via = node_kid(n, key_window(key, n->depth));
        n = node_at(&t->nodes, via->node);
    }
    return via;
}

// Also replaces a tree that no other table shares any more: readers of a table that recently had it
// may be inside, and words may be replaced in place (edit.c) only in blocks that no other table's
// readers ever saw.
static int slot_separate(struct poptrie *t, uint32_t slot)
{
    const struct reach was = t->reach;
    struct poptrie *other;
    unsigned n = tables_with_tree(t, slot, 2, &other);
    uint32_t word;
    int rc;

    txn_begin(t, false);
    if (n == 0)
        tree_retire(t, t->dir[slot]);
    word = tree_copy(t, t->dir[slot]);
    if (!t->txn.full)
        entry_set_words(t, entry_of(t, slot), word);
    txn_stage(t, &t->dir[slot], 1, word);
    rc = txn_finish(t);
    if (n > 0)
        t->shared_bytes -= t->reach.bytes - was.bytes;
    if (n == 1)
        other->shared_bytes -= t->reach.bytes - was.bytes;
    t->reach = was; // unchanged
    return rc;
}

int share_separate(struct poptrie *t, uint32_t from, uint32_t n)
{
    if (t->maybe_shared == NULL)
        return 0;
    for (uint32_t slot = from; slot < from + n; slot++) {
        int rc;

        if (t->maybe_shared[slot / 64] == 0) {
            slot |= 63;
            continue;
        }
        if (!slot_is_marked(t, slot))
            continue;
        rc = word_is_ref(t->dir[slot]) ? slot_separate(t, slot) : 0;
        if (rc != 0)
            return rc;
        t->maybe_shared[slot / 64] &= ~((uint64_t)1 << slot % 64);
    }
    return 0;
}

static void slot_mark(struct poptrie *t, uint32_t slot)
{
    t->maybe_shared[slot / 64] |= (uint64_t)1 << slot % 64;
    touched_mark(&t->marks_touched, slot / 8);
}

// Before the first slot_mark. Usually few bits are set, so pages are allocated on first touch.
static bool marks_make(struct poptrie *t)
{
    void *p;

    if (t->maybe_shared != NULL)
        return true;
    p = mmap(NULL, dir_words(t) / 8, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED)
        t->maybe_shared = p;
    return p != MAP_FAILED;
}

int share_adopt(struct poptrie *t, uint32_t slot, struct poptrie *o)
{
    const struct reach was = t->reach;
    bool first = !slot_is_shared(o, slot);
    int rc;

    if (!marks_make(t) || !marks_make(o))
        return -ENOMEM;
    txn_begin(t, false);
    tree_retire(t, t->dir[slot]);
    entry_set_words(t, entry_of(t, slot), o->dir[slot]);
    txn_stage(t, &t->dir[slot], 1, o->dir[slot]);
    rc = txn_finish(t);
    if (rc != 0)
        return rc;
    t->shared_bytes += was.bytes - t->reach.bytes;
    if (first)
        o->shared_bytes += was.bytes - t->reach.bytes;
    t->reach = was; // unchanged
    slot_mark(t, slot);
    slot_mark(o, slot);
    return 0;
}

void share_count_leaving(struct poptrie *t, bool leaves)
{
    struct poptrie *other;

    for (uint32_t slot = 0; t->shared_bytes > 0 && slot < dir_words(t); slot++)
        if (t->maybe_shared[slot / 64] == 0)
            slot |= 63;
        else if (tables_with_tree(t, slot, 2, &other) == 1)
            other->shared_bytes += share_bytes(t, t->dir[slot]) * (leaves ? -1 : 1);
}

void share_forget(struct poptrie *t)
{
    if (t->maybe_shared != NULL)
        munmap(t->maybe_shared, dir_words(t) / 8);
    t->maybe_shared = NULL;
    t->marks_touched = 0;
    t->shared_bytes = 0;
}

// Readers of other tables may be inside the table's blocks, so they become garbage.
void share_retire_all(struct poptrie *t)
{
    share_count_leaving(t, true);
    txn_begin(t, true);
    edit_retire_tree(t, t->root);
    txn_finish(t);
    table_group_page_leave(t, t->dir, dir_words(t));
}
