// SPDX-License-Identifier: BSD-3-Clause
// fib_bench.c - longest-prefix match: poptrie against DPDK's libraries, in one process
//
//     fib_bench [--prefixes FILE] [--table full|ntt|hosts|N] [--family 4|6] [--next-hops 64,500]
//               [--rounds 21] [--burst 64] [--engines NAME,...] [--all] [--quick] [--json]
//
// Every engine is built with the same routes and looks up the same pre-generated addresses.  The
// rounds are interleaved (round 1 of all engines, round 2 of all ...), because the machine's speed
// drifts by more than the engines differ; what counts is the ratio: the median over the rounds of
// each round's speed divided by rte_fib AVX-512's (rte_fib6's) in the same round.  Answers are
// compared with each other before anything is timed.
//
// Patterns: uniform over all addresses; prefix: a random address in a random route; zipf: routes
// drawn by popularity 1/rank; sequential.  Updates: withdraw and announce a random route, timed
// one by one, while a thread on another core looks up all the time (poptrie; DPDK's tables allow
// it too).  rte_lpm takes a minute to build a full table: only with --all.
#include "fib/fib_bench.h"

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECKED (1u << 18)
#define UPDATES 200000u

static struct {
    const char *prefixes, *table, *engines;
    char next_hops[64];
    unsigned family, rounds, lookups;
    double update_seconds;
    bool json, all;
} opt = {
    .table = "full", .next_hops = "64,500", .rounds = 21, .lookups = 1u << 19, .update_seconds = 2};

static struct table table;
static struct traffic traffic;
static unsigned n_rows;
static FILE *series; // the rounds, printed after the rows

static double clock_now(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static double now(void)
{
    return clock_now(CLOCK_MONOTONIC);
}

// Time of this thread alone, so that a preempted round counts like any other.
static double now_cpu(void)
{
    return clock_now(CLOCK_THREAD_CPUTIME_ID);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(const double *v, unsigned n, double q)
{
    double *sorted = malloc(n * sizeof(*sorted)), x;

    memcpy(sorted, v, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_value);
    x = sorted[(unsigned)(q * (n - 1) + 0.5)];
    free(sorted);
    return x;
}

static struct engine *yardstick(unsigned family)
{
    for (unsigned i = 0; i < n_engines; i++)
        if (engines[i].family == family && strncmp(engines[i].name, "rte_fib", 7) == 0 &&
            engines[i].fib != NULL)
            return &engines[i];
    return NULL;
}

// --- building ---

static bool wanted(const struct engine *e)
{
    char list[128], *save = NULL;

    if (e->family != table.family || (e->slow_build && !opt.all && table.n > 200000))
        return false;
    if (opt.engines == NULL)
        return true;
    snprintf(list, sizeof(list), "%s", opt.engines);
    for (char *s = strtok_r(list, ",", &save); s != NULL; s = strtok_r(NULL, ",", &save))
        if (strcmp(s, e->name) == 0)
            return true;
    return false;
}

// Kernels of one engine share its table.
static void build_all(void)
{
    for (unsigned i = 0; i < n_engines; i++) {
        struct engine *e = &engines[i], *same = i > 0 ? e - 1 : NULL;
        double start = now();

        e->fib = NULL;
        if (!wanted(e) ||
            (e->select == NULL ? false : strcmp(e->name, "poptrie") == 0 && !e->select(e)))
            continue;
        if (same != NULL && same->fib != NULL && same->build == e->build) {
            e->fib = same->fib;
            e->bytes = same->bytes;
            e->build_ms = same->build_ms;
            continue;
        }
        e->fib = e->build(e, &table);
        e->build_ms = (now() - start) * 1e3;
        if (e->fib == NULL)
            fprintf(stderr, "fib_bench: %s refuses this table\n", e->name);
        else if (e->select != NULL && !e->select(e))
            fprintf(stderr, "fib_bench: %s has no %s lookup on this CPU\n", e->name, e->kernel);
    }
}

static void free_all(void)
{
    for (unsigned i = 0; i < n_engines; i++)
        if (engines[i].fib != NULL && (i == 0 || engines[i - 1].fib != engines[i].fib))
            engines[i].free(&engines[i]);
}

// --- looking up ---

static void check_all(enum pattern p)
{
    static uint32_t want[CHECKED];
    const struct engine *first = NULL;

    for (unsigned i = 0; i < n_engines; i++) {
        const struct engine *e = &engines[i];
        unsigned bad = 0, at = 0;

        if (e->fib == NULL || (e->select != NULL && !e->select(e)))
            continue;
        for (unsigned from = 0; from < CHECKED; from += burst) {
            e->lookup(e, &traffic, from, burst);
            for (unsigned j = 0; j < burst; j++) {
                if (first == NULL)
                    want[from + j] = engine_answer(e, j);
                else if (want[from + j] != engine_answer(e, j) && bad++ == 0)
                    at = from + j;
            }
        }
        if (bad > 0) {
            fprintf(stderr,
                    "fib_bench: %s %s and %s %s disagree on %u of %u %s addresses, first "
                    "on number %u\n",
                    e->name, e->kernel, first->name, first->kernel, bad, CHECKED, pattern_name[p],
                    at);
            exit(1);
        }
        first = first == NULL ? e : first;
    }
}

static void measure(enum pattern p)
{
    for (unsigned r = 0; r < opt.rounds; r++) {
        unsigned from = r * opt.lookups % N_ADDRESSES;

        for (unsigned i = 0; i < n_engines; i++) {
            struct engine *e = &engines[i];
            double start;

            if (e->fib == NULL || (e->select != NULL && !e->select(e)))
                continue;
            e->lookup(e, &traffic, from, opt.lookups / 4);
            start = now_cpu();
            e->lookup(e, &traffic, from, opt.lookups);
            e->mlps[p][r] = opt.lookups / (now_cpu() - start) * 1e-6;
        }
    }
}

// --- changing ---

// The n-th last core of those we may use; with one core only, reader and writer share it.
static void pin(unsigned n)
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
    _Atomic bool stop;
};

static void *read_on(void *arg)
{
    struct reader *r = arg;
    unsigned from = 0;

    pin(1);

    while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
        r->e->lookup(r->e, &traffic, from, 1024);
        from = (from + 1024) % N_ADDRESSES;
        atomic_fetch_add_explicit(&reader_lookups, 1, memory_order_release);
    }
    return NULL;
}

