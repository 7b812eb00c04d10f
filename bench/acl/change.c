// SPDX-License-Identifier: BSD-3-Clause
// change.c - deletes and adds members of sets and rules of lists while another thread does lookups
//
// A grace period has ended when the reader has begun and finished two bursts since; nothing waits
// for it: memory is freed afterwards, as with forwarders.
// it: memory is given back when it has passed, as forwarders' is.
#include <pthread.h>
#include <stdatomic.h>

#include "acl/acl_bench.h"

#define BATCH 1000u
#define AT_ONCE 64u // single changes between two reads of the clock

static _Atomic bool stop;
static _Atomic uint64_t bursts;

struct reading {
    const struct engine *e;
    const struct packets *p;
};

static void *read_on(void *arg)
{
    const struct reading *r = arg;

    bench_pin(1);
    for (uint32_t from = 0; !atomic_load_explicit(&stop, memory_order_relaxed);
         from = (from + BURST) % r->p->n) {
        r->e->run(r->e, r->p, from, BURST);
        atomic_fetch_add_explicit(&bursts, 1, memory_order_release); // partner: memory_collect
    }
    return NULL;
}

struct grace {
    uint64_t epoch, seen;
    bool waiting;
};

static void memory_collect(struct grace *g)
{
    struct acl_set *set = engine_set();

    if (g->waiting && atomic_load_explicit(&bursts, memory_order_acquire) < g->seen + 2)
        return;
    if (g->waiting && set)
        acl_set_reclaim(set, g->epoch);
    else if (g->waiting)
        acl_reclaim(engine_list(), g->epoch);
    g->epoch = set ? acl_set_epoch(set) : acl_epoch(engine_list());
    atomic_thread_fence(
        memory_order_seq_cst); // the change is visible before the reader's count is read
    g->seen = atomic_load(&bursts);
    g->waiting = true;
}

static bool change_one(const struct rules *r)
{
    size_t at = bench_random() % r->n;

    if (engine_set())
        return !acl_set_change(engine_set(), &r->prefix[at], 1, NULL, 0, NULL) &&
               !acl_set_change(engine_set(), NULL, 0, &r->prefix[at], 1, NULL);
    return !acl_del(engine_list(), r->rule[at].number) && !acl_add(engine_list(), &r->rule[at]);
}

static double single_per_s(const struct rules *r, double seconds, struct grace *g)
{
    double start = bench_wall_s(), took = 0;
    uint64_t n = 0;

    while (took < seconds) {
        for (unsigned i = 0; i < AT_ONCE; i++)
            bench_check(change_one(r), "a change was refused");
        n += 2 * AT_ONCE;
        memory_collect(g);
        took = bench_wall_s() - start;
    }
    return (double)n / took;
}

static double batched_per_s(const struct rules *r, double seconds, struct grace *g)
{
    struct prefix some[BATCH];
    double start = bench_wall_s(), took = 0;
    uint64_t n = 0, skipped;

    while (took < seconds) {
        for (unsigned i = 0; i < BATCH; i++)
            some[i] = r->prefix[bench_random() % r->n];
        bench_check(!acl_set_change(engine_set(), some, BATCH, NULL, 0, &skipped) &&
                        !acl_set_change(engine_set(), NULL, 0, some, BATCH, &skipped),
                    "a batch was refused");
        n += 2 * BATCH;
        memory_collect(g);
        took = bench_wall_s() - start;
    }
    return (double)n / took;
}

void changes_measure(struct changes *c, const struct rules *r, const struct packets *p,
                     double seconds)
{
    struct reading reading = {&engines[engine_set() ? ENGINE_SET : ENGINE_LIST], p};
    struct grace g = {0};
    pthread_t reader;

    *c = (struct changes){0};
    atomic_store(&stop, false);
    if (pthread_create(&reader, NULL, read_on, &reading))
        return;
    c->single_per_s = single_per_s(r, seconds, &g);
    if (engine_set())
        c->batched_per_s = batched_per_s(r, seconds, &g);
    atomic_store(&stop, true);
    pthread_join(reader, NULL);
}
