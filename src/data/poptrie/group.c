// SPDX-License-Identifier: BSD-3-Clause
// group.c - groups of tables: shared memory, shared pages and garbage
//
// Many full tables do not fit a core's caches, and virtual routers with the same upstreams have
// nearly equal tables. So the tables of a group have one arena, in which a word means the same
// block in all tables, and share two things: trees of blocks (share.c), and pages of the directory
// for bursts of several tables, which read directories by page number. Invariant: a shared page
// never changes. A table whose directory changes returns to its own page, which is always complete.
//
//     dedupe.c   shares parts that have become equal
//     share.c    shared trees of blocks, and their separation before a change
//     txn.c      a change of one table, all or nothing
//     group.c    the memory; knows nothing about routes
//
// Most virtual routers have few routes or none, so these must cost little. A group of several
// tables starts in small pages, allocated on first write: an empty directory is the kernel's zero
// page. The directory of a table with HUGE_ROUTES routes moves to huge pages, and so do arena and
// tables once the arena has HUGE_BLOCKS bytes. A single table has huge pages from the start.
//
// Blocks that a table stops using become garbage of the group and are never freed at once: readers
// of a table that recently shared them may still be inside.
#include "poptrie/poptrie_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SMALL_PAGE ((size_t)4096)
#define HUGE_ROUTES 16384u
#define HUGE_BLOCKS ((size_t)1 << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 // Linux 6.1
#endif

// --- life cycle ---

static size_t tables_at(const struct table_group *g)
{
    return g->places * g->dir_bytes + g->pages_bytes;
}

static size_t arena_at(const struct table_group *g)
{
    return tables_at(g) + g->tables_bytes;
}

static size_t copy_bytes(const struct table_group *g)
{
    return arena_at(g) + g->arena_bytes + ARENA_TAIL_BYTES;
}

static struct poptrie *table_at(const struct table_group *g, unsigned copy, unsigned place)
{
    return (struct poptrie *)(g->base[copy] + tables_at(g)) + place;
}

// Turns present memory into huge pages at once if the kernel can, else when the kernel gets to it.
static void make_huge(uint8_t *from, uint8_t *to)
{
    uint8_t *first = (uint8_t *)((uintptr_t)from & ~(HUGE_PAGE - 1)),
            *end = (uint8_t *)(((uintptr_t)to + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));

    if (madvise(first, (size_t)(end - first), MADV_HUGEPAGE) == 0)
        madvise(first, (size_t)(end - first), MADV_COLLAPSE);
}

void table_group_grow(struct poptrie *t, uint64_t routes)
{
    struct table_group *g = t->group;

    for (unsigned k = 0; !t->huge && routes >= HUGE_ROUTES && k < POPTRIE_COPIES_MAX; k++)
        if (g->base[k] != NULL)
            make_huge(g->base[k] + t->place * g->dir_bytes,
                      g->base[k] + (t->place + 1) * g->dir_bytes);
    t->huge |= routes >= HUGE_ROUTES;
    if (g->huge || (!t->huge && g->blocks.top * (size_t)POOL_CHUNK < HUGE_BLOCKS))
        return;
    g->huge = true;
    for (unsigned k = 0; k < POPTRIE_COPIES_MAX; k++)
        if (g->base[k] != NULL) {
            madvise(g->base[k] + g->places * g->dir_bytes, copy_bytes(g) - g->places * g->dir_bytes,
                    MADV_HUGEPAGE);
            make_huge(g->base[k] + tables_at(g), g->base[k] + arena_at(g) + HUGE_BLOCKS);
        }
}

void table_group_free(struct table_group *g)
{
    for (unsigned k = 0; k < POPTRIE_COPIES_MAX; k++)
        if (g->base[k] != NULL)
            g->cfg.unmap(g->cfg.ctx, g->base[k], copy_bytes(g));
    pool_fini(&g->blocks);
    free(g->free_page);
    free(g->garbage);
    free(g);
}

