// SPDX-License-Identifier: BSD-3-Clause
// set4_change.c - changes of the IPv4 half of a set: built aside, then put in force (set4.h)
//
// A change is a sorted list. For each /17 it touches, it builds a new node with new leaves,
// invisible to readers. If there is room for all of them, the directory's words are stored, one for
// each /17; else everything is released and nothing has changed. Members of 0..16 bits need no
// memory.
#include "acl/set4.h"

#include <errno.h>
#include <stdlib.h>

#include "acl/pages.h"

#define RESERVED ((size_t)1 << 30) // address space that SET4_REF can name
#define MANY 30000u // members from which huge pages pay
#define DIR_BYTES (SET4_DIR * sizeof(uint32_t))

// --- life ---

struct set4 *set4_new(size_t max_bytes, size_t expected)
{
    struct set4 *s = calloc(1, sizeof *s);
    size_t arena = RESERVED;

    if (!s)
        return NULL;
    if (max_bytes && max_bytes < RESERVED)
        arena = (max_bytes + PAGES_HUGE - 1) & ~(PAGES_HUGE - 1);
    s->max_bytes = max_bytes;
    s->mapped_bytes = DIR_BYTES + arena;
    s->dir = pages_map(s->mapped_bytes, expected >= MANY);
    s->arena = (uint8_t *)s->dir + DIR_BYTES;
    s->members = expected; // for the first filter
    if (!s->dir || pool_init(&s->pool, s->arena, arena) || !set4_filter_fit(s, SIZE_MAX, 0)) {
        set4_free(s);
        errno = ENOMEM;
        return NULL;
    }
    s->members = 0;
    return s;
}

void set4_free(struct set4 *s)
{
    if (!s)
        return;
    pool_fini(&s->pool);
    pages_unmap(s->dir, s->mapped_bytes);
    set4_filter_free((struct set4_filter *)s->filter);
    set4_filter_free(s->old_filter);
    vec_free(&s->garbage);
    vec_free(&s->fresh);
    vec_free(&s->dead);
    vec_free(&s->pending);
    free(s);
}

size_t set4_bytes(const struct set4 *s)
{
    return DIR_BYTES + set4_filter_bytes(s->filter) + set4_filter_bytes(s->old_filter) +
           pool_bytes(&s->pool);
}

size_t set4_writer_bytes(const struct set4 *s)
{
    return sizeof *s + s->pool.top * sizeof *s->pool.chunk +
           s->garbage.cap * sizeof *s->garbage.item + s->pending.cap * sizeof *s->pending.item +
           (s->fresh.cap + s->dead.cap) * sizeof *s->fresh.item;
}

void set4_reclaim(struct set4 *s, uint64_t epoch)
{
    size_t kept = 0;

    vec_foreach (&s->garbage, g) {
        if ((size_t)(g - s->garbage.item) + 8 < s->garbage.n) {
            __builtin_prefetch(pool_at(&s->pool, g[8].ref), 1);
            __builtin_prefetch(&s->pool.chunk[g[8].ref / POOL_CHUNK_UNITS], 1);
        }
        if (g->epoch <= epoch)
            pool_free(&s->pool, g->ref);
        else
            s->garbage.item[kept++] = *g;
    }
    s->garbage.n = kept;
    if (s->old_filter && s->old_filter_epoch <= epoch) {
        set4_filter_free(s->old_filter);
        s->old_filter = NULL;
    }
}

// --- changes in order ---

static uint64_t sort_key(const struct set4_change *c)
{
    return (uint64_t)c->addr << 8 | (uint64_t)c->len << 1 | c->add;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = sort_key(a), y = sort_key(b);

    return (x > y) - (x < y);
}

void set4_sort(struct set4_change *c, size_t n)
{
    size_t i = 1;

    while (i < n && by_key(&c[i - 1], &c[i]) <= 0)
        i++;
    if (i < n)
        qsort(c, n, sizeof *c, by_key);
}

// --- a node's parts ---

struct parts {
    uint64_t all[2], code[4]; // members of 17..24 bits
    uint64_t longs[2];        // /24s with longer members, which have child[]
    uint32_t child[128];
    int64_t more; // members added minus removed
    bool changed;
};

