// SPDX-License-Identifier: BSD-3-Clause
// acl_bench.c - access lists and address sets against DPDK's rte_acl, in one process
//
//     acl_bench [--sets SHAPE:FAMILY:RULES[:PEER],...] [--traffic NAME,...] [--rounds 15] [--seed
//     1] [--memory MIB] [--promote-from RULES]
//               [--shelve-from RULES] [--quick] [--json]
//
// SHAPE is one, acl, fw, ipc, blocklist or hosts (rules.c); FAMILY 4 or 6; PEER, how many rules
// rte_acl gets where it cannot hold all of them (its own rules and its own packets, made the same
// way), 0 = it takes no part. Traffic: traffic.c.
//
// All engines get the same packets. Rounds are interleaved; a ratio is the median of the rounds'
// own ratios. Times are of the thread's own. Before anything is timed, the engines' answers are
// compared with each other, and some with a search from the first rule to the last. rte_acl's build
// may take --memory MiB more than there is (4,096): a set that needs more is said to be refused.
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "acl/acl_bench.h"

#define CHECKED (1u << 16)
#define SEARCHED 200000000u // comparisons with rules, of the check from the first rule to the last
#define SETS_MAX 64u

struct wanted {
    enum shape shape;
    unsigned family;
    size_t n, peer_n;
};

static struct {
    struct wanted set[SETS_MAX];
    unsigned n_sets, rounds, packets, traffic;
    uint64_t seed;
    size_t memory_mib;
    double change_seconds;
    bool json;
} opt = {.rounds = 15,
         .packets = 1u << 18,
         .traffic = (1u << N_TRAFFIC) - 1,
         .seed = 1,
         .memory_mib = 4096,
         .change_seconds = 1};

#define QUICK_SETS                                                                                 \
    "one:4:1,acl:4:1000,acl:4:10000,acl:4:100000,acl:4:1000000:100000,blocklist:4:1000000:100000," \
    "blocklist:6:100000:10000"

static struct packets packets[2][2]; // of the set, of the peer's; IPv4, IPv6
static struct rules rules, peer_rules;
static const char *comma = "";

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "acl_bench: %s\n", what);
    exit(1);
}

// --- building ---

static void build(struct engine *e, const struct rules *r)
{
    double start = now_cpu();
    int rc = e->build(e, r);

    e->build_ms = (now_cpu() - start) * 1e3;
    e->built = !rc;
    if (rc && e != peer)
        fail("one of our own engines refuses the rules");
    if (rc)
        fprintf(stderr, "acl_bench: rte_acl refuses %s, IPv%u, %zu rules: %s\n",
                shape_name[r->shape], r->family, r->n, e->note);
}

static void drop(struct engine *e)
{
    e->free(e);
    e->built = false;
    e->bytes = e->writer_bytes = 0;
}

static bool same_rules(const struct rules *r, const struct wanted *w, size_t n)
{
    return r->shape == w->shape && r->family == w->family && r->n == n;
}

// The peer's rules may be those of the set before: they are not built twice.
static void peer_prepare(const struct wanted *w)
{
    if (peer->built && same_rules(&peer_rules, w, w->peer_n))
        return;
    drop(peer);
    rules_free(&peer_rules);
    peer->note[0] = '\0';
    if (!w->peer_n)
        return;
    rules_make(&peer_rules, w->shape, w->family, w->peer_n, opt.seed);
    build(peer, &peer_rules);
}

static void all_prepare(const struct wanted *w)
{
    rules_free(&rules);
    rules_make(&rules, w->shape, w->family, w->n, opt.seed);
    for (unsigned e = 0; e < ENGINE_PEER; e++) {
        drop(&engines[e]);
        if (engines[e].wanted(&rules))
            build(&engines[e], &rules);
    }
    peer_prepare(w);
}

// --- checking ---

static void check(const struct wanted *w, const struct packets *p)
{
    bool peer_too = peer->built && w->peer_n == w->n;
    size_t searched = 0;

    for (uint32_t from = 0; from < CHECKED; from += BURST) {
        uint32_t want[BURST];
        engines[ENGINE_LIST].run(&engines[ENGINE_LIST], p, from, BURST);
        for (unsigned i = 0; i < BURST; i++)
            want[i] = engines[ENGINE_LIST].answer(&engines[ENGINE_LIST], i);
        for (unsigned e = 0; e < N_ENGINES; e++) {
            if (!engines[e].built || (e == ENGINE_PEER && !peer_too))
                continue;
            engines[e].run(&engines[e], p, from, BURST);
            for (unsigned i = 0; i < BURST; i++)
                if (engines[e].answer(&engines[e], i) !=
                    (e == ENGINE_SET ? want[i] != 0 : want[i])) {
                    fprintf(
                        stderr,
                        "acl_bench: %s, IPv%u, %zu rules, packet %u: %s says %u, list says %u\n",
                        shape_name[w->shape], w->family, w->n, from + i, engines[e].name,
                        engines[e].answer(&engines[e], i), want[i]);
                    exit(1);
                }
        }
        for (unsigned i = 0; i < BURST && searched < SEARCHED / N_TRAFFIC;
             i += 8, searched += rules.n)
            if (rules_search(&rules, packet_key(p, from + i)) != want[i])
                fail("the list's answer is not the first rule that matches");
    }
}

