// SPDX-License-Identifier: BSD-3-Clause
// fib_bench.c - longest-prefix match: poptrie against DPDK's libraries, in one process
//
//     fib_bench [--prefixes FILE] [--table full|ntt|hosts|N,...] [--family 4|6]
//               [--next-hops 4,64,500,5000,60000] [--patterns uniform,prefix,zipf,sequential]
//               [--rounds 21] [--burst 64] [--engines NAME,...] [--all] [--quick] [--json]
//
// Every engine is built with the same routes and looks up the same pre-generated addresses.  The
// rounds are interleaved (round 1 of all engines, round 2 of all ...), because the machine's speed
// drifts by more than the engines differ; what counts is the ratio: the median over the rounds of
// each round's speed divided by rte_fib's (rte_fib6's) in the same round, by its fastest kernel on
// this CPU.  Answers are compared with each other before anything is timed.
//
// Patterns: uniform over all addresses; prefix: a random address in a random route; zipf: routes
// drawn by popularity 1/rank; sequential.  "single" is one address a call, through poptrie_find4
// and through rte_fib_lookup_bulk with n = 1 and rte_fib's scalar code; calls do not wait for each
// other's answers.  Times are the thread's own, so what else runs on the core hardly counts.
// Changes of routes: change.c.  rte_lpm takes a minute to build a full table: only with --all.
//
// --quick: IPv4 with 64, 500, 5,000 and 60,000 next hops and IPv6 with 64, in few rounds.
#include "fib/fib_bench.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKED (1u << 18)

static struct {
    const char *prefixes, *tables, *engines, *next_hops, *next_hops6;
    unsigned family, rounds, lookups, patterns;
    double update_seconds;
    bool json, all;
} opt = {.tables = "full",
         .next_hops = "4,64,500,5000,60000",
         .next_hops6 = "4,64,500,5000,60000",
         .rounds = 21,
         .lookups = 1u << 19,
         .patterns = (1u << N_PATTERNS) - 1,
         .update_seconds = 2};

static struct table table;
static struct traffic traffic[N_PATTERNS]; // of this table, made when first needed
static unsigned n_rows;
static FILE *series; // the rounds, printed after the rows

static bool is_single(const struct engine *e)
{
    return strcmp(e->kernel, "single") == 0;
}

static double median(const struct engine *e, enum pattern p)
{
    return quantile(e->mlps[p], opt.rounds, 0.5);
}

// rte_fib or rte_fib6 with its fastest kernel, in bursts or one address a call; NULL if it takes no
// part.
static const struct engine *peer_of(unsigned family, bool single, enum pattern p)
{
    const struct engine *best = NULL;

    for (const struct engine *e = engines; e < engines + n_engines; e++)
        if (e->runs && e->family == family && strncmp(e->name, "rte_fib", 7) == 0 &&
            is_single(e) == single && (best == NULL || median(e, p) > median(best, p)))
            best = e;
    return best;
}

// --- building ---

static bool wanted(const struct engine *e)
{
    static bool told;
    char list[128], *save = NULL;

    if (e->family != table.family)
        return false;
    if (e->slow_build && !opt.all && table.n > 200000) {
        if (!told)
            fprintf(
                stderr,
                "fib_bench: skipping %s, which takes a minute to fill; use --all to include it\n",
                e->name);
        told = true;
        return false;
    }
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
        double start = now_cpu();

        e->fib = NULL;
        e->runs = false;
        if (!wanted(e) ||
            (e->select == NULL ? false : strcmp(e->name, "poptrie") == 0 && !e->select(e)))
            continue;
        if (same != NULL && same->fib != NULL && same->build == e->build) {
            e->fib = same->fib;
            e->bytes = same->bytes;
            e->build_ms = same->build_ms;
        } else {
            e->fib = e->build(e, &table);
            e->build_ms = (now_cpu() - start) * 1e3;
        }
        e->runs = e->fib != NULL && (e->select == NULL || e->select(e));
        if (e->fib == NULL)
            fprintf(stderr, "fib_bench: %s cannot hold this table\n", e->name);
        else if (!e->runs && !e->told)
            e->told = fprintf(stderr, "fib_bench: %s has no %s lookup on this CPU\n", e->name,
                              e->kernel) > 0;
    }
}

static void free_all(void)
{
    for (unsigned i = 0; i < n_engines; i++)
        if (engines[i].fib != NULL && (i == 0 || engines[i - 1].fib != engines[i].fib))
            engines[i].free(&engines[i]);
}

// --- looking up ---

// Engines share tables, so each says which kernel it is before it looks up.
static bool prepared(const struct engine *e)
{
    return e->runs && (e->select == NULL || e->select(e));
}

static void check_all(enum pattern p)
{
    static uint32_t want[CHECKED];
    const struct engine *first = NULL;

    for (unsigned i = 0; i < n_engines; i++) {
        const struct engine *e = &engines[i];
        unsigned bad = 0, at = 0;

        if (!prepared(e))
            continue;
        for (unsigned from = 0; from < CHECKED; from += burst) {
            e->lookup(e, &traffic[p], from, burst);
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

            if (!prepared(e))
                continue;
            e->lookup(e, &traffic[p], from, opt.lookups / 4);
            start = now_cpu();
            e->lookup(e, &traffic[p], from, opt.lookups);
            e->mlps[p][r] = opt.lookups / (now_cpu() - start) * 1e-6;
        }
    }
}

