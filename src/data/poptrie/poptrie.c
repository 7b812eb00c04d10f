// SPDX-License-Identifier: BSD-3-Clause
// poptrie.c - implementation of poptrie.h: life cycle and updates of a table
//
// Layers: the *tree* (tree.c) is the writer's copy of the routes. Readers walk *words and blocks*
// (layout.h): a directory word answers an address outright or leads to a block of 64 children,
// usually one cache line, which answers it. An *edit* (edit.c, block.c) turns a change of the tree
// into new blocks and a few 32-bit stores; a *transaction* (txn.c) makes it all or nothing. The
// *group* (group.c) owns the memory; its tables share equal parts (share.c, dedupe.c).
//
//     IPv4   directory on bits 0..17 (1 MiB), then blocks at 18, 24 and 30
//     IPv6   directory on bits 3..23 under 2000::/3 (8 MiB), then blocks at 24, 30 ... 124; all
//            other addresses start at a separate word and at depth 0
//
// Leaves do not contain routes of up to 6 bits: a leaf of 0 means "ask the floor", 64 values by the
// first 6 bits of the address, which readers look up last. So changing the default route or a /1
// takes at most 64 stores, and /7 is the shortest route that rewrites directory words.
//
// Concurrency. One writer. Readers hold no reference between calls. A block is complete before the
// release store that makes it reachable (word_publish, word_load) and does not change until
// poptrie_reclaim() says that no reader can be inside it; only words in branch and mixed blocks are
// replaced, one at a time, like directory words. Every reader sees, for each route, its old or its
// new state.
//
// Invariants (poptrie_check(); the tests call it after every step):
//   P1  directory slots and floor entries match the routes over them and the tree below;
//   P2  every block holds the words of its node's routes and children, in the smallest width;
//   P3  a skip compares exactly the bits that its node shares, and answers the inherited value;
//   P4  each block is reachable once (from a table's own tree, or from a tree that tables share in
//       the same slot) or is garbage, and no other block is allocated; each table's counts of
//       reachable and shared blocks are right;
//   P5  the tree has no superfluous node, no unbuilt entry, and as many routes as counted;
//   P6  the allocators' lists agree with their counts;
//   P7  all copies of the readers' memory are equal;
//   P8  each page that a table reads in place of its own is equal to it; shared pages are used,
//       garbage or free; and every table that shares a tree marks it;
//   P9  a directory page with any content is marked as written to.
//
// Cost: a lookup reads two cache lines for most of a full IPv4 table; an update descends the tree
// (three to five nodes) and makes one node and one block.
#include "poptrie/poptrie_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define DEFAULT_MAX_BYTES ((size_t)256 << 20)
#define HUGE_BYTES ((size_t)2 << 20)
#define LOADED_SINGLY 2048u
#define WRITER_SHARE 4 // address space of the writer's nodes, in arenas; touched as needed

// --- life cycle ---

static void *map_huge(void *ctx, const char *name, size_t bytes, unsigned copy)
{
    uint8_t *p = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t head;

    if (p == MAP_FAILED)
        return NULL;
    head = -(uintptr_t)p & (HUGE_BYTES - 1);
    if (head > 0)
        munmap(p, head);
    munmap(p + head + bytes, HUGE_BYTES - head);
    madvise(p + head, bytes, MADV_HUGEPAGE); // optional: the table also works without huge pages
    return p + head;
}

static void unmap_huge(void *ctx, void *p, size_t bytes)
{
    munmap(p, bytes);
}

// The root of a table without a tree.
static const struct {
    uint8_t before[POOL_UNIT];
    struct node node;
} no_root __attribute__((aligned(64)));

static void tree_none(struct poptrie *t)
{
    t->nodes = (struct pool){.base = (uint8_t *)(uintptr_t)&no_root, .top = 1};
    t->root = (struct kid){1, 0};
}

// Maps the writer's nodes. In a group, a table has small pages until it has many routes.
static bool tree_map(struct poptrie *t)
{
    size_t max_bytes = t->group->cfg.max_bytes;
    void *nodes;

    errno = ENOMEM;
    t->node_bytes =
        (max_bytes + 2 * POOL_CHUNK - 1) / POOL_CHUNK * POOL_CHUNK * WRITER_SHARE + POOL_CHUNK;
    nodes = map_huge(NULL, "poptrie tree", t->node_bytes, 0);
    if (nodes == NULL)
        return false;
    if (!t->huge)
        madvise(nodes, t->node_bytes, MADV_NOHUGEPAGE);
    if (pool_init(&t->nodes, nodes, t->node_bytes) == 0 && tree_init(&t->nodes, &t->root) == 0)
        return t->has_tree = true;
    pool_fini(&t->nodes);
    unmap_huge(NULL, nodes, t->node_bytes);
    tree_none(t);
    return false;
}