static void parts_read(const struct set4 *s, uint32_t word, struct parts *p)
{
    const struct set4_shorts *n = set4_at(s, word);

    memset(p, 0, offsetof(struct parts, child));
    p->more = 0;
    p->changed = false;
    if (!(word & SET4_REF))
        return;
    if (word & SET4_SHORTS)
        memcpy(p->code, n->code, sizeof p->code);
    memcpy(p->longs, n->longs, sizeof p->longs);
    const uint32_t *child = set4_children(s, word);
    for (unsigned i = 0; i < 2; i++)
        for (uint64_t m = p->longs[i]; m; m &= m - 1)
            p->child[64 * i + (unsigned)__builtin_ctzll(m)] = *child++;
}

// Marks the /24s that members of 17..24 bits cover. Returns whether there are any.
static bool parts_paint(struct parts *p)
{
    bool any = false;

    for (unsigned w = 0; w < 4; w++)
        for (uint64_t m = p->code[w]; m; m &= m - 1) {
            unsigned code = 64 * w + (unsigned)__builtin_ctzll(m),
                     rest = (unsigned)__builtin_clz(code) - 24;
            for (unsigned at = (code << rest) - 128, end = at + (1u << rest); at < end; at++)
                p->all[at / 64] |= 1ull << at % 64;
            any = true;
        }
    return any;
}

// Writes a node of these parts; *word keeps SET4_ALL. False: no room.
static bool parts_write(struct set4 *s, struct parts *p, uint32_t *word)
{
    bool shorts = parts_paint(p);
    struct set4_shorts n = {0};
    uint32_t child[128], used = 0, ref;
    size_t head = shorts ? sizeof n : sizeof(struct set4_node);

    memcpy(n.all, p->all, sizeof n.all);
    memcpy(n.code, p->code, sizeof n.code);
    for (unsigned i = 0; i < 2; i++)
        for (uint64_t m = p->longs[i]; m; m &= m - 1)
            child[used++] = p->child[64 * i + (unsigned)__builtin_ctzll(m)];
    memcpy(n.longs, p->longs, sizeof n.longs);
    for (unsigned i = 1; i < 4; i++)
        n.below[i] = (uint8_t)(n.below[i - 1] + __builtin_popcount(n.longs[i - 1]));
    *word &= SET4_ALL;
    if (!shorts && !used)
        return true;
    ref = pool_alloc(&s->pool, head + used * sizeof *child);
    if (!ref)
        return false;
    *vec_push(&s->fresh) = ref;
    uint8_t *at = pool_at(&s->pool, ref);
    memcpy(at, &n, head);
    memcpy(at + head, child, used * sizeof *child);
    *word |= ref | (shorts ? SET4_SHORTS : 0);
    return true;
}

// --- a change ---

static size_t bytes_left(const struct set4 *s)
{
    size_t bytes = set4_bytes(s);

    return !s->max_bytes ? SIZE_MAX : s->max_bytes > bytes ? s->max_bytes - bytes : 0;
}

static uint32_t parts_child(const struct parts *p, unsigned i)
{
    return set4_bit(p->longs, i) ? p->child[i] : 0;
}

static void parts_set_child(struct parts *p, unsigned i, uint32_t word)
{
    uint64_t bit = 1ull << i % 64;

    p->child[i] = word;
    p->longs[i / 64] = word ? p->longs[i / 64] | bit : p->longs[i / 64] & ~bit;
}

static bool bit_change(uint64_t *bits, unsigned code, bool to)
{
    uint64_t bit = 1ull << code % 64;

    if (!!(bits[code / 64] & bit) == to)
        return false;
    bits[code / 64] ^= bit;
    return true;
}

static void parts_note(struct set4 *s, struct parts *p, const struct set4_change *c, bool changed)
{
    if (changed) {
        p->more += c->add ? 1 : -1;
        p->changed = true;
    } else {
        s->skipped++;
    }
}

