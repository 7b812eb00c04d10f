// SPDX-License-Identifier: BSD-3-Clause
// poptrie_priv.h - struct poptrie and internal interfaces; private to poptrie's own files
//
// layout.h has the words and blocks.
//
// Tables made with poptrie_config.beside form a group with one arena, so a word means the same
// block in each, and equal trees in equal directory slots are the same blocks. Each table has a
// complete, flat directory, which bursts of one table read. Bursts of several tables read
// directories in pages, through a table of page numbers; equal pages are shared. group.c has the
// memory, share.c and dedupe.c the sharing.
#ifndef POPTRIE_POPTRIE_PRIV_H
#define POPTRIE_POPTRIE_PRIV_H

#include "base/touched.h"
#include "base/vec.h"
#include "poptrie/image.h"
#include "poptrie/layout.h"
#include "poptrie/poptrie.h"
#include "poptrie/pool.h"
#include "poptrie/tree.h"

#include <stdbool.h>
#include <string.h>

#define ARENA_MAX_BYTES ((size_t)8 << 26)
_Static_assert(FLOOR_BITS == POPTRIE_FLOOR_BITS, "as users are told");

#define PAGES 512u     // of a directory
#define PAGE4_BITS 9u  // an IPv4 page has 2^this words
#define PAGE6_BITS 12u // an IPv6 page

#define GROUP_TABLES POPTRIE_TABLES_MAX
#define HUGE_PAGE ((size_t)2 << 20)

#define GARBAGE_PAGE 0x80000000u // in garbage.ref: a shared page's number
struct garbage {
    uint32_t ref;
    uint32_t epoch; // low half
};

struct store { // words to publish: loc[0..n) = word
    uint32_t *loc;
    uint32_t n, word;
};

struct undo { // former content of the writer's memory
    uint32_t *loc, old;
};

// One change: new blocks, retired blocks, stores (txn.c).
struct txn {
    VEC(struct undo) undo;
    VEC(uint32_t) fresh; // words of new blocks
    VEC(uint32_t) dead;  // words of blocks to retire
    VEC(struct store) stores;
    bool whole_tree; // a load: failure discards the whole new tree, so no undo in it
    bool full;       // a block found no room
};

// Memory reachable by a table's readers.
struct reach {
    uint64_t blocks, bytes, leaves;
};

// Slots whose trees have changed since the last dedupe.
struct changed {
    uint32_t from, n;
};

// Shared by the tables of a group; only the writer uses it.
struct table_group {
    struct poptrie *table[GROUP_TABLES]; // by place; NULL: free
    unsigned places, tables;             // places in it, and tables present
    struct pool blocks;                  // walked by readers
    struct poptrie_config cfg;
    struct tree_geometry geo;
    // of a copy: the directories, shared pages, the copy's tables, the arena, its tail
    size_t dir_bytes, pages_bytes, tables_bytes, arena_bytes;
    bool huge; // tables and arena are in huge pages
    uint8_t *base[POPTRIE_COPIES_MAX]; // of each copy
    uint16_t *free_page;               // numbers of unused shared pages
    unsigned n_free_pages, page_top, pages_used;
    struct garbage *garbage; // ring
    size_t garbage_cap, garbage_head, garbage_n, garbage_pages;
    uint64_t garbage_bytes;
    uint64_t epoch;
    struct poptrie_watch watch; // NULL callbacks: not watched
};

struct poptrie {
    // --- readers: three cache lines; bursts of several tables also read `page` for each address
    // ---
    struct poptrie_front front;
    uint32_t *dir;
    const uint8_t *arena;
    // page 0; the group's directories lie there in one piece, followed by its shared pages
    uint32_t *pages;
    const struct poptrie *first; // table at place 0 of the group: the tables also lie in one piece
    uint32_t outside;            // word of IPv6 addresses outside 2000::/3, from depth 0
    // by the first bits of the address: the answer for a leaf of 0
    uint16_t floor[FLOOR_ENTRIES] __attribute__((aligned(64)));
    // numbers of the directory's pages: in `dir`, or shared by several tables
    uint16_t page[PAGES] __attribute__((aligned(64)));
    // --- writer ---
    uint32_t default_value; // of 0.0.0.0/0 or ::/0, which is not in the tree
    struct kid root;
    struct tree_geometry geo;
    struct table_group *group;
    unsigned place;    // in the group
    struct pool nodes; // the writer's tree
    size_t node_bytes;
    bool has_tree; // else `root` is the common empty node
    bool huge;     // the directory is in huge pages
    // parts for readers of other copies, at the end of that copy's memory
    struct poptrie *copy[POPTRIE_COPIES_MAX - 1];
    unsigned n_copies; // of them
    uint64_t routes;
    struct reach reach;
    uint64_t shared_bytes; // part of reach.bytes that other tables share
    struct txn txn;
    // a bit per slot: another table may have the same tree; NULL: none
    uint64_t *maybe_shared;
    VEC(struct changed) changed; // if there are other tables
    uint64_t dir_touched[TOUCHED_WORDS(DIR6_WORDS * sizeof(uint32_t))]; // pages of `dir`
    uint64_t marks_touched; // pages of `maybe_shared`
    bool all_changed;   // too many for `changed`
    uint64_t updates, rebuilt;
} __attribute__((aligned(64)));

