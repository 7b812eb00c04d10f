// SPDX-License-Identifier: BSD-3-Clause
// tree.c - finds, inserts and removes routes in the writer's tree (tree.h)
//
// Every change ends in one swapped entry, `site`: nodes above it stay, new nodes below it are in
// `fresh`, replaced ones in `stale`. Stale nodes stay intact until tree_settle(), so tree_undo()
// only restores the entry and frees the fresh nodes.
//
// Afterwards edit.c builds the words of nodes for readers (kid.word). This file only keeps entries
// consistent when they move: in the directory's domain a word belongs to a directory slot and moves
// along; elsewhere it depends on the parent's depth, so it is dropped and the entry marked dirty.
#include "poptrie/tree.h"

#include <errno.h>
#include <string.h>

static uint32_t node_make(struct pool *p, const uint64_t key[2], unsigned depth, unsigned n_kids,
                          unsigned n_values, struct tree_change *c)
{
    size_t bytes = sizeof(struct node) + n_kids * sizeof(struct kid) + n_values * sizeof(uint16_t);
    uint32_t ref = pool_alloc(p, bytes);
    struct node *n;

    if (ref == 0)
        return 0;
    n = pool_at(p, ref);
    *n = (struct node){
        .key = {key[0], key[1]}, .n_values = n_values, .n_kids = n_kids, .depth = depth};
    key_mask(n->key, depth);
    if (c != NULL)
        c->fresh[c->n_fresh++] = ref;
    return ref;
}

// Copies n elements: with a hole at `at` (more 1), without the element there (-1), or all (0).
static void copy_around(void *to, const void *from, size_t n, size_t at, int more, size_t size)
{
    size_t rest = at + (more < 0);

    memcpy(to, from, at * size);
    memcpy((char *)to + (at + (more > 0)) * size, (const char *)from + rest * size,
           (n - rest) * size);
}

// Copies a node with room for one more or one less child or value, at that place; NULL: no memory.
static struct node *node_copy(struct pool *p, const struct node *o, unsigned kid, int kids,
                              unsigned value, int values, struct tree_change *c, uint32_t *ref)
{
    struct node *n;

    *ref = node_make(p, o->key, o->depth, (unsigned)(o->n_kids + kids),
                     (unsigned)(o->n_values + values), c);
    if (*ref == 0)
        return NULL;
    n = node_at(p, *ref);
    n->kids = o->kids;
    memcpy(n->routes, o->routes, sizeof(n->routes));
    copy_around(node_kids(n), node_kids(o), o->n_kids, kid, kids, sizeof(struct kid));
    copy_around(node_values(n), node_values(o), o->n_values, value, values, sizeof(uint16_t));
    return n;
}

static uint32_t node_with_route(struct pool *p, const struct node *o, unsigned idx, uint16_t v,
                                struct tree_change *c)
{
    unsigned at = node_rank(o, idx);
    uint32_t ref;
    struct node *n = node_copy(p, o, 0, 0, at, !node_has_route(o, idx), c, &ref);

    if (n != NULL) {
        n->routes[idx >> 6] |= (uint64_t)1 << (idx & 63);
        node_values(n)[at] = v;
    }
    return ref;
}

static uint32_t node_without_route(struct pool *p, const struct node *o, unsigned idx,
                                   struct tree_change *c)
{
    uint32_t ref;
    struct node *n = node_copy(p, o, 0, 0, node_rank(o, idx), -1, c, &ref);

    if (n != NULL)
        n->routes[idx >> 6] &= ~((uint64_t)1 << (idx & 63));
    return ref;
}

static uint32_t node_with_kid(struct pool *p, const struct node *o, unsigned b, struct kid kid,
                              struct tree_change *c)
{
    unsigned at = node_kid(o, b) - node_kids(o);
    uint32_t ref;
    struct node *n = node_copy(p, o, at, 1, 0, 0, c, &ref);

    if (n != NULL) {
        n->kids |= (uint64_t)1 << b;
        node_kids(n)[at] = kid;
    }
    return ref;
}

static uint32_t node_without_kid(struct pool *p, const struct node *o, unsigned b,
                                 struct tree_change *c)
{
    uint32_t ref;
    struct node *n = node_copy(p, o, node_kid(o, b) - node_kids(o), -1, 0, 0, c, &ref);

    if (n != NULL)
        n->kids &= ~((uint64_t)1 << b);
    return ref;
}

static bool is_in_directory(struct tree_geometry g, const uint64_t key[2], unsigned depth)
{
    return depth < g.dir_bits && (g.key_bits == 32 || key[0] >> 61 == 1);
}

static void site_swap(struct tree_change *c, struct kid *site, uint32_t node, uint32_t word)
{
    c->site = site;
    c->site_was = *site;
    site->node = node | (site->node & KID_DIRTY);
    site->word = word;
}

static unsigned key_common(const uint64_t a[2], const uint64_t b[2], unsigned limit)
{
    unsigned n = a[0] != b[0]   ? (unsigned)__builtin_clzll(a[0] ^ b[0])
                 : a[1] != b[1] ? 64 + (unsigned)__builtin_clzll(a[1] ^ b[1])
                                : 128;

    return n < limit ? n : limit;
}