// Applies the changes of one /24 (25..32 bits) at the front of c[0..n). Returns their number; 0: no
// room.
static size_t apply_leaf(struct set4 *s, struct parts *p, const struct set4_change *c, size_t n)
{
    unsigned at = c->addr >> 8 & 127;
    uint32_t word = parts_child(p, at);
    uint64_t before = s->skipped;
    struct set4_leaf leaf;
    size_t i = 0;

    set4_leaf_read(s, word, &leaf);
    for (; i < n && c[i].addr >> 8 == c->addr >> 8; i++) {
        unsigned code = (256u | (c[i].addr & 255)) >> (32 - c[i].len);
        parts_note(s, p, &c[i], bit_change(leaf.code, code, c[i].add));
    }
    if (s->skipped - before == i)
        return i;
    set4_leaf_retire(s, word);
    if (!set4_leaf_write(s, &leaf, &word))
        return 0;
    parts_set_child(p, at, word);
    return i;
}

// Applies the changes of one /17 at the front of c[0..n). Returns their number; 0: no room.
static size_t apply_node(struct set4 *s, const struct set4_change *c, size_t n)
{
    uint32_t slot = c->addr >> 15, word = s->dir[slot];
    struct parts p;
    size_t i = 0;

    parts_read(s, word, &p);
    while (i < n && c[i].addr >> 15 == slot) {
        if (c[i].len <= 16) { // apply_top
            i++;
        } else if (c[i].len <= 24) {
            unsigned code = (128u | (c[i].addr >> 8 & 127)) >> (24 - c[i].len);
            parts_note(s, &p, &c[i], bit_change(p.code, code, c[i].add));
            i++;
        } else {
            size_t done = apply_leaf(s, &p, c + i, n - i);
            if (!done)
                return 0;
            i += done;
        }
    }
    if (!p.changed)
        return i;
    if (word & SET4_REF)
        *vec_push(&s->dead) = word & SET4_REF;
    if (!parts_write(s, &p, &word))
        return 0;
    *vec_push(&s->pending) = (struct set4_pending){slot, word, p.more};
    return i;
}

static bool top_covers(const struct set4 *s, unsigned slot)
{
    for (unsigned code = SET4_DIR / 2 | slot >> 1; code; code >>= 1)
        if (set4_bit(s->top, code))
            return true;
    return false;
}

// Stores a directory word, not the filter. True if it changed.
static bool slot_store(struct set4 *s, unsigned slot, uint32_t word)
{
    uint64_t used[2];

    if (word == s->dir[slot])
        return false;
    s->used -= s->dir[slot] & SET4_ALL ? 0 : set4_used(s, slot, used);
    __atomic_store_n(&s->dir[slot], word, __ATOMIC_RELEASE); // partner: set4_word
    s->used += word & SET4_ALL ? 0 : set4_used(s, slot, used);
    return true;
}

// Applies members of 0..16 bits to `top`. True if the change has any.
static bool note_top(struct set4 *s, const struct set4_change *c, size_t n)
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        if (c[i].len > 16)
            continue;
        any = true;
        if (bit_change(s->top, (unsigned)((1ull << 32 | c[i].addr) >> (32 - c[i].len)), c[i].add))
            s->members += c[i].add ? 1 : -1ull;
        else
            s->skipped++;
    }
    return any;
}

// Updates the /17s that members of 0..16 bits cover.
static void apply_top(struct set4 *s, const struct set4_change *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (c[i].len > 16)
            continue;
        unsigned from = c[i].addr >> 15, to = from + (1u << (17 - c[i].len));
        bool any = false;
        for (unsigned slot = from; slot < to; slot++)
            any |= slot_store(s, slot,
                              (s->dir[slot] & ~SET4_ALL) | (top_covers(s, slot) ? SET4_ALL : 0));
        if (any)
            set4_filter_store(s, from, to);
    }
}

// Prefetches the word, node and leaf of later changes.
static void fetch_ahead(const struct set4 *s, const struct set4_change *c, size_t left)
{
    if (left > 12) {
        __builtin_prefetch(&s->dir[c[12].addr >> 15]);
        __builtin_prefetch(&s->filter->word[c[12].addr >> s->filter->shift], 1);
    }
    if (left > 8)
        __builtin_prefetch(set4_at(s, s->dir[c[8].addr >> 15]));
    if (left > 4)
        __builtin_prefetch(set4_at(s, set4_child(s, s->dir[c[4].addr >> 15], c[4].addr)));
}

