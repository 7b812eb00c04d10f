// SPDX-License-Identifier: BSD-3-Clause
// change.c - how fast a table follows route changes while it is read
//
// A random route is withdrawn and announced again, each timed by itself, while a thread on another
// core looks up all the time.  Twice: once by the wall's clock, for rate and latency; once more by
// the clock of the thread, because the slowest of 100,000 changes is usually one that the kernel
// interrupted (reading that clock is a system call of half a microsecond: it is in worst_cpu_us).
#include "fib/fib_bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHANGES 400000u

static double clock_now(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}

double now(void)
{
    return clock_now(CLOCK_MONOTONIC);
}

double now_cpu(void)
{
    return clock_now(CLOCK_THREAD_CPUTIME_ID);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double quantile(const double *v, unsigned n, double q)
{
    double *sorted = malloc(n * sizeof(*sorted)), x;

    memcpy(sorted, v, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_value);
    x = sorted[(unsigned)(q * (n - 1) + 0.5)];
    free(sorted);
    return x;
}

// With one core only, reader and writer share it.
void pin(unsigned n)
{
    static cpu_set_t all;
    cpu_set_t one;
    unsigned count;

    if (CPU_COUNT(&all) == 0)
        sched_getaffinity(0, sizeof(all), &all);
    count = CPU_COUNT(&all);
    CPU_ZERO(&one);
    for (unsigned i = 0, k = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all) && ++k == (count > n ? count - n : 1))
            CPU_SET(i, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

struct reader {
    const struct engine *e;
    const struct traffic *traffic;
    _Atomic bool stop;
};

static void *read_on(void *arg)
{
    struct reader *r = arg;
    unsigned from = 0;

    pin(1);
    while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
        r->e->lookup(r->e, r->traffic, from, 1024);
        from = (from + 1024) % N_ADDRESSES;
        atomic_fetch_add_explicit(&reader_lookups, 1, memory_order_release);
    }
    return NULL;
}

// Changes until the time is over or us[] is full; how long each took, by this clock.
static unsigned change_routes(const struct engine *e, const struct table *t, double (*clock)(void),
                              double seconds, double us[CHANGES], unsigned *refused)
{
    double begin = now(), start = clock();
    unsigned n = 0;

    while (n < CHANGES && (n % 64 != 0 || now() - begin < seconds)) {
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
    double *us = malloc(CHANGES * sizeof(*us)), begin;
    unsigned n, refused = 0, all;
    pthread_t thread;

    if (e->select != NULL && !e->select(e))
        return;
    pthread_create(&thread, NULL, read_on, &reader);
    begin = now();
    all = n = change_routes(e, t, now, seconds, us, &refused);
    e->changes = (struct changes){.per_s = n / (now() - begin),
                                  .p50_us = quantile(us, n, 0.5),
                                  .p99_us = quantile(us, n, 0.99),
                                  .worst_us = quantile(us, n, 1)};
    all += n = change_routes(e, t, now_cpu, seconds, us, &refused);
    e->changes.worst_cpu_us = quantile(us, n, 1);
    atomic_store(&reader.stop, true);
    pthread_join(thread, NULL);
    if (refused > 0)
        fprintf(stderr, "fib_bench: %s refused %u of %u changes: it lost routes\n", e->name,
                refused, all);
    free(us);
}
