// SPDX-License-Identifier: BSD-3-Clause
// fib_bench.c - longest-prefix match: poptrie against DPDK's libraries, in one process
//
//     fib_bench [--prefixes FILE] [--table full|ntt|hosts|N,...] [--family 4|6]
//               [--next-hops 4,64,500,5000,60000] [--patterns uniform,prefix,zipf,sequential]
//               [--rounds 21] [--burst 64] [--engines NAME,...] [--all] [--quick] [--json]
//
// All engines have the same routes and look up the same pre-generated addresses. Rounds are
// interleaved (round 1 of all engines, round 2 of all ...), because the machine's speed drifts by
// more than the engines differ. The result is a ratio: the median over the rounds of each round's
// speed divided by rte_fib's (rte_fib6's) in the same round, with its fastest kernel on this CPU.
// Answers are compared before the measurements.
//
// Patterns: uniform over all addresses; prefix: a random address in a random route; zipf: routes
// drawn by popularity 1/rank; sequential. "single" is one address per call, through poptrie_find4
// and through rte_fib_lookup_bulk with n = 1 and rte_fib's scalar code; calls do not depend on each
// other's answers. Times are the thread's own, so other programs on the core hardly count. Route
// changes: change.c. rte_lpm takes a minute to build a full table: only with --all.
//
// --quick: IPv4 with 64, 500, 5,000 and 60,000 next hops and IPv6 with 64, in few rounds.
#include "fib/fib_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report.h"

#define CHECKED (1u << 18)

static struct {
    const char *prefixes, *tables, *engines, *next_hops, *next_hops6;
    unsigned family, rounds, lookups, patterns;
    double update_seconds;
    bool json, all;
} opt = {.tables = "full", .next_hops = "4,64,500,5000,60000", .next_hops6 = "4,64,500,5000,60000",
         .rounds = 21, .lookups = 1u << 19, .patterns = (1u << N_PATTERNS) - 1,
         .update_seconds = 2};

static struct table table;
static struct traffic traffic[N_PATTERNS]; // of this table, made on first use
static struct series { // the rounds, reported after the rows
    char what[80], variant[32];
    double mlps[ROUNDS_MAX];
} *series;
static unsigned n_series;

static bool is_single(const struct engine *e)
{
    return strcmp(e->kernel, "single") == 0;
}

static double mlps_median(const struct engine *e, enum pattern p)
{
    return stat_median(e->mlps[p], opt.rounds);
}

// rte_fib or rte_fib6 with its fastest kernel, in bursts or one address per call; NULL if left out.
static const struct engine *peer_of(unsigned family, bool single, enum pattern p)
{
    const struct engine *best = NULL;

    for (const struct engine *e = engines; e < engines + n_engines; e++)
        if (e->runs && e->family == family && strncmp(e->name, "rte_fib", 7) == 0 &&
            is_single(e) == single && (best == NULL || mlps_median(e, p) > mlps_median(best, p)))
            best = e;
    return best;
}

// --- building ---