int set4_prepare(struct set4 *s, const struct set4_change *c, size_t n)
{
    vec_clear(&s->fresh);
    vec_clear(&s->dead);
    vec_clear(&s->pending);
    s->skipped = 0;
    for (size_t i = 0, done; i < n; i += done) {
        fetch_ahead(s, c + i, n - i);
        done = apply_node(s, c + i, n - i);
        if (!done || (s->max_bytes && s->fresh.n && set4_bytes(s) > s->max_bytes)) {
            set4_abandon(s);
            return -ENOSPC;
        }
    }
    return 0;
}

void set4_abandon(struct set4 *s)
{
    vec_foreach (&s->fresh, ref)
        pool_free(&s->pool, *ref);
    vec_clear(&s->fresh);
}

void set4_commit(struct set4 *s, const struct set4_change *c, size_t n, uint64_t epoch,
                 uint64_t *skipped)
{
    bool top = note_top(s, c, n);

    // a /17's cover changes together with its content, so that no reader sees one without the other
    vec_foreach (&s->pending, p) {
        bool all = top ? top_covers(s, p->slot) : p->word & SET4_ALL;
        if (slot_store(s, p->slot, (p->word & ~SET4_ALL) | (all ? SET4_ALL : 0)))
            set4_filter_store(s, p->slot, p->slot + 1);
        s->members += (uint64_t)p->more;
    }
    if (top)
        apply_top(s, c, n);
    vec_foreach (&s->dead, ref)
        *vec_push(&s->garbage) = (struct set4_garbage){epoch, *ref};
    set4_filter_fit(s, bytes_left(s), epoch);
    *skipped += s->skipped;
}

// --- queries of the writer ---

bool set4_has(const struct set4 *s, uint32_t addr, unsigned len)
{
    struct set4_leaf leaf;
    struct parts p;

    if (len <= 16)
        return set4_bit(s->top, (unsigned)((1ull << 32 | addr) >> (32 - len)));
    parts_read(s, s->dir[addr >> 15], &p);
    if (len <= 24)
        return set4_bit(p.code, (128u | (addr >> 8 & 127)) >> (24 - len));
    set4_leaf_read(s, parts_child(&p, addr >> 8 & 127), &leaf);
    return set4_bit(leaf.code, (256u | (addr & 255)) >> (32 - len));
}

struct walk {
    int (*fn)(void *ctx, uint32_t addr, unsigned len);
    void *ctx;
};

// Walks the members in `bits`, whose codes stand for prefixes below base/from_len.
static int walk_codes(const struct walk *w, const uint64_t *bits, unsigned n, uint32_t base,
                      unsigned from_len)
{
    for (unsigned word = 0; word < n / 64; word++)
        for (uint64_t m = bits[word]; m; m &= m - 1) {
            unsigned code = 64 * word + (unsigned)__builtin_ctzll(m),
                     len = from_len + 31 - (unsigned)__builtin_clz(code);
            uint64_t addr = (uint64_t)(code - (1u << (len - from_len))) << (32 - len);
            int rc = w->fn(w->ctx, base | (uint32_t)addr, len);
            if (rc)
                return rc;
        }
    return 0;
}

int set4_walk(const struct set4 *s, int (*fn)(void *ctx, uint32_t addr, unsigned len), void *ctx)
{
    struct walk w = {fn, ctx};
    struct set4_leaf leaf;
    struct parts p;
    int rc = walk_codes(&w, s->top, SET4_DIR, 0, 0);

    for (uint32_t slot = 0; slot < SET4_DIR && !rc; slot++) {
        if (!(s->dir[slot] & SET4_REF))
            continue;
        parts_read(s, s->dir[slot], &p);
        rc = walk_codes(&w, p.code, 256, slot << 15, 17);
        for (unsigned i = 0; i < 128 && !rc; i++) {
            if (!set4_bit(p.longs, i))
                continue;
            set4_leaf_read(s, p.child[i], &leaf);
            rc = walk_codes(&w, leaf.code, 512, slot << 15 | i << 8, 24);
        }
    }
    return rc;
}