static inline unsigned value_bits(uint32_t v)
{
    return v == 0 ? 0 : 32 - __builtin_clz(v);
}

// Leaf and mixed blocks, which the first passes of all kernels handle.
static inline bool word_is_plain(uint32_t w)
{
    // no branch: random addresses would mispredict it
    return w / WORD_REF & ~(CODES_SPECIAL >> word_code(w)) & 1;
}

static inline uint32_t word_make(uint32_t ref, uint32_t code)
{
    return WORD_REF | code << WORD_CODE_SHIFT | ref;
}

// Partner: word_publish. A reader that sees the word also sees its block.
static inline uint32_t word_load(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

// Partner: word_load, and the gathers of the vector kernels (x86 keeps loads in order).
static inline void word_publish(uint32_t *p, uint32_t w)
{
    __atomic_store_n(p, w, __ATOMIC_RELEASE);
}

// Returns the address in copy c of a word of the first copy: in the directory, the arena or
// `outside`.
static inline void *copy_at(const struct poptrie *t, const struct poptrie *c, const void *p)
{
    if (p == &t->outside)
        return (void *)(uintptr_t)&c->outside;
    return (char *)c->pages + ((const char *)p - (const char *)t->pages);
}

static inline uint64_t load_be64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return __builtin_bswap64(v);
}

// Loads the key as two host-order halves, with bits beyond len cleared.
static inline void key_load(const struct poptrie *t, const uint8_t *key, unsigned len,
                            uint64_t out[2])
{
    uint8_t b[16] = {0};

    memcpy(b, key, t->geo.key_bits / 8);
    out[0] = load_be64(b);
    out[1] = load_be64(b + 8);
    key_mask(out, len);
}

// Does the directory cover this address?
static inline bool key_has_slot(const struct poptrie *t, const uint64_t key[2])
{
    return t->geo.key_bits == 32 || key[0] >> 61 == 1;
}

static inline uint32_t key_slot(const struct poptrie *t, const uint64_t key[2])
{
    return t->geo.key_bits == 32 ? key[0] >> (64 - DIR4_BITS)
                                 : key[0] >> (64 - DIR6_BITS) & (DIR6_WORDS - 1);
}

static inline uint32_t dir_words(const struct poptrie *t)
{
    return t->geo.key_bits == 32 ? DIR4_WORDS : DIR6_WORDS;
}

// An IPv4 node at depth 24: the wide block includes its children at depth 30.
static inline bool node_is_wide(const struct poptrie *t, const struct node *n)
{
    return t->geo.key_bits == 32 && n->depth == WIDE_DEPTH && n->n_kids > 0;
}

// Changes of short routes mostly wait for these.
static inline void prefetch_kids(const struct poptrie *t, const struct node *n)
{
    for (const struct kid *k = node_kids(n); k < node_kids(n) + n->n_kids; k++) {
        const char *kid = (const char *)node_at(&t->nodes, k->node);

        __builtin_prefetch(kid);
        __builtin_prefetch(kid + 64);
    }
}

// --- group.c: the memory of a group ---

// adds a table to its group, which may be new; NULL with errno
struct poptrie *table_group_join(const struct poptrie_config *cfg, const struct tree_geometry *geo);
void table_group_leave(struct poptrie *t);
// Call with the present or future number of routes: moves the readers' memory to huge pages if
// worthwhile.
void table_group_grow(struct poptrie *t, uint64_t routes);
void table_group_free(struct table_group *g); // when it has no tables left
void table_group_retire(struct table_group *g, uint32_t ref);
// returns the table to its own pages for these words of the directory
void table_group_page_leave(struct poptrie *t, uint32_t *loc, uint32_t n);
// lets both tables read one page p, which is equal in both; false: no page is free
bool table_group_page_share(struct poptrie *t, struct poptrie *o, unsigned p);

static inline unsigned page_bits(const struct poptrie *t)
{
    return t->geo.key_bits == 32 ? PAGE4_BITS : PAGE6_BITS;
}

// the number of a page in the table's own directory
static inline uint16_t page_own(const struct poptrie *t, unsigned p)
{
    return (uint16_t)(t->place * PAGES + p);
}

// The directory word for readers of several tables. `pages`: of any table of the group. Partners:
// page_publish in group.c; word_publish.
static inline const uint32_t *page_word_of(const struct poptrie *t, const uint32_t *pages,
                                           uint32_t slot, unsigned bits)
{
    size_t page = __atomic_load_n(&t->page[slot >> bits], __ATOMIC_ACQUIRE);

    return &pages[page << bits | (slot & ((1u << bits) - 1))];
}

