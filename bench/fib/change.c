// SPDX-License-Identifier: BSD-3-Clause
// change.c - measures how fast a table follows route changes while it is read
//
// Withdraws and announces a random route, and measures both, while a thread on another core does
// lookups. Twice: by wall time, for rate and latency; then by the thread's CPU time, because the
// slowest of 100,000 changes is usually one that the kernel interrupted (reading that clock is a
// system call of half a microsecond, which is included in worst_cpu_us).
#include "fib/fib_bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CHANGES 400000u

struct reader {
    const struct engine *e;
    const struct traffic *traffic;
    _Atomic bool stop;
};

static void *read_on(void *arg)
{
    struct reader *r = arg;
    unsigned from = 0;

    bench_pin(1);
    while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
        r->e->lookup(r->e, r->traffic, from, 1024);
        from = (from + 1024) % N_ADDRESSES;
        atomic_fetch_add_explicit(&reader_lookups, 1, memory_order_release);
    }
    return NULL;
}

// Makes changes until the time is up or us[] is full; stores the duration of each by this clock.
static unsigned change_routes(const struct engine *e, const struct table *t, double (*clock)(void),
                              double seconds, double us[CHANGES], unsigned *refused)
{
    double begin = bench_wall_s(), start = clock();
    unsigned n = 0;

    while (n < CHANGES && (n % 64 != 0 || bench_wall_s() - begin < seconds)) {
        const struct poptrie_route *r = &t->route[bench_random() % t->n];

        for (unsigned announce = 0; announce < 2; announce++) {
            double end;

            *refused += (announce ? e->announce(e, r) : e->withdraw(e, r)) != 0;
            end = clock();
            us[n++] = (end - start) * 1e6;
            start = end;
        }
    }
    return n;
}

void changes_measure(struct engine *e, const struct table *t, const struct traffic *a,
                     double seconds)
{
    struct reader reader = {.e = e, .traffic = a};
    unsigned n, refused = 0, all;
    pthread_t thread;

    if (e->select != NULL && !e->select(e))
        return;
    double *us = malloc(CHANGES * sizeof(*us)), begin;
    pthread_create(&thread, NULL, read_on, &reader);
    begin = bench_wall_s();
    all = n = change_routes(e, t, bench_wall_s, seconds, us, &refused);
    e->changes = (struct changes){.per_s = n / (bench_wall_s() - begin),
                                  .p50_us = stat_quantile(us, n, 0.5),
                                  .p99_us = stat_quantile(us, n, 0.99),
                                  .worst_us = stat_quantile(us, n, 1)};
    all += n = change_routes(e, t, bench_cpu_s, seconds, us, &refused);
    e->changes.worst_cpu_us = stat_quantile(us, n, 1);
    atomic_store(&reader.stop, true);
    pthread_join(thread, NULL);
    if (refused > 0)
        fprintf(stderr, "fib_bench: %s refused %u of %u changes: it lost routes\n", e->name,
                refused, all);
    free(us);
}