// --- changing ---

static void measure_all_changes(void)
{
    for (unsigned i = 0; i < n_engines; i++) {
        struct engine *e = &engines[i];
        bool last =
            i + 1 == n_engines || engines[i + 1].announce == NULL || engines[i + 1].fib != e->fib;

        if (e->fib == NULL || e->announce == NULL || !last)
            continue;
        changes_measure(e, &table, &traffic[PREFIX], opt.update_seconds);
        for (unsigned j = 0; j < n_engines; j++) // of one table, whoever reads it
            if (engines[j].fib == e->fib)
                engines[j].changes = e->changes;
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

// The median of the rounds' own ratios.
static double paired_ratio(const struct engine *e, const struct engine *to, enum pattern p)
{
    double ratio[MAX_ROUNDS];

    if (to == NULL)
        return 0;
    for (unsigned r = 0; r < opt.rounds; r++)
        ratio[r] = e->mlps[p][r] / to->mlps[p][r];
    return quantile(ratio, opt.rounds, 0.5);
}

static void print_json(const struct engine *e, enum pattern p, unsigned next_hops)
{
    bool single = is_single(e);
    double ratio_single = single ? paired_ratio(e, peer_of(e->family, true, p), p) : 0;
    const struct engine *peer = peer_of(e->family, false, p);

    printf("%s{\"engine\": \"%s\", \"kernel\": \"%s\", \"family\": %u, \"table\": \"%s\", "
           "\"routes\": %zu, \"pattern\": \"%s\", \"next_hops\": %u, \"burst\": %u, ",
           n_rows++ > 0 ? ",\n  " : "", e->name, e->kernel, e->family, table.name, table.n,
           pattern_name[p], next_hops, single ? 1 : burst);
    printf("\"mlps\": %.2f, \"mlps_min\": %.2f, \"mlps_max\": %.2f, \"peer\": \"%s\", \"ratio\": "
           "%.3f, "
           "\"ratio_single\": %.3f, \"bytes\": %" PRIu64 ", \"build_ms\": %.1f, ",
           median(e, p), quantile(e->mlps[p], opt.rounds, 0), quantile(e->mlps[p], opt.rounds, 1),
           peer != NULL ? peer->kernel : "", paired_ratio(e, peer, p), ratio_single, e->bytes,
           e->build_ms);
    printf("\"updates_per_s\": %.0f, \"update_p50_us\": %.3f, \"update_p99_us\": %.3f, "
           "\"update_worst_us\": %.1f, \"update_worst_cpu_us\": %.1f}",
           e->changes.per_s, e->changes.p50_us, e->changes.p99_us, e->changes.worst_us,
           e->changes.worst_cpu_us);
}

static void print_text(const struct engine *e, enum pattern p, unsigned next_hops)
{
    printf("%-9s %-14s IPv%u %-10s %5u %8.1f %8.1f..%-8.1f %6.2f %7.2f %8.0f", e->name, e->kernel,
           e->family, pattern_name[p], next_hops, median(e, p),
           quantile(e->mlps[p], opt.rounds, 0), quantile(e->mlps[p], opt.rounds, 1),
           paired_ratio(e, peer_of(e->family, false, p), p), e->bytes / 1e6, e->build_ms);
    if (is_single(e) && peer_of(e->family, true, p) != NULL)
        printf("  %.2f", paired_ratio(e, peer_of(e->family, true, p), p));
    printf("\n");
}

static void print_rows(enum pattern p, unsigned next_hops)
{
    char what[80];

    snprintf(what, sizeof(what), "IPv%u %s, %s, %u next hops", table.family, table.name,
             pattern_name[p], next_hops);
    for (unsigned i = 0; i < n_engines; i++) {
        if (!engines[i].runs)
            continue;
        if (opt.json) {
            print_series(&engines[i], p, what);
            print_json(&engines[i], p, next_hops);
        } else {
            print_text(&engines[i], p, next_hops);
        }
    }
    fflush(stdout);
}

static void print_changes(unsigned next_hops)
{
    for (unsigned i = 0; i < n_engines && !opt.json; i++) {
        const struct changes *c = &engines[i].changes;

        if (engines[i].fib != NULL && c->per_s > 0 &&
            (i == 0 || engines[i - 1].fib != engines[i].fib))
            printf(
                "%-9s changes        IPv%u %.0f/s with a reader; p50 %.2f p99 %.2f worst %.1f us, "
                "of the writer's own time %.1f us; %u next hops\n",
                engines[i].name, engines[i].family, c->per_s, c->p50_us, c->p99_us, c->worst_us,
                c->worst_cpu_us, next_hops);
    }
}

static void traffic_need(enum pattern p)
{
    struct traffic *a = &traffic[p];

    if (a->host == NULL)
        *a = (struct traffic){.host = memory_huge(N_ADDRESSES * sizeof(*a->host)),
                              .net = memory_huge(N_ADDRESSES * sizeof(*a->net)),
                              .ip6 = memory_huge(N_ADDRESSES * sizeof(*a->ip6))};
    if (!a->made)
        traffic_make(&table, p, a);
    a->made = true;
}

static void bench_next_hops(unsigned next_hops)
{
    table_next_hops(&table, next_hops);
    for (unsigned i = 0; i < n_engines; i++)
        engines[i].changes = (struct changes){0};
    build_all();
    for (int p = 0; p < N_PATTERNS; p++)
        if (opt.patterns >> p & 1) {
            traffic_need(p);
            check_all(p);
            measure(p);
        }
    traffic_need(PREFIX);
    measure_all_changes(); // last, because they shuffle the tables
    for (int p = 0; p < N_PATTERNS; p++)
        if (opt.patterns >> p & 1)
            print_rows(p, next_hops);
    print_changes(next_hops);
    free_all();
}

static void bench_table(const char *name, unsigned family)
{
    char list[64], *save = NULL;

    if (table_make(&table, name, family, opt.prefixes) != 0) {
        fprintf(stderr,
                "fib_bench: no IPv%u routes from table '%s'%s%s: say --table full, ntt (IPv4), "
                "hosts or a number, and --prefixes FILE with one prefix a line\n",
                family, name, opt.prefixes != NULL ? " and file " : "",
                opt.prefixes != NULL ? opt.prefixes : "");
        exit(1);
    }
    for (int p = 0; p < N_PATTERNS; p++)
        traffic[p].made = false;
    snprintf(list, sizeof(list), "%s", family == 4 ? opt.next_hops : opt.next_hops6);
    for (char *s = strtok_r(list, ",", &save); s != NULL; s = strtok_r(NULL, ",", &save))
        if (atoi(s) > 0 && atoi(s) <= (int)POPTRIE_VALUE_MAX)
            bench_next_hops(atoi(s));
}

static void bench_family(unsigned family)
{
    char list[128], *save = NULL;

    snprintf(list, sizeof(list), "%s", opt.tables);
    for (char *s = strtok_r(list, ",", &save); s != NULL; s = strtok_r(NULL, ",", &save))
        bench_table(s, family);
}

static unsigned patterns_of(char *list)
{
    unsigned mask = 0;
    char *save = NULL;

    for (char *s = strtok_r(list, ",", &save); s != NULL; s = strtok_r(NULL, ",", &save))
        for (int p = 0; p < N_PATTERNS; p++)
            mask |= (unsigned)(strcmp(s, pattern_name[p]) == 0) << p;
    return mask;
}

static void usage(void)
{
    fprintf(stderr, "usage: fib_bench [--prefixes FILE] [--table full|ntt|hosts|N,...] "
                    "[--family 4|6] [--next-hops 4,64,500,5000,60000] "
                    "[--patterns uniform,prefix,zipf,sequential] [--rounds 21] [--burst 64] "
                    "[--engines NAME,...] [--all] [--quick] [--json]\n");
    exit(2);
}

static void parse(int argc, char **argv)
{
    static const struct option longs[] = {{"prefixes", 1, NULL, 'p'},
                                          {"table", 1, NULL, 't'},
                                          {"family", 1, NULL, 'f'},
                                          {"next-hops", 1, NULL, 'n'},
                                          {"patterns", 1, NULL, 'm'},
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
            opt.tables = optarg;
            break;
        case 'f':
            opt.family = atoi(optarg);
            break;
        case 'n':
            opt.next_hops = opt.next_hops6 = optarg;
            break;
        case 'm':
            opt.patterns = patterns_of(optarg);
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
            opt.update_seconds = 0.3;
            opt.next_hops = "64,500,5000,60000";
            opt.next_hops6 = "64";
            break;
        default:
            usage();
        }
    // bursts of a power of two, so that they divide a round
    if (optind < argc || opt.patterns == 0 || opt.rounds < 1 || opt.rounds > MAX_ROUNDS ||
        burst < 1 || burst > MAX_BURST || (burst & (burst - 1)) != 0 ||
        (opt.family != 0 && opt.family != 4 && opt.family != 6))
        usage();
}

int main(int argc, char **argv)
{
    char *text = NULL;
    size_t bytes = 0;

    parse(argc, argv);
    if (engines_init(argv[0]) != 0) {
        fprintf(stderr, "fib_bench: cannot start DPDK\n");
        return 1;
    }
    pin(0);
    series = open_memstream(&text, &bytes);
    if (opt.json)
        printf("{\"rows\": [\n  ");
    else
        printf("engine    kernel         fam  pattern    nexth  Mlook/s      min..max       ratio  "
               "    MB build ms  ratio of single to rte_fib's\n");
    for (unsigned family = 4; family <= 6; family += 2)
        if (opt.family == 0 || opt.family == family)
            bench_family(family);
    fclose(series);
    if (opt.json)
        printf("],\n \"results\": [\n  %s]}\n", text);
    free(text);
    return 0;
}
