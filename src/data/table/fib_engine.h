// SPDX-License-Identifier: BSD-3-Clause
// fib_engine.h - internals of struct fib: private to fib.c and the engines
//
// An engine is one table of functions, chosen when a FIB is made and constant after that. Each
// engine's own structure starts with struct fib. fib.c checks thread and family before it calls
// these functions. Where `trie` is set, fib.c uses it directly, without the table: other engines
// cost the default one a predictable branch.
#ifndef TABLE_FIB_ENGINE_H
#define TABLE_FIB_ENGINE_H

#include <stdbool.h>

#include "core/mem.h"
#include "table/fib.h"

struct poptrie;

struct fib_ops {
    void (*free)(struct fib *f);
    // writer; on errors, readers see no change
    int (*set)(struct fib *f, const struct prefix *p, uint32_t nexthop); // 0: deletes
    uint32_t (*get)(const struct fib *f, const struct prefix *p);
    // The writer's copy of the routes, for fib_walk.
    const struct poptrie *(*routes)(const struct fib *f);
    int (*load)(struct fib *f, const struct fib_route *r, size_t n); // into an empty FIB
    void (*publish)(struct fib *f, bool changed);
    void (*trim)(struct fib *f); // NULL: nothing to give back, ever
    void (*stats)(const struct fib *f, struct fib_stats *s);
    int (*check)(const struct fib *f, char *why, size_t n);
    // reader; dst: n addresses of the family
    void (*find_bulk)(const struct fib *f, const void *dst, uint32_t *nexthop, unsigned n);
};

struct fib {
    const struct poptrie *first; // trie, or poptrie_nothing: poptrie_find4_of reads it
    struct poptrie *trie; // engine poptrie: readers walk it; else NULL
    // Maps trie's values to next hops; NULL: values are next hops. Read it after the value.
    // poptrie_user(trie) is the same, but never NULL.
    const uint16_t *hops;
    const struct fib_ops *ops;
    struct fib *near[MEM_NODES_MAX]; // for readers on that memory node: a copy there, or this FIB
                                     // itself
    uint8_t family, engine;
    bool changed; // since the last commit
    uint64_t commits;
};

struct fib *fib_poptrie_new(uint8_t family);                      // fib_poptrie.c
struct fib *fib_dpdk_new(uint8_t family, enum fib_engine engine); // fib_dpdk.c

// Converts fib_load's array to poptrie's form; NULL without memory. Free with free().
struct poptrie_route *fib_poptrie_routes(const struct fib_route *r, size_t n);

#endif
