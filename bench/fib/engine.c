// SPDX-License-Identifier: BSD-3-Clause
// engine.c - poptrie, DPDK's four libraries and PlanB behind one interface
//
// All DPDK tables live in one external heap of transparent huge pages, like poptrie's, so neither
// hugetlbfs nor root is needed and small pages slow nothing. Tables are sized to hold the routes;
// memory that DPDK reserves beyond that counts too, since it cannot be returned.
#include "fib/fib_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_fib.h>
#include <rte_fib6.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvla" // in one of its inline functions
#include <rte_lpm.h>
#pragma GCC diagnostic pop
#include <rte_lpm6.h>

#include "lib/eal.h"

#define HEAP_BYTES (6ull << 30) // of address space
#define TBL8_4 24000u

unsigned burst = 64;
uint32_t results[MAX_BURST];
_Atomic uint64_t reader_lookups;
static uint64_t results64[MAX_BURST];
static int32_t results6[MAX_BURST];
static int heap_socket;

void engines_init(void)
{
    heap_socket = bench_eal_heap(64, HEAP_BYTES);
}

static uint32_t ip4_of(const struct poptrie_route *r)
{
    return (uint32_t)r->key[0] << 24 | r->key[1] << 16 | r->key[2] << 8 | r->key[3];
}

// --- functions of each engine, with its own call --- ---

// Bursts of the packets from..from + n; `call` looks up those from i on.
#define RUN(name, call)                                                                            \
    static void name(const struct engine *e, const struct traffic *a, unsigned from, unsigned n)   \
    {                                                                                              \
        for (unsigned i = from; i < from + n; i += burst)                                          \
            call;                                                                                  \
    }
// The same with one address per call, the j-th of the burst.
#define RUN_SINGLE(name, call)                                                                     \
    RUN(name, for (unsigned j = 0; j < burst; j++) call)
#define DROP(name, call)                                                                           \
    static void name(struct engine *e)                                                             \
    {                                                                                              \
        call(e->fib);                                                                              \
    }
#define SELECT(name, call)                                                                         \
    static bool name(const struct engine *e)                                                       \
    {                                                                                              \
        return call(e->fib, e->variant) == 0;                                                      \
    }
#define CHANGE(name, call)                                                                         \
    static int name(const struct engine *e, const struct poptrie_route *r)                         \
    {                                                                                              \
        return call;                                                                               \
    }

// --- poptrie ---

static void *poptrie_build(struct engine *e, const struct table *t)
{
    struct poptrie *p =
        poptrie_new(&(struct poptrie_config){.key_bits = t->family == 4 ? 32 : 128});
    struct poptrie_stats s;

    if (p == NULL || poptrie_load(p, t->route, t->n) != 0) {
        poptrie_free(p);
        return NULL;
    }
    poptrie_usage(p, &s);
    e->bytes = s.bytes_used;
    return p;
}

DROP(poptrie_drop, poptrie_free)

static bool poptrie_select(const struct engine *e)
{
    return poptrie_set_kernel(e->variant, 0) == 0;
}

// The family is tested for each burst.
#define BY_FAMILY(four, six) e->family == 4 ? four : six
RUN(poptrie_run,
    BY_FAMILY(poptrie_find4_bulk(e->fib, a->net + i, results, burst),
              poptrie_find6_bulk(e->fib, (const uint8_t(*)[16])a->ip6 + i, results, burst)))
RUN_SINGLE(poptrie_run_single,
           results[j] = BY_FAMILY(poptrie_find4(e->fib, a->net[i + j]),
                                  poptrie_find6(e->fib, a->ip6[i + j])))

// As a grace period follows a batch of route changes: the reader has begun and finished a lookup
// since the epoch was closed.
static void poptrie_collect(struct poptrie *p)
{
    static struct poptrie *of;
    static uint64_t epoch, seen;

    if (of == p && atomic_load_explicit(&reader_lookups, memory_order_acquire) < seen + 2)
        return;
    if (of == p)
        poptrie_reclaim(p, epoch);
    of = p;
    epoch = poptrie_epoch(p);
    atomic_thread_fence(memory_order_seq_cst);
    seen = atomic_load_explicit(&reader_lookups, memory_order_acquire);
}

static int poptrie_withdraw(const struct engine *e, const struct poptrie_route *r)
{
    static unsigned n;

    if (++n % 32 == 0)
        poptrie_collect(e->fib);
    return poptrie_del(e->fib, r->key, r->len);
}

CHANGE(poptrie_announce, poptrie_add(e->fib, r->key, r->len, r->value))

// --- rte_fib ---

static const char *name_next(void)
{
    static char name[16];
    static unsigned serial;

    snprintf(name, sizeof(name), "fib%u", serial++);
    return name;
}

// Entries of two bytes hold 15 bits of next hop.
static int fib_entry(const struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->route[i].value > INT16_MAX)
            return RTE_FIB_DIR24_8_4B;
    return RTE_FIB_DIR24_8_2B;
}