static inline const uint32_t *page_word(const struct poptrie *t, uint32_t slot, unsigned bits)
{
    return page_word_of(t, t->pages, slot, bits);
}

// --- txn.c: a change, all or nothing ---

uint64_t txn_bytes(const struct txn *x);                // of its lists

void txn_begin(struct poptrie *t, bool whole_tree);
void *txn_block(struct poptrie *t, size_t bytes, uint32_t code, uint32_t *word); // NULL: no room
void txn_set(struct poptrie *t, uint32_t *loc, uint32_t v); // writes the writer's memory, undoable
void txn_stage(struct poptrie *t, uint32_t *loc, uint32_t n, uint32_t word); // loc[0..n) = word
void txn_retire(struct poptrie *t, uint32_t w); // w's blocks down to the first that is not a skip
int txn_finish(struct poptrie *t);              // publishes and returns 0; or undoes and returns
                                                // the error
void txn_fini(struct poptrie *t);

// --- image.c: tells watchers before readers can see a change, and after a batch of changes ---

void image_txn(struct poptrie *t);
void image_floor(struct poptrie *t);
void image_commit(struct poptrie *t);
void image_end(struct poptrie *t);

// --- share.c: trees of several tables ---

// May another table have the same tree under this slot?
static inline bool slot_is_marked(const struct poptrie *t, uint32_t slot)
{
    return t->maybe_shared != NULL && (t->maybe_shared[slot / 64] >> slot % 64 & 1) != 0;
}

bool slot_is_shared(const struct poptrie *t, uint32_t slot); // does another table share it?
uint64_t share_bytes(const struct poptrie *t, uint32_t w);   // of the blocks behind the word
// replaces the table's tree by o's, which is equal; 0, or an error with nothing changed
int share_adopt(struct poptrie *t, uint32_t slot, struct poptrie *o);
// Before a change of slots [from, from + n): gives the table its own copies of their trees. 0, or
// an error with nothing changed.
int share_separate(struct poptrie *t, uint32_t from, uint32_t n);
// The table is about to leave all its trees to the others, or no longer so: a table that shares a
// tree only with this one no longer counts it as shared, or counts it again.
void share_count_leaving(struct poptrie *t, bool leaves);
void share_forget(struct poptrie *t); // after leaving them
// the table has no readers left, and others stay: retires everything it has
void share_retire_all(struct poptrie *t);

// --- dedupe.c: shares equal parts (poptrie_dedupe) ---

// the next dedupe examines these slots
void dedupe_later(struct poptrie *t, uint32_t from, uint32_t n);

// --- block.c: a node's block ---

// The route being changed, to determine which inherited values change with it.
struct target {
    unsigned depth, idx; // node depth and heap index; idx 0 = none
    uint16_t was;
};

// Makes the word of the node that `via` leads to, as seen from depth `site`, where it inherits
// `new` and used to inherit `old`. Children whose inherited value stays keep their words.
void block_build(struct poptrie *t, struct kid *via, unsigned site, uint16_t old, uint16_t new,
                 struct target tg);

// --- edit.c: affected words ---

// The route key/len changed from value `was` to `is` (0 = absent); the tree already has the change.
void edit_route(struct poptrie *t, const struct tree_change *c, const uint64_t key[2], unsigned len,
                uint16_t was, uint16_t is);
void edit_everything(struct poptrie *t);                   // after a load: all words from scratch
void edit_retire_tree(struct poptrie *t, struct kid root); // the blocks of a replaced tree

// --- kernels ---

void poptrie_choose_kernel(void); // unless one was set

struct kernel {
    const char *name;
    void (*find4)(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value, unsigned n);
    void (*find6)(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value, unsigned n);
    void (*find4_each)(const struct poptrie *const *each, const uint32_t *dst_be, uint32_t *value,
                       unsigned n);
    void (*find6_each)(const struct poptrie *const *each, const uint8_t (*dst)[16], uint32_t *value,
                       unsigned n);
    bool (*find4_of)(const void *const *of, const uint16_t *which, const struct poptrie **each,
                     const uint32_t *dst_be, uint32_t *value, unsigned n); // NULL: always false
};

void poptrie_find6_scalar(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value,
                          unsigned n);
void poptrie_find4_each_scalar(const struct poptrie *const *each, const uint32_t *dst_be,
                               uint32_t *value, unsigned n);
void poptrie_find6_each_scalar(const struct poptrie *const *each, const uint8_t (*dst)[16],
                               uint32_t *value, unsigned n);

extern const struct kernel poptrie_kernel_scalar;
extern const struct kernel poptrie_kernel_neon;
extern const struct kernel poptrie_kernel_avx2;
extern const struct kernel poptrie_kernel_avx512;
extern const struct kernel poptrie_kernel_avx512_vpopcnt;
extern const struct kernel poptrie_kernel_avx512_loads;

#endif
