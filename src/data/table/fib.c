// SPDX-License-Identifier: BSD-3-Clause
// fib.c - forwarding table of a virtual router: front end of the engines
//
//     fib.c ──┬── fib_poptrie.c                      src/data/poptrie: the default, and the best
//             └── fib_dpdk.c ──┬── fib_dir24_8.c     DPDK's rte_fib and rte_fib6
//                              └── fib_lpm.c         DPDK's rte_lpm and rte_lpm6
//
// The DPDK engines are for comparison, and for operators who trust them more. They live in DPDK's
// memory: 64 MiB for an empty table.
#include "table/fib.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "poptrie/poptrie.h"
#include "table/fib_engine.h"

const char *fib_engine_name(enum fib_engine e)
{
    static const char *const name[FIB_ENGINES] = {"poptrie", "dir24_8", "lpm"};

    return name[e];
}

static void none_find(const struct fib *f, const void *dst, uint32_t *nexthop, unsigned n)
{
    memset(nexthop, 0, n * sizeof *nexthop);
}

static const struct fib_ops none_ops = {.find_bulk = none_find};
static const struct fib none[2] = {
    {.first = &poptrie_nothing, .ops = &none_ops, .family = IP4},
    {.first = &poptrie_nothing, .ops = &none_ops, .family = IP6}};

const struct fib *fib_none(uint8_t family)
{
    return &none[family == IP6];
}

struct fib *fib_new(uint8_t family, enum fib_engine engine)
{
    struct fib *f = engine == FIB_POPTRIE ? fib_poptrie_new(family) : fib_dpdk_new(family, engine);

    for (unsigned node = 0; f && node < MEM_NODES_MAX; node++) {
        if (!f->near[node])
            f->near[node] = f;
        f->near[node]->first = f->near[node]->trie ? f->near[node]->trie : &poptrie_nothing;
        f->near[node]->family = family;
        f->near[node]->engine = (uint8_t)engine;
    }
    return f;
}

const struct fib *fib_near(const struct fib *f, unsigned node)
{
    return f->near[node];
}

void fib_free(struct fib *f)
{
    if (f)
        f->ops->free(f);
}

static int change_route(struct fib *f, const struct prefix *p, uint32_t nexthop)
{
    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(p->family != f->family);
    int r = f->ops->set(f, p, nexthop);
    f->changed |= !r;
    return r;
}

int fib_set(struct fib *f, const struct prefix *p, uint32_t nexthop)
{
    return nexthop ? change_route(f, p, nexthop) : -ERANGE;
}

int fib_del(struct fib *f, const struct prefix *p)
{
    return change_route(f, p, 0);
}

uint32_t fib_get(const struct fib *f, const struct prefix *p)
{
    return f->ops->get(f, p);
}

// The mapping from trie values to next hops. Partner: number_take (fib_poptrie.c).
static inline const uint16_t *hops_of(const struct fib *f)
{
    return __atomic_load_n(&f->hops, __ATOMIC_ACQUIRE);
}

static inline uint32_t hop_at(const uint16_t *hops, uint32_t value)
{
    return __atomic_load_n(&hops[value],
                           __ATOMIC_RELAXED); // stored before the value was published
}

static inline uint32_t hop_of(const struct fib *f, uint32_t value)
{
    const uint16_t *hops = hops_of(f);

    return hops ? hop_at(hops, value) : value;
}

struct walk {
    const struct fib *f;
    int (*fn)(void *ctx, const struct prefix *p, uint32_t nexthop);
    void *ctx;
};

static int visit_route(void *ctx, const uint8_t *key, unsigned len, uint32_t value)
{
    const struct walk *w = ctx;
    struct prefix p = {.family = w->f->family, .len = (uint8_t)len};

    memcpy(p.b, key, ip_bits(p.family) / 8);
    return w->fn(w->ctx, &p, hop_of(w->f, value));
}

int fib_walk(const struct fib *f, const struct prefix *after,
             int (*fn)(void *ctx, const struct prefix *p, uint32_t nexthop), void *ctx)
{
    struct walk w = {f, fn, ctx};
    const struct poptrie *routes = f->ops->routes(f);

    thread_must_be(ROLE_RIB_MANAGER);
    return after ? poptrie_walk_after(routes, after->b, after->len, visit_route, &w)
                 : poptrie_walk(routes, visit_route, &w);
}

int fib_load(struct fib *f, const struct fib_route *r, size_t n)
{
    struct fib_stats s;

    thread_must_be(ROLE_RIB_MANAGER);
    fib_stats(f, &s);
    bug_on(s.routes);
    int e = f->ops->load(f, r, n);
    f->changed |= !e;
    return e;
}

void fib_commit(struct fib *f)
{
    bool changed = f->changed;

    thread_must_be(ROLE_RIB_MANAGER);
    f->changed = false;
    f->commits += changed;
    f->ops->publish(f, changed);
}

void fib_trim(struct fib *f)
{
    if (f->ops->trim)
        f->ops->trim(f);
}