// Follows the key to the node at or above `depth`; *below: the entry after the last step, which
// leads elsewhere, or NULL.
static struct node *tree_descend(const struct pool *p, struct kid *root, const uint64_t key[2],
                                 unsigned depth, struct tree_change *c, struct kid **below)
{
    struct kid *via = root;
    uint16_t inherited = 0;

    c->n = 0;
    *below = NULL;
    for (;;) {
        struct node *n = node_at(p, via->node), *y;
        unsigned b;

        c->path[c->n++] = (struct tree_step){via, inherited};
        if (n->depth >= depth)
            return n;
        b = key_window(key, n->depth);
        inherited = node_value_over(n, 64 | b, inherited);
        if (!node_has_kid(n, b)) {
            c->cover = inherited;
            return n;
        }
        via = node_kid(n, b);
        y = node_at(p, via->node);
        if (y->depth > depth || !key_equal(key, y->key, y->depth)) {
            c->cover = inherited;
            *below = via;
            return n;
        }
    }
}

// Inserts a node between an entry and its node.
static int node_fork(struct pool *p, struct tree_geometry g, struct kid *via, const uint64_t key[2],
                     unsigned len, uint16_t value, struct tree_change *c)
{
    struct node *y = node_at(p, via->node);
    unsigned target = depth_floor(len - 1);
    unsigned common = key_common(key, y->key, y->depth), depth, at = 0;
    bool split;
    struct kid old = *via, leaf = {0};
    uint32_t ref;
    struct node *n;

    depth = depth_floor(common < target ? common : target);
    split = depth < target; // the route is beside y, not above it
    if (split) {
        ref = node_make(p, key, target, 0, 1, c);
        if (ref == 0)
            return -ENOMEM;
        n = node_at(p, ref);
        n->routes[route_index(key, len) >> 6] = (uint64_t)1 << (route_index(key, len) & 63);
        node_values(n)[0] = value;
        leaf.node = is_in_directory(g, key, target) ? ref : ref | KID_DIRTY;
    }
    ref = node_make(p, key, depth, 1 + split, !split, c);
    if (ref == 0)
        return -ENOMEM;
    n = node_at(p, ref);
    n->kids = (uint64_t)1 << key_window(y->key, depth);
    if (split) {
        n->kids |= (uint64_t)1 << key_window(key, depth);
        at = key_window(key, depth) < key_window(y->key, depth);
        node_kids(n)[!at] = leaf;
    } else {
        n->routes[route_index(key, len) >> 6] = (uint64_t)1 << (route_index(key, len) & 63);
        node_values(n)[0] = value;
    }
    if (is_in_directory(g, key, depth)) {
        node_kids(n)[at] = old;
        site_swap(c, via, ref, 0);
        via->node = ref; // nodes above the directory's depth need no build
    } else {
        node_kids(n)[at] = (struct kid){old.node | KID_DIRTY, 0};
        site_swap(c, via, ref, old.word);
    }
    return 0;
}

static int node_attach(struct pool *p, struct tree_geometry g, struct node *n,
                       const uint64_t key[2], unsigned len, uint16_t value, struct tree_change *c)
{
    unsigned target = depth_floor(len - 1), idx = route_index(key, len);
    uint32_t ref = node_make(p, key, target, 0, 1, c);
    struct kid leaf = {is_in_directory(g, key, target) ? ref : ref | KID_DIRTY, 0};
    struct kid *via = c->path[c->n - 1].via;
    struct node *l = node_at(p, ref);

    if (ref == 0)
        return -ENOMEM;
    l->routes[idx >> 6] = (uint64_t)1 << (idx & 63);
    node_values(l)[0] = value;
    ref = node_with_kid(p, n, key_window(key, n->depth), leaf, c);
    if (ref == 0)
        return -ENOMEM;
    c->stale[c->n_stale++] = via->node & ~KID_DIRTY;
    site_swap(c, via, ref, via->word);
    return 0;
}

int tree_set(struct pool *p, struct kid *root, struct tree_geometry g, const uint64_t key[2],
             unsigned len, uint16_t value, struct tree_change *c, uint16_t *was)
{
    unsigned depth = depth_floor(len - 1), idx = route_index(key, len);
    struct kid *below, *via;
    struct node *n;
    int rc = 0;

    c->n_fresh = c->n_stale = c->n_dead = 0;
    c->site = NULL;
    n = tree_descend(p, root, key, depth, c, &below);
    via = c->path[c->n - 1].via;
    *was = 0;
    if (n->depth == depth) {
        uint32_t ref = node_with_route(p, n, idx, value, c);

        if (node_has_route(n, idx))
            *was = node_values(n)[node_rank(n, idx)];
        c->cover = node_value_over(n, idx >> 1, c->path[c->n - 1].inherited);
        if (ref != 0) {
            c->stale[c->n_stale++] = via->node & ~KID_DIRTY;
            site_swap(c, via, ref, via->word);
        }
        rc = ref != 0 ? 0 : -ENOMEM;
    } else if (below == NULL) {
        rc = node_attach(p, g, n, key, len, value, c);
    } else {
        rc = node_fork(p, g, below, key, len, value, c);
        c->path[c->n++] = (struct tree_step){below, c->cover};
    }
    if (rc != 0)
        tree_undo(p, c);
    return rc;
}

