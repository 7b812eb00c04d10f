// SPDX-License-Identifier: BSD-3-Clause
// fib_poptrie.c - the default engine: src/data/poptrie plus grace periods
//
// poptrie leaves grace periods to its caller. A commit closes poptrie's garbage epoch and draws a
// grace ticket for it; a later call of the writer reclaims the memory when the ticket is over. At
// most PENDING epochs wait; beyond that, epochs are merged and wait for the later ticket. If node
// space runs out in the middle of a batch, the writer waits for one grace period and tries again.
// Each memory node has a copy of the memory that readers use.
//
// Up to POPTRIE_TABLES_MAX FIBs of a family share an arena (`struct estate`): virtual routers with
// equal routes store them once (poptrie_dedupe, at each commit). Routes are equal only if their
// values are, but each router has its own next hops. So a value is a number, and each FIB's `hops`
// maps it to a next hop of that FIB:
//
//   - a route gets the number that another FIB of the estate uses for the same prefix, if in this
//     FIB the number means the route's next hop, or nothing yet. So a next hop may have several
//     numbers, and all FIBs use one number for a prefix, whichever router learns it first;
//   - otherwise it gets a number of its next hop, or a free one, if possible the next hop's id.
//     While all numbers are ids, as with one virtual router, readers do not translate (hops NULL);
//   - host routes, and prefixes in poptrie's floor, do not copy numbers of other FIBs: such routes
//     come first and often differ between routers. If they took numbers that a full table uses
//     for other prefixes, none of that table could be shared;
//   - a number keeps its meaning until no route uses it and a grace period has passed. A next hop
//     keeps it until another one needs it.
//
// rib_manager writes, while control makes and frees FIBs: one lock protects all that the FIBs of an
// estate share.
#define ALLOW_EXPERIMENTAL_API // rte_vect_get_max_simd_bitwidth
#include <errno.h>
#include <pthread.h>
#include <rte_vect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/touched.h"
#include "core/mem.h"
#include "poptrie/poptrie.h"
#include "table/fib_engine.h"
#include "table/grace.h"
#include "table/limits.h"

#define PENDING 64
#define ARENA_BYTES                                                                                \
    ((size_t)512                                                                                   \
     << 20) // limit of poptrie: 8 MiB for each of 64 FIBs, three times a full table

struct estate {
    struct estate *next; // of any family
    uint8_t family;
    struct fib_poptrie *fib[POPTRIE_TABLES_MAX]; // NULL: free place
    unsigned n;
    uint64_t closed, over; // epochs of its tries: the last closed one, and the last one that all
                           // readers have left
    uint16_t taken[NEXTHOP_MAX]; // FIBs that use each number
};

#define HOPS_BYTES (NEXTHOP_MAX * sizeof(uint16_t))

// In one array, so that a FIB with few next hops touches few pages.
struct number {
    uint64_t left;   // epoch in which the last route dropped it
    uint32_t count;  // routes that use it
    uint16_t of_hop; // of the next hop with this id: its number for prefixes that no other FIB has,
                     // 0 = none
};

#define NUMBERS_BYTES (NEXTHOP_MAX * sizeof(struct number))

