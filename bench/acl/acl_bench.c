// SPDX-License-Identifier: BSD-3-Clause
// acl_bench.c - compares access lists and address sets with DPDK's rte_acl, in one process
//
//     acl_bench [--sets SHAPE:FAMILY:RULES[:PEER],...] [--traffic NAME,...] [--rounds 15]
//               [--seed 1] [--memory MIB] [--quick] [--json]
//
// SHAPE is one, acl, fw, ipc, blocklist or hosts (rules.c); FAMILY is 4 or 6; PEER is the number of
// rules for rte_acl if it cannot hold all (its own rules and packets, made the same way), 0 =
// rte_acl is left out. Traffic: traffic.c.
//
// All engines get the same packets. Rounds are interleaved; a ratio is the median of the rounds'
// own ratios. Times are of the thread itself. Before the measurements, the engines' answers are
// compared with each other, and some with a linear search of the rules. rte_acl's build may take
// --memory MiB of additional memory (4,096): a set that needs more is reported as refused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "acl/acl_bench.h"
#include "lib/report.h"

#define CHECKED (1u << 16)
#define SEARCHED 200000000u // comparisons with rules in the check by linear search
#define SETS_MAX 64u

struct wanted {
    enum shape shape;
    unsigned family;
    size_t n, peer_n;
};

static struct {
    struct wanted set[SETS_MAX];
    unsigned n_sets, rounds, packets, traffic, seed, memory_mib;
    double change_seconds;
    bool json;
} opt = {.rounds = 15, .packets = 1u << 18, .traffic = (1u << N_TRAFFIC) - 1, .seed = 1,
         .memory_mib = 4096, .change_seconds = 1};

#define QUICK_SETS                                                                                 \
    "one:4:1,acl:4:1000,acl:4:10000,acl:4:100000,acl:4:1000000:100000,blocklist:4:1000000:100000," \
    "blocklist:6:100000:10000"

static struct packets packets[2][2]; // of the set, of the peer; IPv4, IPv6
static struct rules rules, peer_rules;

// --- building ---

static void engine_build(struct engine *e, const struct rules *r)
{
    double start = bench_cpu_s();
    int rc = e->build(e, r);

    e->build_ms = (bench_cpu_s() - start) * 1e3;
    e->built = !rc;
    bench_check(!rc || e == peer, "one of our own engines refuses the rules");
    if (rc)
        fprintf(stderr, "acl_bench: rte_acl refuses %s, IPv%u, %zu rules: %s\n",
                shape_name[r->shape], r->family, r->n, e->note);
}

static void engine_drop(struct engine *e)
{
    e->free(e);
    e->built = false;
    e->bytes = e->writer_bytes = 0;
}

static bool same_rules(const struct rules *r, const struct wanted *w, size_t n)
{
    return r->shape == w->shape && r->family == w->family && r->n == n;
}

// If the peer's rules are the previous set's, they are not built again.
static void peer_prepare(const struct wanted *w)
{
    if (peer->built && same_rules(&peer_rules, w, w->peer_n))
        return;
    engine_drop(peer);
    rules_free(&peer_rules);
    peer->note[0] = '\0';
    if (!w->peer_n)
        return;
    rules_make(&peer_rules, w->shape, w->family, w->peer_n, opt.seed);
    engine_build(peer, &peer_rules);
}

static void all_prepare(const struct wanted *w)
{
    rules_free(&rules);
    rules_make(&rules, w->shape, w->family, w->n, opt.seed);
    for (unsigned e = 0; e < ENGINE_PEER; e++) {
        engine_drop(&engines[e]);
        if (engines[e].wanted(&rules))
            engine_build(&engines[e], &rules);
    }
    peer_prepare(w);
}

// --- checking ---