// Prepares for a change that leaves the table with `routes` routes.
static int tree_ready(struct poptrie *t, uint64_t routes)
{
    bool was_huge = t->huge;

    table_group_grow(t, routes);
    if (t->has_tree && t->huge && !was_huge)
        madvise(t->nodes.base, t->node_bytes, MADV_HUGEPAGE);
    return t->has_tree || tree_map(t) ? 0 : -ENOMEM;
}

struct poptrie *poptrie_new(const struct poptrie_config *cfg)
{
    struct poptrie_config own = *cfg;
    const struct tree_geometry geo = {.key_bits = cfg->key_bits,
                                      .dir_bits = cfg->key_bits == 32 ? DIR4_BITS : DIR6_BITS};
    size_t max = cfg->max_bytes == 0 ? DEFAULT_MAX_BYTES : cfg->max_bytes;
    struct poptrie *t;

    if ((cfg->key_bits != 32 && cfg->key_bits != 128) || max > ARENA_MAX_BYTES ||
        cfg->copies > POPTRIE_COPIES_MAX || cfg->places > POPTRIE_TABLES_MAX ||
        (cfg->map == NULL) != (cfg->unmap == NULL) ||
        (cfg->beside != NULL && cfg->beside->geo.key_bits != cfg->key_bits)) {
        errno = EINVAL;
        return NULL;
    }
    poptrie_choose_kernel();
    own.max_bytes = max;
    if (cfg->map == NULL) {
        own.map = map_huge;
        own.unmap = unmap_huge;
    }
    t = table_group_join(&own, &geo);
    if (t != NULL)
        tree_none(t);
    if (t != NULL && t->group->places == 1 && !tree_map(t)) {
        int e = errno;

        poptrie_free(t);
        errno = e;
        return NULL;
    }
    return t;
}

void poptrie_free(struct poptrie *t)
{
    if (t == NULL)
        return;
    struct table_group *g = t->group;

    image_end(t);
    if (g->tables > 1)
        share_retire_all(t);
    table_group_leave(t);
    if (t->has_tree)
        unmap_huge(NULL, t->nodes.base, t->node_bytes);
    pool_fini(&t->nodes);
    txn_fini(t);
    // the table itself lies in this memory
    if (g->tables == 0)
        table_group_free(g);
}

const struct poptrie *poptrie_copy(const struct poptrie *t, unsigned copy)
{
    return copy == 0 ? t : t->copy[copy - 1];
}

void poptrie_set_user(struct poptrie *t, unsigned copy, const void *user)
{
    (copy == 0 ? t : t->copy[copy - 1])->front.user = user;
}

// --- updates ---

// Updates the floor entries under key/len from the tree's root and the default route.
static void floor_refresh(struct poptrie *t, const uint64_t key[2], unsigned len)
{
    const struct node *root = node_at(&t->nodes, t->root.node);
    unsigned from = key_window(key, 0);

    image_floor(t);
    for (unsigned i = from; i < from + (FLOOR_ENTRIES >> len); i++) { // partner: leaf_answer
        uint16_t value = node_longest(root, FLOOR_ENTRIES | i, t->default_value);

        __atomic_store_n(&t->floor[i], value, __ATOMIC_RELEASE);
        for (unsigned k = 0; k < t->n_copies; k++)
            __atomic_store_n(&t->copy[k]->floor[i], value, __ATOMIC_RELEASE);
    }
}

// Separates the trees that a change under key/len may touch; the next dedupe compares them again.
static int slots_separate(struct poptrie *t, const uint64_t key[2], unsigned len)
{
    uint32_t from = key_slot(t, key),
             n = len >= t->geo.dir_bits ? 1 : 1u << (t->geo.dir_bits - len);

    if (len <= FLOOR_BITS || !key_has_slot(t, key))
        return 0;
    dedupe_later(t, from, n);
    return share_separate(t, from, n);
}