// Removes `via`'s node if it has no routes and one child.
static void node_splice(struct pool *p, struct tree_geometry g, struct kid *via, struct kid rest,
                        struct tree_change *c)
{
    const struct node *n = node_at(p, via->node);

    c->stale[c->n_stale++] = via->node & ~KID_DIRTY;
    if (is_in_directory(g, n->key, n->depth)) {
        site_swap(c, via, rest.node & ~KID_DIRTY, rest.word);
    } else {
        c->dead[c->n_dead++] = rest.word;
        site_swap(c, via, rest.node & ~KID_DIRTY, via->word);
    }
}

// Removes the path's last node if it has neither routes nor children.
static int node_unhang(struct pool *p, struct tree_geometry g, struct tree_change *c)
{
    struct kid *gone = c->path[c->n - 1].via, *via = c->path[c->n - 2].via;
    const struct node *n = node_at(p, gone->node), *parent = node_at(p, via->node);
    unsigned b = key_window(n->key, parent->depth);

    c->dead[c->n_dead++] = gone->word;
    c->n--;
    if (parent->n_values == 0 && parent->n_kids == 2 && c->n > 1) {
        struct kid rest = node_kids(parent)[node_kid(parent, b) == node_kids(parent)];

        c->stale[c->n_stale++] = gone->node & ~KID_DIRTY;
        node_splice(p, g, via, rest, c);
    } else {
        uint32_t ref = node_without_kid(p, parent, b, c);

        if (ref == 0)
            return -ENOMEM;
        c->stale[c->n_stale++] = gone->node & ~KID_DIRTY;
        c->stale[c->n_stale++] = via->node & ~KID_DIRTY;
        site_swap(c, via, ref, via->word);
    }
    return 0;
}

int tree_del(struct pool *p, struct kid *root, struct tree_geometry g, const uint64_t key[2],
             unsigned len, struct tree_change *c, uint16_t *was)
{
    unsigned depth = depth_floor(len - 1), idx = route_index(key, len);
    struct kid *below, *via;
    struct node *n;
    int rc = 0;

    c->n_fresh = c->n_stale = c->n_dead = 0;
    c->site = NULL;
    n = tree_descend(p, root, key, depth, c, &below);
    if (n->depth != depth || !node_has_route(n, idx))
        return -ENOENT;
    *was = node_values(n)[node_rank(n, idx)];
    c->cover = node_value_over(n, idx >> 1, c->path[c->n - 1].inherited);
    via = c->path[c->n - 1].via;
    if (n->n_values > 1 || n->n_kids > 1 || c->n == 1) {
        uint32_t ref = node_without_route(p, n, idx, c);

        if (ref == 0)
            return -ENOMEM;
        c->stale[c->n_stale++] = via->node & ~KID_DIRTY;
        site_swap(c, via, ref, via->word);
    } else if (n->n_kids == 1) {
        node_splice(p, g, via, node_kids(n)[0], c);
    } else {
        rc = node_unhang(p, g, c);
    }
    return rc;
}

void tree_undo(struct pool *p, struct tree_change *c)
{
    if (c->site != NULL)
        *c->site = c->site_was;
    for (unsigned i = 0; i < c->n_fresh; i++)
        pool_free(p, c->fresh[i]);
}

void tree_settle(struct pool *p, struct tree_change *c)
{
    for (unsigned i = 0; i < c->n_stale; i++)
        pool_free(p, c->stale[i]);
}

uint16_t tree_get(const struct pool *p, struct kid root, const uint64_t key[2], unsigned len)
{
    unsigned depth = depth_floor(len - 1), idx = route_index(key, len);
    const struct node *n = node_at(p, root.node);

    while (n->depth < depth) {
        unsigned b = key_window(key, n->depth);

        if (!node_has_kid(n, b))
            return 0;
        n = node_at(p, node_kid(n, b)->node);
    }
    if (n->depth != depth || !key_equal(key, n->key, depth) || !node_has_route(n, idx))
        return 0;
    return node_values(n)[node_rank(n, idx)];
}

int tree_init(struct pool *p, struct kid *root)
{
    static const uint64_t zero[2];
    uint32_t ref = node_make(p, zero, 0, 0, 0, NULL);

    if (ref == 0)
        return -ENOMEM;
    *root = (struct kid){ref, 0};
    return 0;
}

void tree_free(struct pool *p, struct kid root)
{
    const struct node *n = node_at(p, root.node);

    for (unsigned i = 0; i < n->n_kids; i++)
        tree_free(p, node_kids(n)[i]);
    pool_free(p, root.node & ~KID_DIRTY);
}
