// SPDX-License-Identifier: BSD-3-Clause
// fib_poptrie.c - the default engine: src/poptrie, with grace periods
//
// poptrie leaves grace periods to its caller. A commit closes poptrie's garbage
// epoch and draws a grace ticket for it; a later call of the writer gives the
// memory back when the ticket is over. At most PENDING epochs wait; then epochs
// are merged: the garbage of two commits waits for the later ticket. When node
// space runs out in the middle of a batch, the writer waits one grace period
// and tries again. Of what readers touch there is a copy on each memory node.
#define ALLOW_EXPERIMENTAL_API // rte_vect_get_max_simd_bitwidth
#include <errno.h>
#include <rte_vect.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/mem.h"
#include "poptrie/poptrie.h"
#include "table/fib_engine.h"
#include "table/grace.h"
#include "table/limits.h"

#define PENDING 64

struct fib_poptrie {
    struct fib fib;
    struct fib copy[MEM_NODES_MAX - 1]; // for readers on nodes 1 ...
    unsigned head, n; // of pending[], oldest first
    struct pending {
        uint64_t epoch, ticket;
    } pending[PENDING];
};

_Static_assert(NEXTHOP_MAX - 1 <= POPTRIE_VALUE_MAX, "a leaf holds any next-hop id");

static struct fib_poptrie *of(struct fib *f)
{
    return (struct fib_poptrie *)f;
}

static void *map(void *ctx, const char *name, size_t bytes, unsigned copy)
{
    return mem_map_node(name, bytes, copy);
}

static void unmap(void *ctx, void *p, size_t bytes)
{
    mem_unmap(p, bytes);
}

static void free_fib(struct fib *f)
{
    poptrie_free(f->trie);
    free(f);
}

// Gives back the memory of all epochs whose grace period is over.
static void reclaim(struct fib_poptrie *f)
{
    bool any = false;
    uint64_t epoch = 0;

    while (f->n && grace_over(f->pending[f->head].ticket)) {
        epoch = f->pending[f->head].epoch;
        f->head = (f->head + 1) % PENDING;
        f->n--;
        any = true;
    }
    if (any)
        poptrie_reclaim(f->fib.trie, epoch);
}

// True when waiting may have made room.
static bool make_room(struct fib_poptrie *f, int r)
{
    if (r != -ENOSPC)
        return false;
    uint64_t epoch = poptrie_epoch(f->fib.trie);
    grace_wait();
    f->n = 0;
    poptrie_reclaim(f->fib.trie, epoch);
    return true;
}

static int set(struct fib *f, const struct prefix *p, uint32_t nexthop)
{
    int r = poptrie_add(f->trie, p->b, p->len, nexthop);

    return make_room(of(f), r) ? poptrie_add(f->trie, p->b, p->len, nexthop) : r;
}

static int del(struct fib *f, const struct prefix *p)
{
    int r = poptrie_del(f->trie, p->b, p->len);

    return make_room(of(f), r) ? poptrie_del(f->trie, p->b, p->len) : r;
}

static uint32_t get(const struct fib *f, const struct prefix *p)
{
    return poptrie_get(f->trie, p->b, p->len);
}

static const struct poptrie *routes(const struct fib *f)
{
    return f->trie;
}

struct poptrie_route *fib_poptrie_routes(const struct fib_route *r, size_t n)
{
    struct poptrie_route *route = malloc((n ? n : 1) * sizeof *route);

    for (size_t i = 0; route && i < n; i++) {
        memcpy(route[i].key, r[i].prefix.b, sizeof route[i].key);
        route[i].len = r[i].prefix.len;
        route[i].value = r[i].nexthop;
    }
    return route;
}

static int load(struct fib *f, const struct fib_route *r, size_t n)
{
    struct poptrie_route *route = fib_poptrie_routes(r, n);

    if (!route)
        return -ENOMEM;
    int e = poptrie_load(f->trie, route, n);
    free(route);
    return e;
}

static void commit(struct fib *f, bool changed)
{
    struct fib_poptrie *p = of(f);

    reclaim(p);
    if (!changed)
        return;
    struct pending now = {.epoch = poptrie_epoch(f->trie), .ticket = grace_ticket()};
    if (p->n == PENDING)
        p->n--; // the newest waiting one is merged into this one
    p->pending[(p->head + p->n++) % PENDING] = now;
}

static void stats(const struct fib *f, struct fib_stats *s)
{
    struct poptrie_stats p;

    poptrie_stats(f->trie, &p);
    *s = (struct fib_stats){
        .routes = p.routes,
        .nodes = p.nodes,
        .leaves = p.leaves,
        .bytes_used = p.bytes_used,
        .bytes_reserved = p.bytes_reserved,
        .garbage_bytes = p.garbage_bytes,
        .copies = mem_nodes() > 1 ? mem_nodes() : 0,
        .control_bytes = p.writer_bytes,
        .updates = p.updates,
    };
}

static int check(const struct fib *f, char *why, size_t n)
{
    return poptrie_check(f->trie, why, n);
}

static const struct fib_ops ops = {
    .free = free_fib, .set = set, .del = del, .get = get, .routes = routes, .load = load,
    .commit = commit, .stats = stats, .check = check,
};

// Once, before readers start: the widest vectors that CPU and DPDK's limit allow.
static void kernel_choose(void)
{
    static bool chosen;

    if (!chosen)
        bug_on(poptrie_set_kernel(POPTRIE_KERNEL_AUTO, rte_vect_get_max_simd_bitwidth()));
    chosen = true;
}

struct fib *fib_poptrie_new(uint8_t family)
{
    struct poptrie_config cfg = {.key_bits = ip_bits(family), .map = map, .unmap = unmap, .copies = mem_nodes()};
    struct fib_poptrie *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    kernel_choose();
    f->fib.ops = &ops;
    f->fib.trie = poptrie_new(&cfg);
    if (!f->fib.trie) {
        int e = errno;
        free(f);
        errno = e;
        return NULL;
    }
    for (unsigned node = 1; node < mem_nodes(); node++) {
        struct fib *copy = &f->copy[node - 1];
        copy->ops = &ops;
        copy->trie = (struct poptrie *)(uintptr_t)poptrie_copy(f->fib.trie, node); // readers' functions alone
        f->fib.near[node] = copy;
    }
    return &f->fib;
}