// Maps all memory of readers in one piece, so that an IPv4 directory of 1 MiB gets its part of a
// huge page, as do the tables themselves, with the arena's first blocks.
static bool group_map(struct table_group *g)
{
    for (unsigned k = 0; k == 0 || k < g->cfg.copies; k++) {
        uint8_t *arena;

        g->base[k] = g->cfg.map(g->cfg.ctx, "poptrie", copy_bytes(g), k);
        if (g->base[k] == NULL)
            return false;
        if (g->places > 1)
            madvise(g->base[k], copy_bytes(g), MADV_NOHUGEPAGE);
        arena = g->base[k] + arena_at(g);
        // block 0, for lanes without a block to read: one run of 0
        memcpy(arena, &(uint64_t){1}, 8);
        if (k == 0 && pool_init(&g->blocks, arena, g->arena_bytes) != 0)
            return false;
    }
    return true;
}

static struct table_group *group_new(const struct poptrie_config *cfg,
                                     const struct tree_geometry *geo)
{
    struct table_group *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return NULL;
    g->cfg = *cfg;
    g->geo = *geo;
    g->places = cfg->places == 0 ? 1 : cfg->places;
    g->epoch = 1;
    g->dir_bytes = (geo->key_bits == 32 ? DIR4_WORDS : DIR6_WORDS) * sizeof(uint32_t);
    // each is shared by at least two tables
    g->pages_bytes = g->places == 1 ? 0 : g->places * g->dir_bytes / 2;
    g->tables_bytes =
        (g->places * sizeof(struct poptrie) + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE;
    g->page_top = g->places * PAGES;
    g->arena_bytes = (cfg->max_bytes + 2 * POOL_CHUNK - 1) / POOL_CHUNK * POOL_CHUNK;
    if (g->arena_bytes > ARENA_MAX_BYTES)
        g->arena_bytes = ARENA_MAX_BYTES;
    g->free_page = calloc(g->places * PAGES / 2, sizeof(*g->free_page));
    if (g->free_page == NULL || !group_map(g)) {
        table_group_free(g);
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
    t->arena = base + arena_at(g);
    t->first = table_at(g, copy, 0);
    t->geo = g->geo;
    for (unsigned p = 0; p < PAGES; p++)
        t->page[p] = page_own(t, p);
    return t;
}

struct poptrie *table_group_join(const struct poptrie_config *cfg, const struct tree_geometry *geo)
{
    struct table_group *g = cfg->beside != NULL ? cfg->beside->group : group_new(cfg, geo);
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
    t = place_take(g, 0, place);
    t->group = g;
    t->huge = g->places == 1;
    for (unsigned k = 1; k < g->cfg.copies; k++)
        t->copy[t->n_copies++] = place_take(g, k, place);
    g->table[place] = t;
    g->tables++;
    return t;
}

// Two IPv4 directories share a huge page: does the other one need it?
static bool huge_page_is_needed(const struct poptrie *t)
{
    const struct poptrie *other = t->group->table[t->place ^ 1];

    return t->group->dir_bytes < HUGE_PAGE && other != NULL && other->huge;
}

// Gives madvise() advice for `bytes` of the table's directory, in each copy.
static void directory_advise(const struct poptrie *t, size_t from, size_t bytes, int advice)
{
    const struct table_group *g = t->group;

    for (unsigned k = 0; k < POPTRIE_COPIES_MAX; k++)
        if (g->base[k] != NULL)
            madvise(g->base[k] + t->place * g->dir_bytes + from, bytes, advice);
}

// Zeroes its directory and gives back the memory.
static void directory_empty(const struct poptrie *t)
{
    directory_advise(t, 0, t->group->dir_bytes, MADV_DONTNEED);
    if (t->huge && !huge_page_is_needed(t))
        directory_advise(t, 0, t->group->dir_bytes, MADV_NOHUGEPAGE);
}

void table_group_leave(struct poptrie *t)
{
    t->group->table[t->place] = NULL;
    t->group->tables--;
    if (t->group->tables > 0)
        directory_empty(t);
    share_forget(t);
    vec_free(&t->changed);
}

static bool is_zero(const uint32_t *words, size_t n)
{
    return words[0] == 0 && memcmp(words, words + 1, (n - 1) * sizeof(*words)) == 0;
}

// For a large table that has become small: all of its directory is in memory.
static void directory_leave_huge(struct poptrie *t)
{
    if (!huge_page_is_needed(t))
        directory_advise(t, 0, t->group->dir_bytes, MADV_NOHUGEPAGE);
    memset(t->dir_touched, 0xff, t->group->dir_bytes / TOUCHED_PAGE / 8);
    t->huge = false;
}

// Readers see zeros before and after.
void poptrie_trim(struct poptrie *t)
{
    const size_t words = TOUCHED_PAGE / sizeof(*t->dir);

    if (t->huge && t->group->places > 1 && t->routes < HUGE_ROUTES / 2)
        directory_leave_huge(t);
    for (size_t p = 0; !t->huge && p < t->group->dir_bytes / TOUCHED_PAGE; p++) {
        if ((t->dir_touched[p / 64] >> p % 64 & 1) == 0 || !is_zero(t->dir + p * words, words))
            continue;
        directory_advise(t, p * TOUCHED_PAGE, TOUCHED_PAGE, MADV_DONTNEED);
        t->dir_touched[p / 64] &= ~((uint64_t)1 << p % 64);
    }
}

// --- garbage ---

static void garbage_grow(struct table_group *g)
{
    size_t cap = g->garbage_cap == 0 ? 1024 : 2 * g->garbage_cap;
    struct garbage *ring = malloc(cap * sizeof(*ring));

    bug_on(!ring);
    for (size_t i = 0; i < g->garbage_n; i++)
        ring[i] = g->garbage[(g->garbage_head + i) % g->garbage_cap];
    free(g->garbage);
    g->garbage = ring;
    g->garbage_cap = cap;
    g->garbage_head = 0;
}

void table_group_retire(struct table_group *g, uint32_t ref)
{
    if (g->garbage_n == g->garbage_cap)
        garbage_grow(g);
    g->garbage[(g->garbage_head + g->garbage_n++) % g->garbage_cap] =
        (struct garbage){ref, g->epoch};
    if ((ref & GARBAGE_PAGE) != 0)
        g->garbage_pages++;
    else
        g->garbage_bytes += pool_block_bytes(&g->blocks, ref);
}

uint64_t poptrie_epoch(struct poptrie *t)
{
    image_commit(t);
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

// --- pages ---

// Partner: page_word. Both pages are complete.
static void page_publish(struct poptrie *t, unsigned p, uint16_t number)
{
    for (unsigned k = 0; k < t->n_copies; k++)
        __atomic_store_n(&t->copy[k]->page[p], number, __ATOMIC_RELEASE);
    __atomic_store_n(&t->page[p], number, __ATOMIC_RELEASE);
}

void table_group_page_leave(struct poptrie *t, uint32_t *loc, uint32_t n)
{
    unsigned first = (unsigned)(loc - t->dir) >> page_bits(t),
             last = (unsigned)(loc + n - 1 - t->dir) >> page_bits(t);

    for (unsigned p = first; p <= last; p++) {
        uint16_t was = t->page[p];
        bool left = true;

        if (was == page_own(t, p))
            continue;
        page_publish(t, p, page_own(t, p));
        for (unsigned k = 0; k < t->group->places; k++)
            left &= t->group->table[k] == NULL || t->group->table[k]->page[p] != was;
        if (left) {
            table_group_retire(t->group, GARBAGE_PAGE | was);
            t->group->pages_used--;
        }
    }
}

// Makes a shared page with the content of page p; 0: none free.
static uint16_t page_make(const struct poptrie *t, unsigned p)
{
    struct table_group *g = t->group;
    size_t words = (size_t)1 << page_bits(t);
    bool as_it_is = false; // zeros, in memory that was never written to
    unsigned number;

    if (g->n_free_pages > 0) {
        number = g->free_page[--g->n_free_pages];
    } else if (g->page_top < g->places * (PAGES + PAGES / 2)) {
        number = g->page_top++;
        as_it_is = is_zero(t->dir + p * words, words);
    } else {
        return 0;
    }
    for (unsigned k = 0; !as_it_is && (k == 0 || k < g->cfg.copies); k++)
        memcpy((uint32_t *)g->base[k] + number * words, t->dir + p * words,
               words * sizeof(*t->dir));
    g->pages_used++;
    return (uint16_t)number;
}

bool table_group_page_share(struct poptrie *t, struct poptrie *o, unsigned p)
{
    if (o->page[p] == page_own(o, p)) {
        uint16_t number = page_make(o, p);

        if (number == 0)
            return false;
        page_publish(o, p, number);
    }
    page_publish(t, p, o->page[p]);
    return true;
}