static void default_set(struct poptrie *t, uint32_t value)
{
    static const uint64_t everything[2];

    t->routes += (value != POPTRIE_NONE) - (t->default_value != POPTRIE_NONE);
    t->default_value = value;
    floor_refresh(t, everything, 0);
    t->updates++;
}

static int change_done(struct poptrie *t, struct tree_change *c, const uint64_t key[2],
                       unsigned len, int rc)
{
    if (rc == 0) {
        tree_settle(&t->nodes, c);
        if (len <= FLOOR_BITS)
            floor_refresh(t, key, len);
        t->updates++;
    } else {
        tree_undo(&t->nodes, c);
    }
    return rc;
}

int poptrie_swap(struct poptrie *t, const uint8_t *key, unsigned len, uint32_t value, uint32_t *was)
{
    bool adds = value != POPTRIE_NONE;
    struct tree_change c;
    uint16_t former;
    uint64_t k[2];
    int rc;

    if (len > t->geo.key_bits)
        return -EINVAL;
    if (value > POPTRIE_VALUE_MAX)
        return -ERANGE;
    if (!adds && (len == 0 ? t->default_value == POPTRIE_NONE : !t->has_tree))
        return -ENOENT;
    rc = adds ? tree_ready(t, t->routes + 1) : 0;
    if (rc == 0 && len == 0) {
        *was = t->default_value;
        default_set(t, value);
        return 0;
    }
    key_load(t, key, len, k);
    if (rc == 0)
        rc = slots_separate(t, k, len);
    if (rc == 0)
        rc = adds ? tree_set(&t->nodes, &t->root, t->geo, k, len, value, &c, &former)
                  : tree_del(&t->nodes, &t->root, t->geo, k, len, &c, &former);
    if (rc != 0)
        return rc;
    txn_begin(t, false);
    edit_route(t, &c, k, len, former, value);
    rc = change_done(t, &c, k, len, txn_finish(t));
    if (rc != 0)
        return rc;
    t->routes += adds && former == 0;
    t->routes -= !adds;
    *was = former;
    return 0;
}

int poptrie_add(struct poptrie *t, const uint8_t *key, unsigned len, uint32_t value)
{
    uint32_t was;

    return value == POPTRIE_NONE ? -ERANGE : poptrie_swap(t, key, len, value, &was);
}

int poptrie_del(struct poptrie *t, const uint8_t *key, unsigned len)
{
    uint32_t was;

    return poptrie_swap(t, key, len, POPTRIE_NONE, &was);
}

// Adds the routes to the tree of *root; returns the default route in *def.
static int grow_tree(struct poptrie *t, struct kid *root, const struct poptrie_route *r, size_t n,
                     uint64_t *routes, uint32_t *def)
{
    for (size_t i = 0; i < n; i++) {
        struct tree_change c;
        uint64_t k[2];
        uint16_t was;
        int rc;

        if (r[i].len > t->geo.key_bits)
            return -EINVAL;
        if (r[i].value == POPTRIE_NONE || r[i].value > POPTRIE_VALUE_MAX)
            return -ERANGE;
        if (r[i].len == 0) {
            *routes += *def == POPTRIE_NONE;
            *def = r[i].value;
            continue;
        }
        key_load(t, r[i].key, r[i].len, k);
        rc = tree_set(&t->nodes, root, t->geo, k, r[i].len, r[i].value, &c, &was);
        if (rc != 0)
            return rc;
        tree_settle(&t->nodes, &c);
        *routes += was == 0;
    }
    return 0;
}

// For a few routes into an empty table, where visiting the whole directory would cost more.
static int load_singly(struct poptrie *t, const struct poptrie_route *r, size_t n)
{
    uint64_t updates = t->updates;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = poptrie_add(t, r[i].key, r[i].len, r[i].value);
    for (size_t i = 0; i < n && rc != 0; i++)
        poptrie_del(t, r[i].key, r[i].len);
    t->updates = updates;
    return rc;
}