static void measure_updates(struct engine *e)
{
    struct reader reader = {.e = e};
    double *us = malloc(UPDATES * sizeof(*us)), begin, end;
    unsigned n = 0, refused = 0;
    pthread_t thread;

    if (e->select != NULL && !e->select(e))
        return;
    pthread_create(&thread, NULL, read_on, &reader);
    begin = end = now();
    while (n < UPDATES && end - begin < opt.update_seconds) {
        const struct poptrie_route *r = &table.route[random_next() % table.n];
        double start = end;

        refused += e->update(e, r) != 0;
        end = now();
        us[n++] = (end - start) * 1e6 / 2;
    }
    atomic_store(&reader.stop, true);
    pthread_join(thread, NULL);
    e->updates_per_s = 2 * n / (end - begin);
    e->p50_us = quantile(us, n, 0.5);
    e->p99_us = quantile(us, n, 0.99);
    e->worst_us = quantile(us, n, 1);
    if (refused > 0)
        fprintf(stderr, "fib_bench: %s refused %u of %u updates: it lost routes\n", e->name,
                refused, 2 * n);
    free(us);
}

static void measure_all_updates(void)
{
    for (unsigned i = 0; i < n_engines; i++) {
        struct engine *e = &engines[i];
        bool last =
            i + 1 == n_engines || engines[i + 1].update == NULL || engines[i + 1].fib != e->fib;

        if (e->fib == NULL || e->update == NULL || !last)
            continue;
        measure_updates(e);
        for (unsigned j = 0; j < n_engines; j++) // of one table, whoever reads it
            if (engines[j].fib == e->fib) {
                engines[j].updates_per_s = e->updates_per_s;
                engines[j].p50_us = e->p50_us;
                engines[j].p99_us = e->p99_us;
                engines[j].worst_us = e->worst_us;
            }
    }
}

// --- printing ---

