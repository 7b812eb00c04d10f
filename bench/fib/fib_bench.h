// SPDX-License-Identifier: BSD-3-Clause
// fib_bench.h - shared by the parts of fib_bench: engines, and changes of their routes
#ifndef BENCH_FIB_BENCH_H
#define BENCH_FIB_BENCH_H

#include <stdatomic.h>

#include "lib/stat.h"
#include "lib/table.h"

#define MAX_BURST 1024

// --- change.c ---
struct engine;
// Withdraws and announces random routes for `seconds`, while a thread on another core does lookups.
void changes_measure(struct engine *e, const struct table *t, const struct traffic *a,
                     double seconds);

// --- engine.c ---
struct engine {
    const char *name, *kernel;
    unsigned family;
    void *(*build)(struct engine *e, const struct table *t);
    void (*free)(struct engine *e);
    void (*lookup)(const struct engine *e, const struct traffic *a, unsigned from, unsigned n);
    bool (*select)(const struct engine *e); // before each measured run; false = not on this CPU
    int (*withdraw)(const struct engine *e, const struct poptrie_route *r); // NULL = not measured
    int (*announce)(const struct engine *e, const struct poptrie_route *r);
    int variant;
    bool slow_build; // more than seconds for a full table
    void *fib;       // NULL = refused
    bool runs;       // this kernel, on this CPU
    bool told;       // already reported that it does not run
    uint64_t bytes;
    double build_ms;
    double mlps[N_PATTERNS][ROUNDS_MAX];
    struct changes {
        double per_s, p50_us, p99_us, worst_us; // by wall time
        double worst_cpu_us;                    // by the writer's CPU time
    } changes;
};
extern struct engine engines[];
extern const unsigned n_engines;
extern unsigned burst;
extern _Atomic uint64_t reader_lookups; // by the thread that reads during updates
void engines_init(void);                // DPDK without huge pages, devices or shared files
uint32_t engine_answer(const struct engine *e, unsigned at); // of the last burst

// --- planb.c: x86-64 only ---
void *planb_build(struct engine *e, const struct table *t);
void planb_drop(struct engine *e);
bool planb_select(const struct engine *e);
// Looks up n addresses in network byte order, a multiple of 16.
void planb_find(const void *planb, const uint8_t (*ip)[16], uint32_t *answer, unsigned n);

#endif