int poptrie_load(struct poptrie *t, const struct poptrie_route *r, size_t n)
{
    struct kid old, root;
    uint32_t def = POPTRIE_NONE;
    uint64_t routes = 0;
    int rc;

    if (t->routes == 0 && n <= LOADED_SINGLY)
        return load_singly(t, r, n);
    rc = tree_ready(t, n);
    old = t->root;
    if (rc == 0)
        rc = tree_init(&t->nodes, &root);
    if (rc != 0)
        return rc;
    rc = grow_tree(t, &root, r, n, &routes, &def);
    if (rc == 0) {
        t->root = root;
        txn_begin(t, true);
        edit_retire_tree(t, old);
        edit_everything(t);
        share_count_leaving(t, true);
        rc = txn_finish(t);
        if (rc != 0)
            share_count_leaving(t, false);
    }
    if (rc != 0) {
        t->root = old;
        tree_free(&t->nodes, root);
        return rc;
    }
    share_forget(t);
    t->default_value = def;
    floor_refresh(t, (const uint64_t[2]){0}, 0);
    t->routes = routes;
    dedupe_later(t, 0, dir_words(t));
    tree_free(&t->nodes, old);
    return 0;
}

uint32_t poptrie_get(const struct poptrie *t, const uint8_t *key, unsigned len)
{
    uint64_t k[2];

    if (len > t->geo.key_bits)
        return POPTRIE_NONE;
    if (len == 0)
        return t->default_value;
    key_load(t, key, len, k);
    return tree_get(&t->nodes, t->root, k, len);
}

// --- walk ---

struct walker {
    const struct poptrie *t;
    int (*fn)(void *ctx, const uint8_t *key, unsigned len, uint32_t value);
    void *ctx;
    bool seeking; // the first route after `after` has not been found yet
    uint64_t after[2];
    unsigned after_len;
};

// Position of the subtree of key/len: < 0 at or before `after`, 0 around it, > 0 after it.
static int walker_seek(struct walker *w, const uint64_t key[2], unsigned len)
{
    uint64_t cut[2] = {w->after[0], w->after[1]};
    int side;

    key_mask(cut, len);
    side = key[0] != cut[0] ? (key[0] > cut[0]) - (key[0] < cut[0])
                            : (key[1] > cut[1]) - (key[1] < cut[1]);
    if (side == 0 && len > w->after_len)
        side = 1;
    w->seeking = side <= 0;
    return side;
}

static int walk_heap(struct walker *w, const struct node *n, unsigned idx)
{
    unsigned l = 31 - __builtin_clz(idx);
    uint64_t key[2] = {n->key[0], n->key[1]};
    int rc = 0;

    if (l != 0)
        key[n->depth >> 6] |= ((uint64_t)idx << (6 - l) & 63) << 58 >> (n->depth & 63);
    // The last window of a half is shorter than six bits: routes that would lie beyond its end are
    // below it.
    if (w->seeking &&
        walker_seek(w, key,
                    n->depth + l < depth_next(n->depth) ? n->depth + l : depth_next(n->depth)) < 0)
        return 0;
    if (idx > 1 && node_has_route(n, idx) && !w->seeking) {
        uint8_t b[16];

        key[0] = __builtin_bswap64(key[0]);
        key[1] = __builtin_bswap64(key[1]);
        memcpy(b, key, sizeof(b));
        rc = w->fn(w->ctx, b, n->depth + l, node_values(n)[node_rank(n, idx)]);
    }
    if (rc != 0)
        return rc;
    if (idx >= 64) {
        if (!node_has_kid(n, idx - 64))
            return 0;
        return walk_heap(w, node_at(&w->t->nodes, node_kid(n, idx - 64)->node), 1);
    }
    rc = walk_heap(w, n, 2 * idx);
    return rc != 0 ? rc : walk_heap(w, n, 2 * idx + 1);
}

int poptrie_walk(const struct poptrie *t,
                 int (*fn)(void *ctx, const uint8_t *key, unsigned len, uint32_t value), void *ctx)
{
    static const uint8_t zero[16];
    struct walker w = {.t = t, .fn = fn, .ctx = ctx};
    int rc = t->default_value != POPTRIE_NONE ? fn(ctx, zero, 0, t->default_value) : 0;

    return rc != 0 ? rc : walk_heap(&w, node_at(&t->nodes, t->root.node), 1);
}

int poptrie_walk_after(const struct poptrie *t, const uint8_t *key, unsigned len,
                       int (*fn)(void *ctx, const uint8_t *key, unsigned len, uint32_t value),
                       void *ctx)
{
    struct walker w = {.t = t, .fn = fn, .ctx = ctx, .seeking = true, .after_len = len};

    key_load(t, key, len, w.after);
    return walk_heap(&w, node_at(&t->nodes, t->root.node), 1);
}