static void print_series(const struct engine *e, enum pattern p, const char *what)
{
    fprintf(series,
            "%s{\"what\": \"%s\", \"variant\": \"%s %s\", \"unit\": \"Mlookups/s\", "
            "\"values\": [",
            n_rows > 0 ? ",\n  " : "", what, e->name, e->kernel);
    for (unsigned r = 0; r < opt.rounds; r++)
        fprintf(series, "%s%.2f", r > 0 ? ", " : "", e->mlps[p][r]);
    fprintf(series, "]}");
}

static void print_rows(enum pattern p, unsigned next_hops)
{
    const struct engine *y = yardstick(table.family);
    double ratio[MAX_ROUNDS];
    char what[80];

    snprintf(what, sizeof(what), "IPv%u %s, %s, %u next hops", table.family, opt.table,
             pattern_name[p], next_hops);
    for (unsigned i = 0; i < n_engines; i++) {
        const struct engine *e = &engines[i];
        double median = quantile(e->mlps[p], opt.rounds, 0.5), paired = 0;

        if (e->fib == NULL)
            continue;
        for (unsigned r = 0; y != NULL && r < opt.rounds; r++)
            ratio[r] = e->mlps[p][r] / y->mlps[p][r];
        if (y != NULL)
            paired = quantile(ratio, opt.rounds, 0.5);
        if (!opt.json) {
            printf("%-9s %-14s IPv%u %-10s %5u %8.1f %8.1f..%-8.1f %6.2f %7.2f %8.0f\n", e->name,
                   e->kernel, e->family, pattern_name[p], next_hops, median,
                   quantile(e->mlps[p], opt.rounds, 0), quantile(e->mlps[p], opt.rounds, 1), paired,
                   e->bytes / 1e6, e->build_ms);
            continue;
        }
        print_series(e, p, what);
        printf("%s{\"engine\": \"%s\", \"kernel\": \"%s\", \"family\": %u, \"table\": \"%s\", "
               "\"routes\": %zu, \"pattern\": \"%s\", \"next_hops\": %u, \"burst\": %u, "
               "\"mlps\": %.2f, \"mlps_min\": %.2f, \"mlps_max\": %.2f, \"ratio\": %.3f, "
               "\"bytes\": %" PRIu64 ", \"build_ms\": %.1f, \"updates_per_s\": %.0f, "
               "\"update_p50_us\": %.3f, \"update_p99_us\": %.3f, \"update_worst_us\": %.1f}",
               n_rows++ > 0 ? ",\n  " : "", e->name, e->kernel, e->family, opt.table, table.n,
               pattern_name[p], next_hops, burst, median, quantile(e->mlps[p], opt.rounds, 0),
               quantile(e->mlps[p], opt.rounds, 1), paired, e->bytes, e->build_ms, e->updates_per_s,
               e->p50_us, e->p99_us, e->worst_us);
    }
    fflush(stdout);
}

static void print_updates(unsigned next_hops)
{
    for (unsigned i = 0; i < n_engines && !opt.json; i++)
        if (engines[i].fib != NULL && engines[i].updates_per_s > 0 &&
            (i == 0 || engines[i - 1].fib != engines[i].fib))
            printf("%-9s updates        IPv%u %.0f/s with a reader; p50 %.2f p99 %.2f worst %.1f "
                   "us; %u next hops\n",
                   engines[i].name, engines[i].family, engines[i].updates_per_s, engines[i].p50_us,
                   engines[i].p99_us, engines[i].worst_us, next_hops);
}

static void bench_next_hops(unsigned next_hops)
{
    table_next_hops(&table, next_hops);
    for (unsigned i = 0; i < n_engines; i++)
        engines[i].updates_per_s = engines[i].p50_us = engines[i].p99_us = engines[i].worst_us = 0;
    build_all();
    traffic_make(&table, PREFIX, &traffic);
    check_all(PREFIX);
    for (int p = 0; p < N_PATTERNS; p++) {
        traffic_make(&table, p, &traffic);
        check_all(p);
        measure(p);
    }
    measure_all_updates(); // last, because changes shuffle the tables
    for (int p = 0; p < N_PATTERNS; p++)
        print_rows(p, next_hops);
    print_updates(next_hops);
    free_all();
}