static void *fib_build(struct engine *e, const struct table *t)
{
    struct rte_fib_conf c = {.type = RTE_FIB_DIR24_8, .max_routes = 2 * t->n + 1024,
                             .dir24_8 = {.nh_sz = fib_entry(t), .num_tbl8 = TBL8_4}};
    struct rte_fib *f = rte_fib_create(name_next(), heap_socket, &c);

    if (f == NULL)
        return NULL;
    e->bytes = ((1u << 24) + c.dir24_8.num_tbl8 * 256ull) << c.dir24_8.nh_sz;
    for (size_t i = 0; i < t->n; i++)
        if (rte_fib_add(f, ip4_of(&t->route[i]), t->route[i].len, t->route[i].value) != 0) {
            rte_fib_free(f);
            return NULL;
        }
    return f;
}

DROP(fib_drop, rte_fib_free)
SELECT(fib_select, rte_fib_select_lookup)
RUN(fib_run, rte_fib_lookup_bulk(e->fib, a->host + i, results64, burst))
RUN_SINGLE(fib_run_single, rte_fib_lookup_bulk(e->fib, a->host + i + j, results64 + j, 1))
CHANGE(fib_withdraw, rte_fib_delete(e->fib, ip4_of(r), r->len))
CHANGE(fib_announce, rte_fib_add(e->fib, ip4_of(r), r->len, r->value))

// --- rte_lpm ---

static void *lpm_build(struct engine *e, const struct table *t)
{
    struct rte_lpm_config c = {.max_rules = 2 * t->n + 1024, .number_tbl8s = TBL8_4};
    struct rte_lpm *l = rte_lpm_create(name_next(), heap_socket, &c);

    if (l == NULL)
        return NULL;
    e->bytes = ((1ull << 24) + c.number_tbl8s * 256ull) * 4;
    for (size_t i = 0; i < t->n; i++)
        if (rte_lpm_add(l, ip4_of(&t->route[i]), t->route[i].len, t->route[i].value) != 0) {
            rte_lpm_free(l);
            return NULL;
        }
    return l;
}

DROP(lpm_drop, rte_lpm_free)
RUN(lpm_run, rte_lpm_lookup_bulk((struct rte_lpm *)e->fib, a->host + i, results, burst))

// --- rte_fib6, rte_lpm6 ---