struct fib_poptrie {
    struct fib fib;
    struct fib copy[MEM_NODES_MAX - 1]; // for readers on nodes 1 ...
    struct estate *estate;
    uint16_t *hops[MEM_NODES_MAX]; // [NEXTHOP_MAX] next hop of each number, 0 = none yet; a copy on
                                   // each node
    struct number *number; // [NEXTHOP_MAX]
    uint64_t hops_touched[TOUCHED_WORDS(HOPS_BYTES)], numbers_touched[TOUCHED_WORDS(NUMBERS_BYTES)];
    unsigned head, n; // of pending[], oldest first
    struct pending {
        uint64_t epoch, ticket;
    } pending[PENDING];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct estate *estates;

_Static_assert(NEXTHOP_MAX - 1 <= POPTRIE_VALUE_MAX, "a leaf holds any next-hop id");

static struct fib_poptrie *fib_poptrie_of(struct fib *f)
{
    return (struct fib_poptrie *)f;
}

static void *map_copy(void *ctx, const char *name, size_t bytes, unsigned copy)
{
    return mem_map_node(name, bytes, copy);
}

static void unmap_copy(void *ctx, void *p, size_t bytes)
{
    mem_unmap(p, bytes);
}

// --- numbers ---

// For writing.
static struct number *number_touch(struct fib_poptrie *f, uint32_t i)
{
    touched_mark(f->numbers_touched, i * sizeof *f->number);
    return &f->number[i];
}

static bool number_is_free(const struct fib_poptrie *f, uint32_t number)
{
    const struct number *n = &f->number[number];

    return !f->hops[0][number] || (!n->count && n->left <= f->estate->over);
}

// Assigns the number to this next hop. Partner: hops_of (fib.c), which reads after the value.
static void number_take(struct fib_poptrie *f, uint32_t number, uint32_t nexthop)
{
    uint16_t was = f->hops[0][number];

    if (!was)
        f->estate->taken[number]++;
    if (was && f->number[was].of_hop == number)
        f->number[was].of_hop = 0;
    for (unsigned node = 0; node < mem_nodes(); node++)
        __atomic_store_n(&f->hops[node][number], (uint16_t)nexthop, __ATOMIC_RELEASE);
    touched_mark(f->hops_touched, number * sizeof *f->hops[0]);
    for (unsigned node = 0; number != nexthop && node < mem_nodes(); node++)
        __atomic_store_n(&f->fib.near[node]->hops, f->hops[node], __ATOMIC_RELEASE);
}

// Returns the number that another FIB uses for this prefix, if in this FIB it means this next hop
// or nothing yet; else 0.
static uint32_t number_beside(const struct fib_poptrie *f, const struct prefix *p, uint32_t nexthop)
{
    if (p->len <= POPTRIE_FLOOR_BITS || p->len == ip_bits(p->family))
        return 0;
    for (unsigned k = 0; k < POPTRIE_TABLES_MAX; k++) {
        const struct fib_poptrie *o = f->estate->fib[k];
        uint32_t number = o && o != f ? poptrie_get(o->fib.trie, p->b, p->len) : 0;

        if (number && (f->hops[0][number] == nexthop || number_is_free(f, number)))
            return number;
    }
    return 0;
}

// Returns a number that no FIB uses, or else one that this FIB does not use. 0: none before a grace
// period ends.
static uint32_t number_new(const struct fib_poptrie *f, uint32_t nexthop)
{
    if (number_is_free(f, nexthop) && !f->estate->taken[nexthop])
        return nexthop;
    for (uint32_t i = 1; i < NEXTHOP_MAX; i++)
        if (!f->estate->taken[i])
            return i;
    for (uint32_t i = 1; i < NEXTHOP_MAX; i++)
        if (number_is_free(f, i))
            return i;
    return 0;
}

// Returns the number of a next hop (1 .. NEXTHOP_MAX - 1) for a route to p. 0: none before a grace
// period ends.
static uint32_t number_of(struct fib_poptrie *f, const struct prefix *p, uint32_t nexthop)
{
    uint32_t own = f->number[nexthop].of_hop, number = number_beside(f, p, nexthop);

    if (!number)
        number = own ? own : number_new(f, nexthop);
    if (number && f->hops[0][number] != nexthop)
        number_take(f, number, nexthop);
    // prefer the smallest number in use, so that routers soon agree on one
    if (number && (!own || number < own))
        number_touch(f, nexthop)->of_hop = (uint16_t)number;
    return number;
}

static void number_leave(struct fib_poptrie *f, uint32_t number)
{
    if (!--f->number[number].count)
        f->number[number].left = f->estate->closed + 1;
}

static void numbers_free(struct fib_poptrie *f)
{
    for (unsigned node = 0; node < MEM_NODES_MAX; node++)
        mem_unmap(f->hops[node], NEXTHOP_MAX * sizeof *f->hops[node]);
    mem_unmap(f->number, NUMBERS_BYTES);
}

static bool numbers_make(struct fib_poptrie *f)
{
    bool all = true;

    for (unsigned node = 0; node < mem_nodes(); node++) {
        f->hops[node] =
            mem_map_node("next hops of a FIB", NEXTHOP_MAX * sizeof *f->hops[node], node);
        all &= f->hops[node] != NULL;
    }
    f->number = mem_map("numbers of a FIB", NUMBERS_BYTES);
    return all && f->number;
}

// --- garbage ---

// Reclaims the memory of all epochs whose grace period is over.
static void reclaim_epochs(struct fib_poptrie *f)
{
    uint64_t epoch = 0;

    while (f->n && grace_over(f->pending[f->head].ticket)) {
        epoch = f->pending[f->head].epoch;
        f->head = (f->head + 1) % PENDING;
        f->n--;
    }
    if (epoch <= f->estate->over)
        return;
    f->estate->over = epoch;
    poptrie_reclaim(f->fib.trie, epoch);
}

// Closes the epoch and waits for a grace period. Releases the lock meanwhile: control may delay
// grace periods while it waits for the lock.
static void wait_for_room(struct fib_poptrie *f)
{
    uint64_t epoch = f->estate->closed = poptrie_epoch(f->fib.trie);

    pthread_mutex_unlock(&lock);
    grace_wait();
    pthread_mutex_lock(&lock);
    f->n = 0;
    if (epoch > f->estate->over)
        f->estate->over = epoch;
    poptrie_reclaim(f->fib.trie, epoch);
}

// --- writer --------------------------------------------------------------------------------------

static int swap_route(struct fib_poptrie *f, const struct prefix *p, uint32_t nexthop)
{
    uint32_t was = 0, number = nexthop ? number_of(f, p, nexthop) : 0;
    int r = nexthop && !number ? -ENOSPC : poptrie_swap(f->fib.trie, p->b, p->len, number, &was);

    if (r)
        return r;
    if (number)
        number_touch(f, number)->count++;
    if (was)
        number_leave(f, was);
    return 0;
}

static int fib_poptrie_set(struct fib *f, const struct prefix *p, uint32_t nexthop)
{
    if (nexthop >= NEXTHOP_MAX)
        return -ERANGE;
    pthread_mutex_lock(&lock);
    int r = swap_route(fib_poptrie_of(f), p, nexthop);
    if (r == -ENOSPC) { // waiting may free memory
        wait_for_room(fib_poptrie_of(f));
        r = swap_route(fib_poptrie_of(f), p, nexthop);
    }
    pthread_mutex_unlock(&lock);
    return r;
}

static uint32_t fib_poptrie_get(const struct fib *f, const struct prefix *p)
{
    uint32_t number = poptrie_get(f->trie, p->b, p->len);

    return f->hops ? f->hops[number] : number;
}

static const struct poptrie *fib_poptrie_trie(const struct fib *f)
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

static int count_number(void *ctx, const uint8_t *key, unsigned len, uint32_t number)
{
    number_touch(fib_poptrie_of(ctx), number)->count++;
    return 0;
}

// Counts each number at once, or it would look free for the next route.
static int numbers_find(struct fib_poptrie *f, struct poptrie_route *route,
                        const struct fib_route *r, size_t n, size_t *found)
{
    for (*found = 0; *found < n; ++*found) {
        uint32_t nexthop = r[*found].nexthop, number;

        if (!nexthop || nexthop >= NEXTHOP_MAX)
            return -ERANGE;
        number = number_of(f, &r[*found].prefix, nexthop);
        if (!number)
            return -ENOSPC;
        route[*found].value = number;
        number_touch(f, number)->count++;
    }
    return 0;
}

static int load_numbered(struct fib *f, struct poptrie_route *route, const struct fib_route *r,
                         size_t n)
{
    struct poptrie_stats s;
    size_t found;
    int e = numbers_find(fib_poptrie_of(f), route, r, n, &found);

    if (!e)
        e = poptrie_load(f->trie, route, n);
    poptrie_usage(f->trie, &s);
    if (!e && s.routes == n) // all distinct, so the counts are right
        return 0;
    for (size_t i = 0; i < found; i++)
        fib_poptrie_of(f)->number[route[i].value].count--;
    if (!e)
        poptrie_walk(f->trie, count_number, f); // of equal prefixes only one counts
    return e;
}

static int fib_poptrie_load(struct fib *f, const struct fib_route *r, size_t n)
{
    struct poptrie_route *route = fib_poptrie_routes(r, n);

    if (!route)
        return -ENOMEM;
    pthread_mutex_lock(&lock);
    int e = load_numbered(f, route, r, n);
    pthread_mutex_unlock(&lock);
    free(route);
    return e;
}

static void fib_poptrie_commit(struct fib *f, bool changed)
{
    struct fib_poptrie *p = fib_poptrie_of(f);

    pthread_mutex_lock(&lock);
    reclaim_epochs(p);
    if (changed) {
        poptrie_dedupe(f->trie);
        p->estate->closed = poptrie_epoch(f->trie);
        struct pending now = {.epoch = p->estate->closed, .ticket = grace_ticket()};
        if (p->n == PENDING)
            p->n--; // merges the newest pending one into this one
        p->pending[(p->head + p->n++) % PENDING] = now;
    }
    pthread_mutex_unlock(&lock);
}

static void fib_poptrie_trim(struct fib *f)
{
    pthread_mutex_lock(&lock);
    poptrie_trim(f->trie);
    pthread_mutex_unlock(&lock);
}

static uint64_t numbers_bytes(const struct fib_poptrie *f)
{
    return mem_nodes() * touched_bytes(f->hops_touched, TOUCHED_WORDS(HOPS_BYTES)) +
           touched_bytes(f->numbers_touched, TOUCHED_WORDS(NUMBERS_BYTES));
}

static void fib_poptrie_stats(const struct fib *f, struct fib_stats *s)
{
    const struct fib_poptrie *own = (const struct fib_poptrie *)f;
    struct poptrie_stats p;

    pthread_mutex_lock(&lock);
    poptrie_usage(f->trie, &p);
    pthread_mutex_unlock(&lock);
    *s = (struct fib_stats){
        .routes = p.routes,
        .nodes = p.nodes,
        .leaves = p.leaves,
        .bytes_used = p.bytes_used,
        .bytes_shared = p.shared_bytes,
        .bytes_reserved = p.bytes_reserved,
        .garbage_bytes = p.garbage_bytes,
        .copies = mem_nodes() > 1 ? mem_nodes() : 0,
        .control_bytes = p.writer_bytes + numbers_bytes(own) + sizeof *own,
        .updates = p.updates,
    };
}

static int fib_poptrie_check(const struct fib *f, char *why, size_t n)
{
    const struct fib_poptrie *p = (const struct fib_poptrie *)f;

    pthread_mutex_lock(&lock);
    int e = poptrie_check(f->trie, why, n);
    pthread_mutex_unlock(&lock);
    uint64_t counted = 0;
    for (uint32_t i = 1; i < NEXTHOP_MAX; i++) {
        uint32_t number = p->number[i].of_hop;

        counted += p->number[i].count;
        if (number && p->hops[0][number] != i && !e) {
            snprintf(why, n, "F4: next hop %u has number %u, which means %u", i, number,
                     p->hops[0][number]);
            e = -EINVAL;
        }
    }
    struct poptrie_stats s;
    poptrie_usage(f->trie, &s);
    if (!e && counted != s.routes) {
        snprintf(why, n, "F4: %lu routes, but their numbers are counted as %lu",
                 (unsigned long)s.routes, (unsigned long)counted);
        e = -EINVAL;
    }
    return e;
}

// --- life cycle ---

// Leaves the estate; the last FIB frees it.
static void estate_leave(struct fib_poptrie *f)
{
    struct estate *e = f->estate, **link = &estates;

    for (unsigned k = 0; k < POPTRIE_TABLES_MAX; k++)
        if (e->fib[k] == f)
            e->fib[k] = NULL;
    for (uint32_t i = 1; i < NEXTHOP_MAX; i++)
        if (f->hops[0][i])
            e->taken[i]--;
    if (--e->n)
        return;
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    free(e);
}

static void fib_poptrie_free(struct fib *f)
{
    struct fib_poptrie *p = fib_poptrie_of(f);

    pthread_mutex_lock(&lock);
    estate_leave(p);
    poptrie_free(f->trie);
    pthread_mutex_unlock(&lock);
    numbers_free(p);
    free(p);
}

static const struct fib_ops ops = {
    .free = fib_poptrie_free,
    .set = fib_poptrie_set,
    .get = fib_poptrie_get,
    .routes = fib_poptrie_trie,
    .load = fib_poptrie_load,
    .publish = fib_poptrie_commit,
    .trim = fib_poptrie_trim,
    .stats = fib_poptrie_stats,
    .check = fib_poptrie_check,
};

// Once, before readers start: the widest vectors that the CPU and DPDK's limit allow.
static void choose_kernel(void)
{
    static bool chosen;

    if (!chosen)
        bug_on(poptrie_set_kernel(POPTRIE_KERNEL_AUTO, rte_vect_get_max_simd_bitwidth()));
    chosen = true;
}

// Joins the first estate of the family with a free place, or creates one.
static bool estate_join(struct fib_poptrie *f, uint8_t family)
{
    struct poptrie_config cfg = {.key_bits = ip_bits(family),
                                 .max_bytes = ARENA_BYTES,
                                 .places = POPTRIE_TABLES_MAX,
                                 .map = map_copy,
                                 .unmap = unmap_copy,
                                 .copies = mem_nodes()};
    struct estate *e = estates;
    unsigned k = 0;

    while (e && (e->family != family || e->n == POPTRIE_TABLES_MAX))
        e = e->next;
    if (e) {
        for (unsigned any = 0; !cfg.beside; any++)
            cfg.beside = e->fib[any] ? e->fib[any]->fib.trie : NULL;
        cfg.max_bytes = 0;
        while (e->fib[k])
            k++;
    }
    f->fib.trie = poptrie_new(&cfg);
    if (!f->fib.trie)
        return false;
    if (!e) {
        e = calloc(1, sizeof *e);
        if (!e) {
            poptrie_free(f->fib.trie);
            errno = ENOMEM;
            return false;
        }
        e->family = family;
        e->next = estates;
        estates = e;
    }
    e->fib[k] = f;
    e->n++;
    f->estate = e;
    return true;
}

struct fib *fib_poptrie_new(uint8_t family)
{
    struct fib_poptrie *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    choose_kernel();
    pthread_mutex_lock(&lock);
    bool joined = numbers_make(f) && estate_join(f, family);
    int e = errno;
    pthread_mutex_unlock(&lock);
    if (!joined) {
        numbers_free(f);
        free(f);
        errno = e;
        return NULL;
    }
    f->fib.ops = &ops;
    poptrie_set_user(f->fib.trie, 0, f->hops[0]);
    f->fib.near[0] = &f->fib;
    for (unsigned node = 1; node < mem_nodes(); node++) {
        struct fib *copy = &f->copy[node - 1];
        copy->ops = &ops;
        // For reader functions only.
        copy->trie = (struct poptrie *)(uintptr_t)poptrie_copy(f->fib.trie, node);
        poptrie_set_user(f->fib.trie, node, f->hops[node]);
        f->fib.near[node] = copy;
    }
    return &f->fib;
}

int fib_with_tries(int (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&lock);
    int r = fn(arg);
    pthread_mutex_unlock(&lock);
    return r;
}