static void answers_compare(const struct wanted *w, const struct packets *p)
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
                bench_check(engines[e].answer(&engines[e], i) ==
                                (e == ENGINE_SET ? want[i] != 0 : want[i]),
                            "%s, IPv%u, %zu rules, packet %u: %s says %u, list says %u",
                            shape_name[w->shape], w->family, w->n, from + i, engines[e].name,
                            engines[e].answer(&engines[e], i), want[i]);
        }
        for (unsigned i = 0; i < BURST && searched < SEARCHED / N_TRAFFIC;
             i += 8, searched += rules.n)
            bench_check(rules_search(&rules, packet_key(p, from + i)) == want[i],
                        "the list's answer is not the first rule that matches");
    }
}

// --- measuring ---

// Plays n packets from `from` on; a shorter trace starts over.
static void packets_play(const struct engine *e, const struct packets *p, uint32_t from, uint32_t n)
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
    packets_play(e, p, from % p->n,
         opt.packets / 2); // reloads caches after the other engines
    double start = bench_cpu_s();
    packets_play(e, p, (from + opt.packets / 2) % p->n, opt.packets);
    return (bench_cpu_s() - start) * (double)rte_get_tsc_hz() / opt.packets;
}

static void traffic_measure(struct packets *p, struct packets *peer_p, enum pattern_of t)
{
    engine_cache_fresh();
    for (unsigned e = 0; e < N_ENGINES; e++)
        if (engines[e].built)
            packets_play(&engines[e], e == ENGINE_PEER ? peer_p : p, 0,
                 e == ENGINE_CACHE ? PACKETS : opt.packets / 2);
    for (unsigned r = 0; r < opt.rounds; r++)
        for (unsigned e = 0; e < N_ENGINES; e++)
            if (engines[e].built)
                engines[e].cycles[t][r] =
                    cycles_of(&engines[e], e == ENGINE_PEER ? peer_p : p, r * opt.packets);
}

// --- telling ---

// Minimum, median and maximum, in that order.
static const double share_of[3] = {0, 0.5, 1};

static void changes_report(const struct engine *e, const struct changes *c)
{
    report_number("bytes", 0, (double)e->bytes);
    report_number("writer_bytes", 0, (double)e->writer_bytes);
    report_number("build_ms", 1, e->build_ms);
    report_number("updates_per_s", 0, c->single_per_s);
    report_number("updates_batched_per_s", 0, c->batched_per_s);
}

static void row_begin(const struct wanted *w, const struct engine *e, const char *traffic)
{
    report_open(NULL, '{');
    report_text("set", "%s", shape_name[w->shape]);
    report_number("family", 0, w->family);
    report_number("rules", 0, (double)(e == peer ? w->peer_n : w->n));
    if (traffic)
        report_text("traffic", "%s", traffic);
    else
        report_null("traffic");
    report_text("engine", "%s", e->name);
}

static void ratio_report(const struct wanted *w, const struct engine *e, enum pattern_of t)
{
    static const char *const key[3] = {"ratio_min", "ratio", "ratio_max"};
    double ratio[ROUNDS_MAX];

    if (!peer->built) {
        report_null("ratio");
        return;
    }
    for (unsigned i = 0; i < opt.rounds; i++)
        ratio[i] = peer->cycles[t][i] / e->cycles[t][i];
    for (unsigned k = 0; k < 3; k++)
        report_number(key[k], 3, stat_quantile(ratio, opt.rounds, share_of[k]));
    report_number("ratio_rules", 0, (double)w->peer_n);
}

static void engine_report(const struct wanted *w, const struct engine *e, enum pattern_of t,
                          const struct changes *changed)
{
    static const char *const key[3] = {"mlps_max", "mlps", "mlps_min"};

    row_begin(w, e, traffic_name[t]);
    report_text("kernel", "%s", e->kernel);
    for (unsigned k = 0; k < 3; k++)
        report_number(key[k], 3, (double)rte_get_tsc_hz() / 1e6 /
                                     stat_quantile(e->cycles[t], opt.rounds, share_of[k]));
    report_number("cycles", 2, stat_median(e->cycles[t], opt.rounds));
    ratio_report(w, e, t);
    changes_report(e, changed);
    report_close();
}