static void bench_family(unsigned family)
{
    char list[64], *save = NULL;

    if (table_make(&table, opt.table, family, opt.prefixes) != 0) {
        fprintf(stderr,
                "fib_bench: no IPv%u routes from table '%s'%s%s: say --table full, ntt (IPv4), "
                "hosts or a number, and --prefixes FILE with one prefix a line\n",
                family, opt.table, opt.prefixes != NULL ? " and file " : "",
                opt.prefixes != NULL ? opt.prefixes : "");
        exit(1);
    }
    snprintf(list, sizeof(list), "%s", opt.next_hops);
    for (char *s = strtok_r(list, ",", &save); s != NULL; s = strtok_r(NULL, ",", &save))
        if (atoi(s) > 0 && atoi(s) <= (int)POPTRIE_VALUE_MAX)
            bench_next_hops(atoi(s));
}

static void usage(void)
{
    fprintf(stderr, "usage: fib_bench [--prefixes FILE] [--table full|ntt|hosts|N] [--family 4|6] "
                    "[--next-hops 64,500] [--rounds 21] [--burst 64] [--engines NAME,...] [--all] "
                    "[--quick] [--json]\n");
    exit(2);
}

static void parse(int argc, char **argv)
{
    static const struct option longs[] = {{"prefixes", 1, NULL, 'p'},
                                          {"table", 1, NULL, 't'},
                                          {"family", 1, NULL, 'f'},
                                          {"next-hops", 1, NULL, 'n'},
                                          {"rounds", 1, NULL, 'r'},
                                          {"burst", 1, NULL, 'b'},
                                          {"engines", 1, NULL, 'e'},
                                          {"all", 0, NULL, 'a'},
                                          {"quick", 0, NULL, 'q'},
                                          {"json", 0, NULL, 'j'},
                                          {0}};
    int c;

    opt.prefixes = getenv("KAMUEE_PREFIXES");
    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
        switch (c) {
        case 'p':
            opt.prefixes = optarg;
            break;
        case 't':
            opt.table = optarg;
            break;
        case 'f':
            opt.family = atoi(optarg);
            break;
        case 'n':
            snprintf(opt.next_hops, sizeof(opt.next_hops), "%s", optarg);
            break;
        case 'r':
            opt.rounds = atoi(optarg);
            break;
        case 'b':
            burst = atoi(optarg);
            break;
        case 'e':
            opt.engines = optarg;
            break;
        case 'a':
            opt.all = true;
            break;
        case 'j':
            opt.json = true;
            break;
        case 'q':
            opt.rounds = 9;
            opt.lookups = 1u << 18;
            opt.update_seconds = 0.5;
            snprintf(opt.next_hops, sizeof(opt.next_hops), "64");
            break;
        default:
            usage();
        }
    // bursts of a power of two, so that they divide a round
    if (optind < argc || opt.rounds < 1 || opt.rounds > MAX_ROUNDS || burst < 1 ||
        burst > MAX_BURST || (burst & (burst - 1)) != 0 ||
        (opt.family != 0 && opt.family != 4 && opt.family != 6))
        usage();
}

int main(int argc, char **argv)
{
    char *text = NULL;
    size_t bytes = 0;

    parse(argc, argv);
    if (engines_init(argv[0]) != 0) {
        fprintf(stderr, "fib_bench: DPDK does not start\n");
        return 1;
    }
    pin(0);
    traffic.host = memory_huge(N_ADDRESSES * sizeof(*traffic.host));
    traffic.net = memory_huge(N_ADDRESSES * sizeof(*traffic.net));
    traffic.ip6 = memory_huge(N_ADDRESSES * sizeof(*traffic.ip6));
    series = open_memstream(&text, &bytes);
    if (opt.json)
        printf("{\"rows\": [\n  ");
    else
        printf("engine    kernel         fam  pattern    nexth  Mlook/s      min..max       ratio  "
               "    MB "
               "build ms\n");
    for (unsigned family = 4; family <= 6; family += 2)
        if (opt.family == 0 || opt.family == family)
            bench_family(family);
    fclose(series);
    if (opt.json)
        printf("],\n \"results\": [\n  %s]}\n", text);
    free(text);
    return 0;
}