// --- measuring ---

// n packets from `from` on, where the trace is shorter from the start again.
static void play(const struct engine *e, const struct packets *p, uint32_t from, uint32_t n)
{
    while (n) {
        uint32_t some = p->n - from < n ? p->n - from : n;
        e->run(e, p, from, some);
        from = (from + some) % p->n;
        n -= some;
    }
}

static double cycles_of(const struct engine *e, const struct packets *p, uint32_t from)
{
    play(e, p, from % p->n,
         opt.packets / 2); // what the others have pushed out of the caches comes back
    double start = now_cpu();
    play(e, p, (from + opt.packets / 2) % p->n, opt.packets);
    return (now_cpu() - start) * (double)rte_get_tsc_hz() / opt.packets;
}

static void measure(struct packets *p, struct packets *peer_p, enum pattern_of t)
{
    engine_cache_fresh();
    for (unsigned e = 0; e < N_ENGINES; e++)
        if (engines[e].built)
            play(&engines[e], e == ENGINE_PEER ? peer_p : p, 0,
                 e == ENGINE_CACHE || e == ENGINE_CHOSEN ? PACKETS : opt.packets / 2);
    for (unsigned r = 0; r < opt.rounds; r++)
        for (unsigned e = 0; e < N_ENGINES; e++)
            if (engines[e].built)
                engines[e].cycles[t][r] =
                    cycles_of(&engines[e], e == ENGINE_PEER ? peer_p : p, r * opt.packets);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct spread {
    double min, median, max;
};

static struct spread spread_of(const double *v)
{
    double s[ROUNDS_MAX];

    memcpy(s, v, opt.rounds * sizeof *s);
    qsort(s, opt.rounds, sizeof *s, by_value);
    return (struct spread){s[0], s[opt.rounds / 2], s[opt.rounds - 1]};
}

// --- telling ---

static void text(const struct wanted *w, const struct engine *e, enum pattern_of t,
                 const struct spread *c, const struct spread *ratio, const struct changes *more)
{
    printf("%-9s IPv%u %8zu  %-9s %-11s %-9s %8.1f M/s %8.1f cycles (%.1f-%.1f)",
           shape_name[w->shape], w->family, w->n, traffic_name[t], e->name, e->kernel,
           (double)rte_get_tsc_hz() / c->median / 1e6, c->median, c->min, c->max);
    if (ratio->median)
        printf("  %6.2f x", ratio->median);
    printf("  %.1f + %.1f MB, %.0f ms", (double)e->bytes / 1e6, (double)e->writer_bytes / 1e6,
           e->build_ms);
    if (more->single_per_s)
        printf(", %.0f changes/s, batched %.0f", more->single_per_s, more->batched_per_s);
    printf("\n");
}

static void json(const struct wanted *w, const struct engine *e, enum pattern_of t,
                 const struct spread *c, const struct spread *ratio, const struct changes *more)
{
    double hz = (double)rte_get_tsc_hz() / 1e6;

    printf("%s\n  {\"set\": \"%s\", \"family\": %u, \"rules\": %zu, \"traffic\": \"%s\", "
           "\"engine\": \"%s\", \"kernel\": \"%s\", ",
           comma, shape_name[w->shape], w->family, e == peer ? w->peer_n : w->n, traffic_name[t],
           e->name, e->kernel);
    printf("\"mlps\": %.3f, \"mlps_min\": %.3f, \"mlps_max\": %.3f, \"cycles\": %.2f, ",
           hz / c->median, hz / c->max, hz / c->min, c->median);
    if (ratio->median)
        printf("\"ratio\": %.3f, \"ratio_min\": %.3f, \"ratio_max\": %.3f, \"ratio_rules\": %zu, ",
               ratio->median, ratio->min, ratio->max, w->peer_n);
    else
        printf("\"ratio\": null, ");
    printf("\"bytes\": %lu, \"writer_bytes\": %lu, \"build_ms\": %.1f, \"updates_per_s\": %.0f, "
           "\"updates_batched_per_s\": %.0f}",
           e->bytes, e->writer_bytes, e->build_ms, more->single_per_s, more->batched_per_s);
    comma = ",";
}

static void tell(const struct wanted *w, enum pattern_of t, const struct changes *changed)
{
    for (struct engine *e = engines; e < engines + N_ENGINES; e++) {
        struct spread c, ratio = {0, 0, 0};
        double r[ROUNDS_MAX];
        bool changes = e == &engines[w->shape == SHAPE_BLOCKLIST ? ENGINE_SET : ENGINE_LIST];
        if (!e->built)
            continue;
        for (unsigned i = 0; i < opt.rounds; i++)
            r[i] = peer->cycles[t][i] / e->cycles[t][i];
        c = spread_of(e->cycles[t]);
        if (peer->built)
            ratio = spread_of(r);
        (opt.json ? json : text)(w, e, t, &c, &ratio, changes ? changed : &(struct changes){0});
    }
}

static void refused_tell(const struct wanted *w)
{
    if (!peer->built && opt.json && w->peer_n)
        printf("%s\n  {\"set\": \"%s\", \"family\": %u, \"rules\": %zu, \"traffic\": null, "
               "\"engine\": \"rte_acl\", \"refused\": \"%s\", "
               "\"build_ms\": %.1f}",
               comma, shape_name[w->shape], w->family, w->peer_n, peer->note, peer->build_ms),
            comma = ",";
}

static void set_measure(const struct wanted *w)
{
    struct packets *p = &packets[0][w->family == 6], *own = &packets[1][w->family == 6];
    struct changes changed = {0};

    all_prepare(w);
    refused_tell(w);
    engine_cache_fresh();
    for (unsigned t = 0; t < N_TRAFFIC; t++) {
        if (!(opt.traffic >> t & 1))
            continue;
        packets_make(p, &rules, t);
        if (peer->built && w->peer_n != w->n)
            packets_make(own, &peer_rules, t);
        check(w, p);
        struct packets *peers = w->peer_n == w->n ? p : own;
        if (peer->built)
            peer_choose(peers);
        measure(p, peers, t);
    }
    changes_measure(&changed, &rules, p, opt.change_seconds);
    for (unsigned t = 0; t < N_TRAFFIC; t++)
        if (opt.traffic >> t & 1)
            tell(w, t, &changed);
    fflush(stdout);
}

// --- options ---

static unsigned index_of(const char *name, const char *const *names, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(name, names[i]))
            return i;
    fprintf(stderr, "acl_bench: unknown name '%s'\n", name);
    exit(2);
}