static void refused_report(const struct wanted *w)
{
    row_begin(w, peer, NULL);
    report_text("refused", "%s", peer->note);
    report_number("build_ms", 1, peer->build_ms);
    report_close();
}

static void rows_report(const struct wanted *w, enum pattern_of t, const struct changes *changed)
{
    const struct engine *changes = &engines[w->shape == SHAPE_BLOCKLIST ? ENGINE_SET : ENGINE_LIST];

    for (const struct engine *e = engines; e < engines + N_ENGINES; e++)
        if (e->built)
            engine_report(w, e, t, e == changes ? changed : &(struct changes){0});
}

static void set_measure(const struct wanted *w)
{
    struct packets *p = &packets[0][w->family == 6], *own = &packets[1][w->family == 6];
    struct changes changed = {0};

    all_prepare(w);
    if (!peer->built && w->peer_n)
        refused_report(w);
    engine_cache_fresh();
    for (unsigned t = 0; t < N_TRAFFIC; t++) {
        if (!(opt.traffic >> t & 1))
            continue;
        packets_make(p, &rules, t);
        if (peer->built && w->peer_n != w->n)
            packets_make(own, &peer_rules, t);
        answers_compare(w, p);
        struct packets *peers = w->peer_n == w->n ? p : own;
        if (peer->built)
            peer_choose(peers);
        traffic_measure(p, peers, t);
    }
    changes_measure(&changed, &rules, p, opt.change_seconds);
    for (unsigned t = 0; t < N_TRAFFIC; t++)
        if (opt.traffic >> t & 1)
            rows_report(w, t, &changed);
}

// --- options ---

static unsigned index_of(const char *name, const char *const *names, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(name, names[i]))
            return i;
    bench_fail("unknown name '%s'", name);
}

static void sets_parse(const char *list)
{
    char copy[2048], *save, shape[16];

    snprintf(copy, sizeof copy, "%s", list);
    opt.n_sets = 0;
    for (char *s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
        struct wanted *w = &opt.set[opt.n_sets++];
        int n = sscanf(s, "%15[a-z]:%u:%zu:%zu", shape, &w->family, &w->n, &w->peer_n);
        bench_check(n >= 3 && (w->family == 4 || w->family == 6) && w->n && opt.n_sets < SETS_MAX,
                    "--sets: expected SHAPE:FAMILY:RULES[:PEER],...");
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

static void quick_set(const char *unused)
{
    sets_parse(QUICK_SETS);
    opt.rounds = 5;
    opt.packets = 1u << 17;
    opt.change_seconds = 0.25;
}

static const struct bench_option options[] = {
    OPTION_CALL("sets", sets_parse), OPTION_CALL("traffic", traffic_parse),
    OPTION_NUMBER("rounds", &opt.rounds, 1, ROUNDS_MAX), OPTION_NUMBER("seed", &opt.seed, 0, 0),
    OPTION_NUMBER("memory", &opt.memory_mib, 0, 0), OPTION_DO("quick", quick_set),
    OPTION_FLAG("json", &opt.json), {0}};

int main(int argc, char **argv)
{
    sets_parse(QUICK_SETS);
    bench_options(argc, argv, options, NULL);
    bench_pin(0);
    engines_init(opt.memory_mib);
    for (unsigned i = 0; i < 4; i++)
        packets_init(&packets[i / 2][i % 2], i % 2 ? 6 : 4);
    report_begin(opt.json);
    report_number("tsc_ghz", 3, (double)rte_get_tsc_hz() / 1e9);
    report_number("rounds", 0, opt.rounds);
    report_number("burst", 0, BURST);
    report_number("seed", 0, opt.seed);
    report_open("rows", '[');
    for (unsigned i = 0; i < opt.n_sets; i++)
        set_measure(&opt.set[i]);
    report_close();
    report_end();
    return 0;
}
