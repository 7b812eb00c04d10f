// SPDX-License-Identifier: BSD-3-Clause
// planb.c - the linearized B+ tree of PlanB (Zhang et al., NSDI '26), for IPv6 and AVX-512
//
// After the paper. The first 64 bits of all addresses are divided into intervals of one
// answer each; a tree without pointers finds the interval of an address: nodes of eight keys, one
// cache line, compared at once, nine children each, a burst level by level. It cannot change, only
// be built again. Routes longer than /64, which the paper leaves out, are compared one by one.
#include "fib/fib_bench.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>

#include "base/cpu.h"

enum { KEYS = 8, CHILDREN = KEYS + 1, LEVELS_MAX = 12, LANES = 32, HUGE = 2 << 20 };
#define LONGER (1u << 31) // the rest of the answer: an index in `longer`

struct planb {
    unsigned levels;             // above the leaves
    uint64_t *level[LEVELS_MAX]; // the root first, then the leaves' keys
    uint32_t *answer;            // of the interval from each of the leaves' keys on
    struct longer {
        uint64_t second, mask; // half of the address; mask 0: the last route of an interval
        uint32_t answer;
    } *longer;
    uint8_t *memory;
};

struct span { // a route as an interval of first halves
    uint64_t first, last, second;
    unsigned len;
    uint32_t answer;
};

// Routes with the same first half: shorter prefixes first, but beyond /64 longer ones first.
static int by_place(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->len > 64 && y->len > 64)
        return (int)y->len - (int)x->len;
    return (int)x->len - (int)y->len;
}

static uint64_t half_of(const uint8_t *at)
{
    uint64_t half;

    memcpy(&half, at, sizeof half);
    return __builtin_bswap64(half);
}

static struct span *spans_of(const struct table *t)
{
    struct span *s = malloc((t->n + 1) * sizeof *s);

    for (size_t i = 0; i < t->n; i++) {
        const struct poptrie_route *r = &t->route[i];
        s[i] =
            (struct span){half_of(r->key), half_of(r->key), half_of(r->key + 8), r->len, r->value};
        if (r->len < 64)
            s[i].last |= UINT64_MAX >> r->len;
    }
    qsort(s, t->n, sizeof *s, by_place);
    return s;
}

struct intervals {
    size_t n;
    uint64_t *key;
    uint32_t *answer;
};

// Begins an interval, unless the one before has the same answer.
static void interval_add(struct intervals *to, uint64_t key, uint32_t answer)
{
    if (to->n && to->key[to->n - 1] == key)
        to->n--;
    if (to->n && to->answer[to->n - 1] == answer)
        return;
    to->key[to->n] = key;
    to->answer[to->n++] = answer;
}

// Closes spans that end before `key`; behind them the answer of the span around them is valid
// again. Returns the number of open spans.
static unsigned spans_end(struct intervals *to, struct span *const *open, unsigned n, uint64_t key)
{
    for (; n > 0 && open[n - 1]->last < key; n--)
        if (open[n - 1]->last != UINT64_MAX)
            interval_add(to, open[n - 1]->last + 1, n > 1 ? open[n - 2]->answer : POPTRIE_NONE);
    return n;
}

static struct intervals intervals_of(struct span *s, size_t n, struct longer *longer)
{
    struct intervals to = {0, malloc((2 * n + 1) * sizeof *to.key),
                           malloc((2 * n + 1) * sizeof *to.answer)};
    struct span *open[66]; // nested ones have different lengths, longer ones count as /64
    unsigned depth = 0, n_longer = 0;

    interval_add(&to, 0, POPTRIE_NONE);
    for (size_t i = 0; i < n;) {
        uint64_t first = s[i].first;
        depth = spans_end(&to, open, depth, first);
        for (; i < n && s[i].first == first && s[i].len <= 64; i++)
            interval_add(&to, first, (open[depth++] = &s[i])->answer);
        if (i == n || s[i].first != first)
            continue;
        uint32_t around = depth ? open[depth - 1]->answer : POPTRIE_NONE;
        struct span *longest = &s[i];
        interval_add(&to, first, LONGER | n_longer);
        for (; i < n && s[i].first == first; i++)
            longer[n_longer++] =
                (struct longer){s[i].second, UINT64_MAX << (128 - s[i].len), s[i].answer};
        longer[n_longer++] = (struct longer){0, 0, around};
        open[depth++] = longest;
    }
    spans_end(&to, open, depth, UINT64_MAX);
    return to;
}

