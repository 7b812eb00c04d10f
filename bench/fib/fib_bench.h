// SPDX-License-Identifier: BSD-3-Clause
// fib_bench.h - what the parts of fib_bench share: routes, addresses, engines
#ifndef BENCH_FIB_BENCH_H
#define BENCH_FIB_BENCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fib/memory.h"
#include "poptrie/poptrie.h"

#define N_ADDRESSES (1u << 22) // pre-generated, read in order
#define MAX_ROUNDS 101
#define MAX_BURST 1024

enum pattern { UNIFORM, PREFIX, ZIPF, SEQUENTIAL, N_PATTERNS };
extern const char *const pattern_name[N_PATTERNS];

struct table {
    const char *name;
    unsigned family;
    size_t n;
    struct poptrie_route *route;
};

struct traffic {
    uint32_t *host;     // IPv4, as rte_fib wants them
    uint32_t *net;      // the same in network byte order
    uint8_t (*ip6)[16]; // IPv6
    bool made;
};

// --- table.c ---
// name: full (the file, or a generated table without one), ntt (full and 16,140 routes longer than
// /24), hosts (100,000 host routes), or a number of generated routes.  -1 if unknown.
int table_make(struct table *t, const char *name, unsigned family, const char *path);
void table_next_hops(struct table *t, unsigned n);
void traffic_make(const struct table *t, enum pattern p, struct traffic *a);

// --- change.c ---
struct engine;
double now(void);     // seconds
double now_cpu(void); // of this thread alone, so that a preempted one counts like any other
double quantile(const double *v, unsigned n, double q);
void pin(unsigned n); // to the n-th last core of those we may use
// Withdraws and announces random routes for so long, while a thread on another core looks up.
void changes_measure(struct engine *e, const struct table *t, const struct traffic *a,
                     double seconds);

// --- engine.c ---
struct engine {
    const char *name, *kernel;
    unsigned family;
    void *(*build)(struct engine *e, const struct table *t);
    void (*free)(struct engine *e);
    void (*lookup)(const struct engine *e, const struct traffic *a, unsigned from, unsigned n);
    bool (*select)(const struct engine *e); // before each timed run; false = not on this CPU
    int (*withdraw)(const struct engine *e, const struct poptrie_route *r); // NULL: not measured
    int (*announce)(const struct engine *e, const struct poptrie_route *r);
    int variant;
    bool slow_build; // more than seconds on a full table
    void *fib;       // NULL: refused
    bool runs;       // this kernel, on this CPU
    bool told;       // that it does not
    uint64_t bytes;
    double build_ms;
    double mlps[N_PATTERNS][MAX_ROUNDS];
    struct changes {
        double per_s, p50_us, p99_us, worst_us; // by the clock on the wall
        double worst_cpu_us;                    // of the writer's own time
    } changes;
};
extern struct engine engines[];
extern const unsigned n_engines;
extern unsigned burst;
extern _Atomic uint64_t reader_lookups; // finished by the thread that reads during updates
int engines_init(const char *program);  // DPDK without huge pages, devices or shared files
uint32_t engine_answer(const struct engine *e,
                       unsigned at); // results of the last burst, any engine

#endif