static void sets_parse(const char *list)
{
    char copy[2048], *save, shape[16];

    snprintf(copy, sizeof copy, "%s", list);
    opt.n_sets = 0;
    for (char *s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
        struct wanted *w = &opt.set[opt.n_sets++];
        int n = sscanf(s, "%15[a-z]:%u:%zu:%zu", shape, &w->family, &w->n, &w->peer_n);
        if (n < 3 || (w->family != 4 && w->family != 6) || !w->n || opt.n_sets == SETS_MAX)
            fail("--sets: expected SHAPE:FAMILY:RULES[:PEER],...");
        if (n == 3)
            w->peer_n = w->n;
        w->shape = index_of(shape, shape_name, N_SHAPES);
    }
}

static void traffic_parse(const char *list)
{
    char copy[256], *save;

    snprintf(copy, sizeof copy, "%s", list);
    opt.traffic = 0;
    for (char *s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save))
        opt.traffic |= 1u << index_of(s, traffic_name, N_TRAFFIC);
}

static void quick(void)
{
    sets_parse(QUICK_SETS);
    traffic_parse("hot,scatter,unlisted,hostile");
    opt.rounds = 5;
    opt.packets = 1u << 17;
    opt.change_seconds = 0.25;
}

static void options_read(int argc, char **argv)
{
    static const struct option known[] = {
        {"sets", 1, NULL, 's'},        {"traffic", 1, NULL, 't'},
        {"rounds", 1, NULL, 'r'},      {"seed", 1, NULL, 'e'},
        {"memory", 1, NULL, 'm'},      {"promote-from", 1, NULL, 'p'},
        {"shelve-from", 1, NULL, 'f'}, {"quick", 0, NULL, 'q'},
        {"json", 0, NULL, 'j'},        {0}};
    sets_parse(QUICK_SETS);
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 's')
            sets_parse(optarg);
        else if (c == 't')
            traffic_parse(optarg);
        else if (c == 'r')
            opt.rounds = (unsigned)atoi(optarg);
        else if (c == 'e')
            opt.seed = strtoull(optarg, NULL, 10);
        else if (c == 'm')
            opt.memory_mib = strtoull(optarg, NULL, 10);
        else if (c == 'p')
            prefix_rules_from = (uint32_t)strtoul(optarg, NULL, 0);
        else if (c == 'f')
            buckets_from = (uint32_t)strtoul(optarg, NULL, 0);
        else if (c == 'j')
            opt.json = true;
        else if (c == 'q')
            quick();
        else
            exit(2);
    }
    if (optind < argc || opt.rounds < 1 || opt.rounds > ROUNDS_MAX)
        fail("expected --rounds 1 to 101 and no arguments");
}

static void pin_to_last(void)
{
    cpu_set_t all, one;

    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
        }
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

int main(int argc, char **argv)
{
    options_read(argc, argv);
    pin_to_last();
    engines_init(argv[0], opt.memory_mib);
    for (unsigned i = 0; i < 4; i++)
        packets_init(&packets[i / 2][i % 2], i % 2 ? 6 : 4);
    if (opt.json)
        printf("{\"tsc_ghz\": %.3f, \"rounds\": %u, \"burst\": %u, \"seed\": %lu, \"rows\": [",
               (double)rte_get_tsc_hz() / 1e9, opt.rounds, BURST, opt.seed);
    for (unsigned i = 0; i < opt.n_sets; i++)
        set_measure(&opt.set[i]);
    if (opt.json)
        printf("\n]}\n");
    return 0;
}
