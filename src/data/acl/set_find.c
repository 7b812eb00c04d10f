// SPDX-License-Identifier: BSD-3-Clause
// set_find.c - finds the addresses of a burst that are in a set: the readers' entry points
//
// IPv4 by the best kernel of the CPU (set4_find_plain.c, set4_find_avx512.c), IPv6 by Poptrie's
// bulk lookup.
#include "acl/set4_find.h"
#include "acl/set_priv.h"
#include "base/cpu.h"

// --- kernels ---

set4_find *set4_find_of(enum set4_kernel k)
{
#ifdef ACL_X86
    if (k == SET4_AVX512)
        return cpu_runs(CPU_AVX512) ? set4_find_avx512 : NULL;
#ifndef __SANITIZE_THREAD__ // it does not see that a gather reads the directory before the objects
                            // behind its words
    if (k == SET4_VPOPCNT)
        return cpu_runs(CPU_AVX512_VPOPCNT) ? set4_find_avx512_vpopcnt : NULL;
#endif
#endif
    return k == SET4_SCALAR ? set4_find_scalar : NULL;
}

set4_step *set4_step_of(enum set4_kernel k)
{
#ifdef ACL_X86
    if (k == SET4_VPOPCNT && set4_find_of(k))
        return set4_step_avx512_vpopcnt;
#endif
    return set4_find_of(k) ? set4_step_scalar : NULL;
}

static uint64_t find_choose(const struct set4 *s, const struct set4_filter *f,
                            const uint32_t *addr_be, unsigned n);
static void step_choose(struct set4_walk *w);
static set4_find *current_find = find_choose;
static set4_step *current_step = step_choose;

static enum set4_kernel best_kernel(void)
{
    enum set4_kernel k = SET4_VPOPCNT;

    while (!set4_find_of(k))
        k--;
    return k;
}

static uint64_t find_choose(const struct set4 *s, const struct set4_filter *f,
                            const uint32_t *addr_be, unsigned n)
{
    set4_find *find = set4_find_of(best_kernel());

    __atomic_store_n(&current_find, find, __ATOMIC_RELAXED);
    return find(s, f, addr_be, n);
}

static void step_choose(struct set4_walk *w)
{
    set4_step *best = set4_step_of(best_kernel());

    __atomic_store_n(&current_step, best, __ATOMIC_RELAXED);
    best(w);
}

uint64_t acl_set_find4(const struct acl_set *s, const uint32_t *addr_be, unsigned n)
{
    const struct set4 *v4 = __atomic_load_n(&s->v4, __ATOMIC_ACQUIRE); // partner: set.c

    if (!v4)
        return 0;
    // partner: set4_filter_fit
    const struct set4_filter *f = __atomic_load_n(&v4->filter, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&current_find, __ATOMIC_RELAXED)(v4, f, addr_be, n);
}

uint64_t acl_set_find6(const struct acl_set *s, const uint8_t (*addr)[16], unsigned n)
{
    const struct poptrie *v6 = __atomic_load_n(&s->v6, __ATOMIC_ACQUIRE); // partner: set.c
    uint64_t found = 0;
    uint32_t value[64];

    if (!v6)
        return 0;
    poptrie_find6_bulk(v6, addr, value, n);
    for (unsigned i = 0; i < n; i++)
        found |= (uint64_t)(value[i] != POPTRIE_NONE) << i;
    return found;
}

// --- in steps ---

void acl_set_walk4(const struct acl_set *s, struct set4_walk *w, const uint32_t *addr_be,
                   unsigned n)
{
    w->set = __atomic_load_n(&s->v4, __ATOMIC_ACQUIRE); // partner: set.c
    w->found = 0;
    w->n_steps = 0;
    w->n = n;
    if (!w->set)
        return;
    w->filter = __atomic_load_n(&w->set->filter, __ATOMIC_ACQUIRE); // partner: set4_filter_fit
    for (unsigned i = 0; i < n; i++)
        w->addr[i] = __builtin_bswap32(addr_be[i]);
}

void set4_walk_by(struct set4_walk *w, set4_step *next)
{
    if (!w->set)
        return;
    next(w);
    if (w->n_steps++ == 3 || !w->n)
        w->set = NULL;
}

void set4_walk_on(struct set4_walk *w)
{
    set4_walk_by(w, __atomic_load_n(&current_step, __ATOMIC_RELAXED));
}