// Fills the levels from the leaves up: a key is the first one below the child on its right.
static void levels_fill(struct planb *p, const struct intervals *of, size_t leaves)
{
    uint64_t *key = p->level[p->levels];
    size_t below = 1; // leaves below a child

    for (size_t i = 0; i < leaves * KEYS; i++) {
        key[i] = i < of->n ? of->key[i] : UINT64_MAX;
        p->answer[i] = of->answer[i < of->n ? i : of->n - 1];
    }
    for (unsigned l = p->levels; l-- > 0; below *= CHILDREN) {
        size_t nodes = (leaves + below * CHILDREN - 1) / (below * CHILDREN);
        for (size_t i = 0; i < nodes * KEYS; i++) {
            size_t leaf = (i / KEYS * CHILDREN + i % KEYS + 1) * below;
            p->level[l][i] = leaf < leaves ? key[leaf * KEYS] : UINT64_MAX;
        }
    }
}

void *planb_build(struct engine *e, const struct table *t)
{
    struct planb *p = calloc(1, sizeof *p);
    struct span *s = spans_of(t);

    p->longer = malloc((2 * t->n + 1) * sizeof *p->longer);
    struct intervals of = intervals_of(s, t->n, p->longer);
    size_t leaves = (of.n + KEYS - 1) / KEYS, nodes[LEVELS_MAX], all = leaves;
    unsigned up = 0;
    for (nodes[0] = leaves; !up || nodes[up] > 1; up++)
        all += nodes[up + 1] = (nodes[up] + CHILDREN - 1) / CHILDREN;
    p->levels = up;
    e->bytes = all * 64 + leaves * KEYS * sizeof *p->answer;
    uint8_t *at = p->memory = aligned_alloc(HUGE, RTE_ALIGN(e->bytes, HUGE));
    madvise(at, e->bytes, MADV_HUGEPAGE);
    for (unsigned l = 0; l <= up; at += nodes[up - l] * 64, l++)
        p->level[l] = (uint64_t *)(void *)at;
    p->answer = (uint32_t *)(void *)at;
    levels_fill(p, &of, leaves);
    free(of.key);
    free(of.answer);
    free(s);
    return p;
}

void planb_drop(struct engine *e)
{
    struct planb *p = e->fib;

    free(p->memory);
    free(p->longer);
    free(p);
}

bool planb_select(const struct engine *e)
{
    (void)e;
    return cpu_runs(CPU_AVX512) && burst % LANES == 0;
}

static uint32_t longer_find(const struct longer *l, const uint8_t ip[16])
{
    uint64_t second = half_of(ip + 8);

    while ((second & l->mask) != (l->second & l->mask))
        l++;
    return l->answer;
}

#define AVX512 __attribute__((target("avx512f,popcnt,bmi,bmi2,movbe")))

AVX512 static inline unsigned keys_up_to(const uint64_t *node, uint64_t key)
{
    return (unsigned)__builtin_popcount(
        _mm512_cmple_epu64_mask(_mm512_loadu_si512(node), _mm512_set1_epi64((long long)key)));
}

// The last address of all is looked up as the one before, so that padding is never passed.
AVX512 static inline void find_lanes(const struct planb *p, const uint8_t (*ip)[16],
                                     uint32_t *answer)
{
    uint64_t key[LANES];
    size_t node[LANES];

    for (unsigned j = 0; j < LANES; j++) {
        uint64_t half = half_of(ip[j]);
        key[j] = half - (half == UINT64_MAX);
        node[j] = keys_up_to(p->level[0], key[j]);
    }
    for (unsigned l = 1; l < p->levels; l++)
        for (unsigned j = 0; j < LANES; j++)
            node[j] = node[j] * CHILDREN + keys_up_to(p->level[l] + node[j] * KEYS, key[j]);
    for (unsigned j = 0; j < LANES; j++)
        answer[j] = p->answer[node[j] * KEYS +
                              keys_up_to(p->level[p->levels] + node[j] * KEYS, key[j]) - 1];
}

void planb_find(const void *planb, const uint8_t (*ip)[16], uint32_t *answer, unsigned n)
{
    const struct planb *p = planb;
    uint32_t longer = 0;

    for (unsigned i = 0; i < n; i += LANES)
        find_lanes(p, ip + i, answer + i);
    for (unsigned i = 0; i < n; i++)
        longer |= answer[i];
    for (unsigned i = 0; (longer & LONGER) && i < n; i++)
        if (answer[i] & LONGER)
            answer[i] = longer_find(&p->longer[answer[i] & ~LONGER], ip[i]);
}
#endif