static int by_key(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

// Nodes of 8 bits below /24: the distinct paths of every level.
static size_t tbl8_needed(const struct table *t)
{
    uint8_t(*k)[16] = malloc(t->n * 16 + 16);
    size_t total = 0;

    for (unsigned bits = 24; bits < 128; bits += 8) {
        size_t m = 0;

        for (size_t i = 0; i < t->n; i++)
            if (t->route[i].len > bits) {
                memset(k[m], 0, 16);
                memcpy(k[m++], t->route[i].key, bits / 8);
            }
        qsort(k, m, 16, by_key);
        for (size_t i = 0; i < m; i++)
            total += i == 0 || memcmp(k[i], k[i - 1], 16) != 0;
    }
    free(k);
    return total;
}

static struct rte_fib6 *fib6_try(struct engine *e, const struct table *t, unsigned tbl8)
{
    struct rte_fib6_conf c = {.type = RTE_FIB6_TRIE, .max_routes = 2 * t->n + 1024,
                              .trie = {.nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = tbl8}};
    struct rte_fib6 *f = rte_fib6_create(name_next(), heap_socket, &c);

    if (f == NULL)
        return NULL;
    e->bytes = ((1ull << 24) + tbl8 * 256ull) * 4;
    for (size_t i = 0; i < t->n; i++) {
        const struct poptrie_route *r = &t->route[i];
        if (rte_fib6_add(f, (const void *)r->key, r->len, r->value) != 0) {
            rte_fib6_free(f);
            return NULL;
        }
    }
    return f;
}

// rte_fib6 reserves tbl8s by prefix length, without sharing: ask for more until all routes fit.
static void *fib6_build(struct engine *e, const struct table *t)
{
    void *f = NULL;

    for (size_t need = tbl8_needed(t) + 1024; f == NULL && need < 1u << 21; need *= 2)
        f = fib6_try(e, t, need);
    return f;
}

DROP(fib6_drop, rte_fib6_free)
SELECT(fib6_select, rte_fib6_select_lookup)
RUN(fib6_run, rte_fib6_lookup_bulk(e->fib, (void *)(a->ip6 + i), results64, burst))
RUN_SINGLE(fib6_run_single,
           rte_fib6_lookup_bulk(e->fib, (void *)(a->ip6 + i + j), results64 + j, 1))
CHANGE(fib6_withdraw, rte_fib6_delete(e->fib, (const void *)r->key, r->len))
CHANGE(fib6_announce, rte_fib6_add(e->fib, (const void *)r->key, r->len, r->value))

static void *lpm6_build(struct engine *e, const struct table *t)
{
    struct rte_lpm6_config c = {.max_rules = 2 * t->n + 1024,
                                .number_tbl8s = tbl8_needed(t) + 1024};
    struct rte_lpm6 *l = rte_lpm6_create(name_next(), heap_socket, &c);

    if (l == NULL)
        return NULL;
    e->bytes = ((1ull << 24) + c.number_tbl8s * 256ull) * 4;
    for (size_t i = 0; i < t->n; i++) {
        const struct poptrie_route *r = &t->route[i];
        if (rte_lpm6_add(l, (const void *)r->key, r->len, r->value) != 0) {
            rte_lpm6_free(l);
            return NULL;
        }
    }
    return l;
}

DROP(lpm6_drop, rte_lpm6_free)
RUN(lpm6_run, rte_lpm6_lookup_bulk_func(e->fib, (void *)(a->ip6 + i), results6, burst))
CHANGE(lpm6_withdraw, rte_lpm6_delete(e->fib, (void *)r->key, r->len))
CHANGE(lpm6_announce, rte_lpm6_add(e->fib, (const void *)r->key, r->len, r->value))

#ifdef __x86_64__
RUN(planb_run, planb_find(e->fib, (const uint8_t(*)[16])a->ip6 + i, results, burst))
#endif

// --- all engines; a family's peer is its rte_fib(6) with the fastest kernel of this CPU --- -----

#define POPTRIE(family_, kernel_, variant_)                                                        \
    {                                                                                              \
        "poptrie", kernel_, family_, poptrie_build, poptrie_drop, poptrie_run, poptrie_select,     \
            poptrie_withdraw, poptrie_announce, .variant = variant_                                \
    }

struct engine engines[] = {
    POPTRIE(4, "scalar", POPTRIE_KERNEL_SCALAR),
    POPTRIE(4, "neon", POPTRIE_KERNEL_NEON),
    POPTRIE(4, "avx2", POPTRIE_KERNEL_AVX2),
    POPTRIE(4, "avx512", POPTRIE_KERNEL_AVX512),
    POPTRIE(4, "avx512-vpopcnt", POPTRIE_KERNEL_AVX512_VPOPCNT),
    POPTRIE(4, "avx512-loads", POPTRIE_KERNEL_AVX512_LOADS),
    {"poptrie", "single", 4, poptrie_build, poptrie_drop, poptrie_run_single},
    {"rte_fib", "avx512", 4, fib_build, fib_drop, fib_run, fib_select, fib_withdraw, fib_announce,
     .variant = RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512},
    {"rte_fib", "scalar", 4, fib_build, fib_drop, fib_run, fib_select,
     .variant = RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO},
    {"rte_fib", "single", 4, fib_build, fib_drop, fib_run_single, fib_select,
     .variant = RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO},
    {"rte_lpm", "bulk", 4, lpm_build, lpm_drop, lpm_run, .slow_build = true},
    POPTRIE(6, "scalar", POPTRIE_KERNEL_SCALAR),
    POPTRIE(6, "avx2", POPTRIE_KERNEL_AVX2),
    POPTRIE(6, "avx512", POPTRIE_KERNEL_AVX512),
    POPTRIE(6, "avx512-vpopcnt", POPTRIE_KERNEL_AVX512_VPOPCNT),
    {"poptrie", "single", 6, poptrie_build, poptrie_drop, poptrie_run_single},
    {"rte_fib6", "avx512", 6, fib6_build, fib6_drop, fib6_run, fib6_select, fib6_withdraw,
     fib6_announce, .variant = RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512},
    {"rte_fib6", "scalar", 6, fib6_build, fib6_drop, fib6_run, fib6_select,
     .variant = RTE_FIB6_LOOKUP_TRIE_SCALAR},
    {"rte_fib6", "single", 6, fib6_build, fib6_drop, fib6_run_single, fib6_select,
     .variant = RTE_FIB6_LOOKUP_TRIE_SCALAR},
    {"rte_lpm6", "bulk", 6, lpm6_build, lpm6_drop, lpm6_run, NULL, lpm6_withdraw, lpm6_announce},
#ifdef __x86_64__
    {"planb", "avx512", 6, planb_build, planb_drop, planb_run, planb_select},
#endif
};
const unsigned n_engines = sizeof(engines) / sizeof(engines[0]);

uint32_t engine_answer(const struct engine *e, unsigned at)
{
    if (strcmp(e->name, "poptrie") == 0 || strcmp(e->name, "planb") == 0)
        return results[at];
    if (strcmp(e->name, "rte_lpm") == 0)
        return results[at] & RTE_LPM_LOOKUP_SUCCESS ? results[at] & 0xffffff : POPTRIE_NONE;
    if (strcmp(e->name, "rte_lpm6") == 0)
        return results6[at] < 0 ? POPTRIE_NONE : (uint32_t)results6[at];
    return results64[at];
}