void fib_stats(const struct fib *f, struct fib_stats *s)
{
    f->ops->stats(f, s);
    s->engine = (enum fib_engine)f->engine;
    s->commits = f->commits;
}

struct poptrie *fib_trie(const struct fib *f)
{
    return f->trie;
}

enum fib_engine fib_engine_of(const struct fib *f)
{
    return (enum fib_engine)f->engine;
}

int fib_check(const struct fib *f, char *why, size_t n)
{
    return f->ops->check(f, why, n);
}

uint32_t fib_find(const struct fib *f, const struct ip_addr *dst)
{
    uint32_t nexthop;

    if (f->trie) {
        nexthop =
            f->family == IP4 ? poptrie_find4(f->trie, dst->ip4) : poptrie_find6(f->trie, dst->b);
        return hop_of(f, nexthop);
    }
    f->ops->find_bulk(f, dst->b, &nexthop, 1);
    return nexthop;
}

unsigned fib_path(const struct fib *f, const struct ip_addr *dst, struct fib_node *node,
                  unsigned max)
{
    struct poptrie_node way[FIB_EACH_MAX];
    uint32_t value;

    if (!f->trie)
        return 0;
    unsigned n =
        poptrie_lookup_trace(f->trie, ip_bits(f->family), dst->b, way, FIB_EACH_MAX, &value);
    for (unsigned i = 0; i < n && i < max && i < FIB_EACH_MAX; i++)
        node[i] = (struct fib_node){poptrie_node_name(way[i].kind), way[i].depth, way[i].bits};
    return n;
}

// Translates a burst's values to next hops.
static inline void hops_bulk(const struct fib *f, uint32_t *nexthop, unsigned n)
{
    const uint16_t *hops = hops_of(f);

    if (__builtin_expect(hops != NULL, false))
        for (unsigned i = 0; i < n; i++)
            nexthop[i] = hop_at(hops, nexthop[i]);
}

void fib_nexthops(const struct fib *f, const uint16_t *value, uint32_t *nexthop, unsigned n)
{
    const uint16_t *hops = hops_of(f);

    for (unsigned i = 0; i < n; i++)
        nexthop[i] = hops ? hop_at(hops, value[i]) : value[i];
}

void fib_find4_bulk(const struct fib *f, const ip4_t *dst, uint32_t *nexthop, unsigned n)
{
    if (__builtin_expect(f->trie != NULL, true)) {
        poptrie_find4_bulk(f->trie, dst, nexthop, n);
        hops_bulk(f, nexthop, n);
    } else {
        f->ops->find_bulk(f, dst, nexthop, n);
    }
}

void fib_find6_bulk(const struct fib *f, const uint8_t (*dst)[16], uint32_t *nexthop, unsigned n)
{
    if (__builtin_expect(f->trie != NULL, true)) {
        poptrie_find6_bulk(f->trie, dst, nexthop, n);
        hops_bulk(f, nexthop, n);
    } else {
        f->ops->find_bulk(f, dst, nexthop, n);
    }
}

// Collects the tries of a burst's FIBs; false if one has none.
static bool each_of(const struct fib *const *of, const uint16_t *which, const struct poptrie **each,
                    unsigned n)
{
    unsigned without = 0;

    for (unsigned i = 0; i < n; i++) {
        each[i] = rcu_load(&of[which[i]])->trie;
        without += !each[i];
    }
    return !without;
}

static inline void hops_each(const struct poptrie *const *each, uint32_t *nexthop, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        nexthop[i] = hop_at(poptrie_user(each[i]), nexthop[i]);
}

void fib_find4_each(const struct fib *const *of, const uint16_t *which, const ip4_t *dst,
                    uint32_t *nexthop, unsigned n)
{
    const struct poptrie *each[FIB_EACH_MAX];

    _Static_assert(offsetof(struct fib, first) == 0 && FIB_EACH_MAX <= POPTRIE_OF_MAX, "find4_of");
    if (poptrie_find4_of((const void *const *)of, which, each, dst, nexthop, n)) {
        hops_each(each, nexthop, n);
        return;
    }
    if (n && each_of(of, which, each, n)) {
        poptrie_find4_each(each, dst, nexthop, n);
        hops_each(each, nexthop, n);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        fib_find4_bulk(rcu_load(&of[which[i]]), &dst[i], &nexthop[i], 1);
}

void fib_find6_each(const struct fib *const *of, const uint16_t *which, const uint8_t (*dst)[16],
                    uint32_t *nexthop, unsigned n)
{
    const struct poptrie *each[FIB_EACH_MAX];

    if (n && each_of(of, which, each, n)) {
        poptrie_find6_each(each, dst, nexthop, n);
        hops_each(each, nexthop, n);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        fib_find6_bulk(rcu_load(&of[which[i]]), &dst[i], &nexthop[i], 1);
}

const char *fib_kernel_name(void)
{
    return poptrie_kernel_name();
}