static bool engine_wanted(const struct engine *e)
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
        double start = bench_cpu_s();

        e->fib = NULL;
        e->runs = false;
        if (!engine_wanted(e) ||
            (e->select == NULL ? false : strcmp(e->name, "poptrie") == 0 && !e->select(e)))
            continue;
        if (same != NULL && same->fib != NULL && same->build == e->build) {
            e->fib = same->fib;
            e->bytes = same->bytes;
            e->build_ms = same->build_ms;
        } else {
            e->fib = e->build(e, &table);
            e->build_ms = (bench_cpu_s() - start) * 1e3;
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

// Engines share tables, so each selects its kernel before it looks up.
static bool engine_prepare(const struct engine *e)
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

        if (!engine_prepare(e))
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

static void pattern_measure(enum pattern p)
{
    for (unsigned r = 0; r < opt.rounds; r++) {
        unsigned from = r * opt.lookups % N_ADDRESSES;

        for (unsigned i = 0; i < n_engines; i++) {
            struct engine *e = &engines[i];
            double start;

            if (!engine_prepare(e))
                continue;
            e->lookup(e, &traffic[p], from, opt.lookups / 4);
            start = bench_cpu_s();
            e->lookup(e, &traffic[p], from, opt.lookups);
            e->mlps[p][r] = opt.lookups / (bench_cpu_s() - start) * 1e-6;
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
        for (unsigned j = 0; j < n_engines; j++) // once per table
            if (engines[j].fib == e->fib)
                engines[j].changes = e->changes;
    }
}

// --- printing ---

// Median of the rounds' own ratios.
static double paired_ratio(const struct engine *e, const struct engine *to, enum pattern p)
{
    return to ? stat_ratio(e->mlps[p], to->mlps[p], opt.rounds) : 0;
}

static void row_report(const struct engine *e, enum pattern p, unsigned next_hops)
{
    const struct engine *peer = peer_of(e->family, false, p);
    const struct changes *c = &e->changes;
    bool single = is_single(e);

    report_open(NULL, '{');
    report_text("engine", "%s", e->name);
    report_text("kernel", "%s", e->kernel);
    report_number("family", 0, e->family);
    report_text("table", "%s", table.name);
    report_number("routes", 0, (double)table.n);
    report_text("pattern", "%s", pattern_name[p]);
    report_number("next_hops", 0, next_hops);
    report_number("burst", 0, single ? 1 : burst);
    report_number("mlps", 2, mlps_median(e, p));
    report_number("mlps_min", 2, stat_quantile(e->mlps[p], opt.rounds, 0));
    report_number("mlps_max", 2, stat_quantile(e->mlps[p], opt.rounds, 1));
    report_text("peer", "%s", peer ? peer->kernel : "");
    report_number("ratio", 3, paired_ratio(e, peer, p));
    report_number("ratio_single", 3,
                  single ? paired_ratio(e, peer_of(e->family, true, p), p) : 0);
    report_number("bytes", 0, (double)e->bytes);
    report_number("build_ms", 1, e->build_ms);
    report_number("updates_per_s", 0, c->per_s);
    report_number("update_p50_us", 3, c->p50_us);
    report_number("update_p99_us", 3, c->p99_us);
    report_number("update_worst_us", 1, c->worst_us);
    report_number("update_worst_cpu_us", 1, c->worst_cpu_us);
    report_close();
}

static void series_keep(const struct engine *e, enum pattern p, unsigned next_hops)
{
    series = realloc(series, (n_series + 1) * sizeof *series);
    bench_check(series, "no memory for the rounds");
    struct series *s = &series[n_series++];
    snprintf(s->what, sizeof s->what, "IPv%u %s, %s, %u next hops", table.family, table.name,
             pattern_name[p], next_hops);
    snprintf(s->variant, sizeof s->variant, "%s %s", e->name, e->kernel);
    memcpy(s->mlps, e->mlps[p], sizeof s->mlps);
}

static void rows_report(enum pattern p, unsigned next_hops)
{
    for (const struct engine *e = engines; e < engines + n_engines; e++)
        if (e->runs) {
            row_report(e, p, next_hops);
            series_keep(e, p, next_hops);
        }
}

static void series_report(void)
{
    report_open("results", '[');
    for (const struct series *s = series; s < series + n_series; s++) {
        report_open(NULL, '{');
        report_text("what", "%s", s->what);
        report_text("variant", "%s", s->variant);
        report_text("unit", "Mlookups/s");
        report_series("values", 2, s->mlps, opt.rounds);
        report_close();
    }
    report_close();
}

static void traffic_need(enum pattern p)
{
    struct traffic *a = &traffic[p];

    if (a->host == NULL)
        *a = traffic_new();
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
            pattern_measure(p);
        }
    traffic_need(PREFIX);
    measure_all_changes(); // last, because they shuffle the tables
    for (int p = 0; p < N_PATTERNS; p++)
        if (opt.patterns >> p & 1)
            rows_report(p, next_hops);
    free_all();
}

static void bench_table(const char *name, unsigned family)
{
    char list[64], *save = NULL;

    bench_check(!table_make(&table, name, family, opt.prefixes),
                "no IPv%u routes from table '%s'%s%s: say --table full, ntt (IPv4), hosts or a "
                "number, and --prefixes FILE with one prefix a line",
                family, name, opt.prefixes ? " and file " : "", opt.prefixes ? opt.prefixes : "");
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

static void patterns_read(const char *text)
{
    char list[128], *save = NULL;

    snprintf(list, sizeof list, "%s", text);
    opt.patterns = 0;
    for (char *s = strtok_r(list, ",", &save); s != NULL; s = strtok_r(NULL, ",", &save))
        for (int p = 0; p < N_PATTERNS; p++)
            opt.patterns |= (unsigned)(strcmp(s, pattern_name[p]) == 0) << p;
}

static void next_hops_read(const char *text)
{
    opt.next_hops = opt.next_hops6 = text;
}

static void quick_set(const char *unused)
{
    opt.rounds = 9;
    opt.lookups = 1u << 18;
    opt.update_seconds = 0.3;
    opt.next_hops = "64,500,5000,60000";
    opt.next_hops6 = "64";
}

static const struct bench_option options[] = {
    OPTION_TEXT("prefixes", &opt.prefixes), OPTION_TEXT("table", &opt.tables),
    OPTION_NUMBER("family", &opt.family, 4, 6), OPTION_CALL("next-hops", next_hops_read),
    OPTION_CALL("patterns", patterns_read), OPTION_NUMBER("rounds", &opt.rounds, 1, ROUNDS_MAX),
    OPTION_NUMBER("burst", &burst, 1, MAX_BURST), OPTION_TEXT("engines", &opt.engines),
    OPTION_FLAG("all", &opt.all), OPTION_DO("quick", quick_set), OPTION_FLAG("json", &opt.json),
    {0}};

int main(int argc, char **argv)
{
    opt.prefixes = getenv("KAMUEE_PREFIXES");
    bench_options(argc, argv, options, NULL);
    bench_check(opt.patterns, "--patterns: expected some of uniform, prefix, zipf, sequential");
    bench_check((burst & (burst - 1)) == 0, "--burst has to divide a round: a power of two");
    engines_init();
    bench_pin(0);
    report_begin(opt.json);
    report_open("rows", '[');
    for (unsigned family = 4; family <= 6; family += 2)
        if (opt.family == 0 || opt.family == family)
            bench_family(family);
    report_close();
    if (opt.json)
        series_report();
    report_end();
    return 0;
}
