// SPDX-License-Identifier: BSD-3-Clause
// publish_bench.c - measures forwarding while routes change
//
//     publish_bench [--prefixes FILE] [--rates 10000,100000] [--load 80] [--rounds N]
//                   [--window 300] [--quick] [--json]
//
// kamueed's own forwarder thread on the last core, with four ports in memory (lib/port_memory.h), a
// full table, and random addresses of its prefixes. A manager on core 0 changes the routes in use:
// half of the changes replace a prefix's next hop, the others withdraw a prefix and announce it
// again. Changes that are due are applied and committed every TICK_US, as rib_manager does with one
// read of its socket.
//
// In each round, 0 changes per second and each rate take turns, twice: flooded (how much throughput
// is left?), and with a load of --load percent of the flooded throughput, in queues as deep as a
// NIC's (is a packet lost?). A grace period is measured from the commit until unlinked memory may
// be reused.
//
// --window: milliseconds per turn. Short windows and many rounds show small differences on a
// machine whose speed drifts.
//
// Before each round, only a loop that reads the clock runs on each of the two cores: the time that
// it was preempted, in total and for more than a millisecond at once, is the machine's disturbance
// of all programs, including forwarder and manager. A grace period ends after both have run: if
// more than a hundredth of the time is in such gaps, p99 is over a millisecond for any program.
#include <math.h>
#include <rte_cycles.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "forwarder/forwarder.h"
#include "lib/eal.h"
#include "lib/port_memory.h"
#include "lib/report.h"
#include "lib/router_fib.h"
#include "lib/rss.h"
#include "lib/stat.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/plan.h"
#include "table/vr.h"

#define RATES_MAX 24u
#define POOL_SIZE 16383u
#define TICK_US 100
#define HOPS 64u
#define GAP_NS 20000
#define GAP_LONG_NS 1000000
#define GRACES_MAX (1u << 18) // measured in one window

enum load { FLOOD, PART, LOADS };

// Measurements in the windows of a load and rate, one per round.
enum value {
    REACHED, // changes/s
    MPPS,    // by wall time
    CYCLES,  // TSC cycles of the forwarder's CPU time per packet
    GRACE_P50,
    GRACE_P99,
    GRACE_MAX, // us
    OFFERED,
    LOST,
    DROPPED,
    VALUES
};
static const struct {
    const char *key;
    unsigned decimals;
} value_form[VALUES] = {{"reached", 3},      {"mpps", 3},         {"cycles", 3},
                        {"grace_p50_us", 3}, {"grace_p99_us", 3}, {"grace_max_us", 3},
                        {"offered", 0},      {"lost", 0},         {"dropped", 0}};
typedef double rounds_t[ROUNDS_MAX];

// Of a loop that only reads the clock, in percent of the time.
enum gap {
    KEPT,      // preempted for more than GAP_NS at once
    KEPT_LONG, // part of it in gaps of more than a millisecond
    GAPS
};
static const char *const core_name[2] = {"manager", "forwarder"};
static const char *const gap_name[GAPS] = {"kept", "kept_long"};

struct probe { // a grace period being measured
    struct rcu_retired retired;
    uint64_t begun_ns;
};

static unsigned rate[RATES_MAX] = {0, 10000, 100000}; // changes per second; the first is 0
static unsigned n_rates = 3;
static unsigned rounds = 11, window_ms = 300, load_percent = 80;
static const char *prefixes;
static bool json;
static rounds_t gaps[2][GAPS]; // the manager's core, the forwarder's
static rounds_t result[LOADS][RATES_MAX][VALUES];
static double grace_us[GRACES_MAX];
static _Atomic unsigned n_graces;
static uint16_t port_id[SOURCE_PORTS];
static uint8_t (*lines[SOURCE_PORTS])[SOURCE_LINE];
static uint32_t n_lines[SOURCE_PORTS];
static struct rte_mempool *pool;
static const struct router_fib *router;
static struct fib *fib;
static uint32_t hop[HOPS];
static struct plan plan;
static struct thread *forwarder;
static uint64_t unaccounted;

// --- the manager ---

static void grace_over_now(struct rcu_retired *r)
{
    struct probe *p = (struct probe *)r;
    unsigned n = n_graces;

    if (n < GRACES_MAX)
        grace_us[n] = (double)(clock_now_ns() - p->begun_ns) / 1e3;
    n_graces = n + 1;
    free(p);
}

static void changes_commit(void)
{
    struct probe *p = malloc(sizeof *p);

    bench_check(p, "no memory");
    fib_commit(fib);
    p->begun_ns = clock_now_ns();
    rcu_retire(&p->retired, grace_over_now);
}

static bool is_default(const struct prefix *p)
{
    return p->len < 8;
}

// Makes one or two changes of a random prefix; returns their number. A withdrawn prefix is
// announced again at once, so that the table stays the same; meanwhile its packets use a shorter
// prefix.
static unsigned route_change(unsigned left)
{
    uint64_t x = hash_mix64(bench_random());
    const struct poptrie_route *r = &router->routes->route[x % router->routes->n];
    struct prefix p = {.family = IP4, .len = r->len};
    unsigned n = 0;

    memcpy(p.b, r->key, 4);
    if (is_default(&p))
        return 0;
    if (left >= 2 && x >> 63) {
        bench_check(!fib_del(fib, &p), "the FIB lost a prefix");
        n++;
    }
    bench_check(!fib_set(fib, &p, hop[(x >> 40) % HOPS]), "the FIB refused a change");
    return n + 1;
}

// Changes routes until `end_ns`; returns the number of changes.
static uint64_t change_routes(unsigned per_s, uint64_t begun_ns, uint64_t end_ns)
{
    struct timespec tick = {.tv_nsec = TICK_US * 1000};
    uint64_t done = 0, now;

    for (; (now = clock_now_ns()) < end_ns; clock_nanosleep(CLOCK_MONOTONIC, 0, &tick, NULL)) {
        uint64_t due = (now - begun_ns) * per_s / 1000000000u, before = done;
        // After a preemption the manager catches up in batches of a millisecond, as after a burst
        // on its socket.
        due = RTE_MIN(due, done + per_s / 1000 + 2);
        while (done < due)
            done += route_change((unsigned)(due - done));
        if (done > before)
            changes_commit();
    }
    return done;
}

// --- the machine alone ---

static void gaps_watch(double percent[GAPS])
{
    uint64_t begun = clock_now_ns(), last = begun, now, kept[GAPS] = {0};

    for (; (now = clock_now_ns()) - begun < window_ms * 1000000ull; last = now) {
        kept[KEPT] += now - last > GAP_NS ? now - last : 0;
        kept[KEPT_LONG] += now - last > GAP_LONG_NS ? now - last : 0;
    }
    for (unsigned k = 0; k < GAPS; k++)
        percent[k] = (double)kept[k] * 100 / (double)(now - begun);
}

static void gaps_watch_there(void *arg)
{
    gaps_watch(arg);
}

// --- the forwarder ---

static int forwarder_core(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) > 1 ? (int)sysconf(_SC_NPROCESSORS_ONLN) - 1 : 0;
}

static void forwarder_start(double mpps)
{
    for (unsigned p = 0; p < SOURCE_PORTS; p++) {
        struct source *s = &source[p][0];
        s->line = (const uint8_t(*)[SOURCE_LINE])lines[p];
        s->n_lines = n_lines[p];
        s->pool = pool;
        s->burst = 64;
        s->bytes = 60;
        source_start(s, mpps / SOURCE_PORTS);
    }
    forwarder_slot[0].stop = 0;
    rcu_publish(&forwarder_slot[0].plan, &plan);
    bench_check(!thread_start(&forwarder, ROLE_FORWARDER, THREAD_SLOT_FORWARDER, "forwarder",
                        forwarder_core(), forwarder_main, NULL),
          "no forwarder on the last core");
}

static uint64_t packets_sent(void)
{
    uint64_t n = 0;

    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        n += __atomic_load_n(&sink[p][0].sent, __ATOMIC_RELAXED);
    return n;
}

static uint64_t packets_lost(uint64_t *offered)
{
    uint64_t n = 0;

    *offered = 0;
    for (unsigned p = 0; p < SOURCE_PORTS; p++) {
        n += __atomic_load_n(&source[p][0].lost, __ATOMIC_RELAXED);
        *offered += __atomic_load_n(&source[p][0].offered, __ATOMIC_RELAXED);
    }
    return n;
}

static uint64_t packets_dropped(void)
{
    uint64_t n = 0;

    for (unsigned r = 1; r < DROP_N; r++)
        n += counter_sum_drop((enum drop_reason)r);
    return n;
}

// Stops it when it has sent all its packets: each is either sent or counted as dropped.
static void forwarder_stop(void)
{
    const struct counter_block *c = counter_of_slot(THREAD_SLOT_FORWARDER);

    __atomic_store_n(&forwarder_slot[0].stop, 1, __ATOMIC_RELEASE);
    thread_join(forwarder);
    unaccounted += c->rx - packets_sent() - packets_dropped();
    bench_check(c->tx == packets_sent(), "the forwarder's counters and the ports' differ");
}

// --- a window ---

static void window_measure(rounds_t *to, unsigned round, unsigned per_s)
{
    uint64_t offered_before, offered_after;

    usleep(10000); // warm up
    rcu_barrier();
    n_graces = 0;
    uint64_t lost_before = packets_lost(&offered_before), dropped_before = packets_dropped(),
             sent_before = packets_sent();
    uint64_t cpu_ns = thread_cpu_time_ns(forwarder), begun = clock_now_ns();
    uint64_t changes = change_routes(per_s, begun, begun + window_ms * 1000000ull);
    uint64_t ns = clock_now_ns() - begun, n = packets_sent() - sent_before;
    cpu_ns = thread_cpu_time_ns(forwarder) - cpu_ns;
    uint64_t lost_now = packets_lost(&offered_after) - lost_before;
    rcu_barrier(); // all grace periods have ended and were measured
    unsigned graces = RTE_MIN(n_graces, GRACES_MAX);
    const double found[VALUES] = {
        [REACHED] = (double)changes * 1e9 / (double)ns,
        [MPPS] = (double)n * 1e3 / (double)ns,
        [CYCLES] = (double)cpu_ns / 1e9 * (double)rte_get_tsc_hz() / (double)RTE_MAX(n, 1u),
        [GRACE_P50] = stat_median(grace_us, graces),
        [GRACE_P99] = stat_quantile(grace_us, graces, 0.99),
        [GRACE_MAX] = stat_quantile(grace_us, graces, 1),
        [OFFERED] = (double)(offered_after - offered_before),
        [LOST] = (double)lost_now,
        [DROPPED] = (double)(packets_dropped() - dropped_before)};
    for (unsigned v = 0; v < VALUES; v++)
        to[v][round] = found[v];
}

// Both cores at the same time.
static void gaps_measure(unsigned round)
{
    struct thread *there;
    double percent[2][GAPS];

    bench_check(!thread_start(&there, ROLE_FORWARDER, THREAD_SLOT_FORWARDER, "gaps",
                              forwarder_core(), gaps_watch_there, percent[1]),
                "no thread on the last core");
    gaps_watch(percent[0]);
    thread_join(there);
    for (unsigned c = 0; c < 2; c++)
        for (unsigned k = 0; k < GAPS; k++)
            gaps[c][k][round] = percent[c][k];
}

static void round_run(unsigned round)
{
    gaps_measure(round);
    for (unsigned load = 0; load < LOADS; load++) {
        double all = stat_median(result[FLOOD][0][MPPS], round + 1);
        forwarder_start(load == FLOOD ? 0 : all * load_percent / 100);
        for (unsigned k = 0; k < n_rates; k++) {
            unsigned i = (k + round) % n_rates;
            window_measure(result[load][i], round, rate[i]);
        }
        forwarder_stop();
    }
}

// --- before ---

static void router_make(void)
{
    struct traffic_of t = {.pattern = TRAFFIC_PREFIX, .rss = TRAFFIC_RSS_ALL, .bytes = 64};
    int slow_core = 0;

    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        port_id[p] = source_port_new(p, pool);
    router_prefixes(prefixes);
    router_init(port_id);
    router = router_fib_get("full", "poptrie");
    bench_check(router, "no memory for the full table, or no IPv4 prefixes in the file");
    router_use(router);
    fib = vr_get(router->vr)->fib4;
    for (unsigned k = 0; k < HOPS; k++) {
        struct prefix p = {.family = IP4, .len = router->routes->route[k].len};
        memcpy(p.b, router->routes->route[k].key, 4);
        hop[k] = fib_get(fib, &p);
    }
    for (unsigned p = 0; p < SOURCE_PORTS; p++) {
        uint32_t first;
        lines[p] = memory_huge((size_t)TRAFFIC_LINES * SOURCE_LINE);
        traffic_lines(&t, router->routes, p, 1, lines[p], &first, &n_lines[p]);
        plan.rx[p] = (struct plan_rx){port_id[p], 0};
    }
    plan.n_rx = SOURCE_PORTS;
    thread_set_slow_cores(&slow_core, 1);
    plan_idle_mode = IDLE_PERFORMANCE;
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
}

static void dpdk_start(void)
{
    bench_eal_router(256, false, NULL);
    rcu_offline();
    pool =
        packet_pool_new("source", POOL_SIZE, 256, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, false);
    bench_check(pool, "no memory for packets");
}

// --- after ---

static void result_report(void)
{
    char key[32];

    report_begin(json);
    report_number("routes", 0, (double)router->routes->n);
    report_number("load_percent", 0, load_percent);
    report_number("unaccounted", 0, (double)unaccounted);
    for (unsigned i = 0; i < 2 * GAPS; i++) {
        snprintf(key, sizeof key, "%s_%s", gap_name[i % GAPS], core_name[i / GAPS]);
        report_series(key, 3, gaps[i / GAPS][i % GAPS], rounds);
    }
    report_open("rows", '[');
    for (unsigned i = 0; i < LOADS * n_rates; i++) {
        unsigned load = i / n_rates, at = i % n_rates;
        report_open(NULL, '{');
        report_text("load", "%s", load == FLOOD ? "flood" : "part");
        report_number("changes_per_s", 0, rate[at]);
        for (unsigned v = 0; v < VALUES; v++)
            report_series(value_form[v].key, value_form[v].decimals, result[load][at][v], rounds);
        report_close();
    }
    report_close();
    report_end();
}

static void rates_read(const char *text)
{
    char copy[256], *at;

    snprintf(copy, sizeof copy, "%s", text);
    n_rates = 1;
    for (char *word = strtok_r(copy, ",", &at); word; word = strtok_r(NULL, ",", &at)) {
        bench_check(n_rates < RATES_MAX, "too many --rates");
        rate[n_rates++] = (unsigned)strtoul(word, NULL, 10);
    }
}

static void quick_set(const char *unused)
{
    rounds = 3;
    window_ms = 200;
}

static const struct bench_option options[] = {
    OPTION_TEXT("prefixes", &prefixes), OPTION_CALL("rates", rates_read),
    OPTION_NUMBER("load", &load_percent, 1, 100), OPTION_NUMBER("rounds", &rounds, 1, ROUNDS_MAX),
    OPTION_NUMBER("window", &window_ms, 10, 10000), OPTION_DO("quick", quick_set),
    OPTION_FLAG("json", &json), {0}};

int main(int argc, char **argv)
{
    char why[200];

    bench_options(argc, argv, options, NULL);
    dpdk_start();
    router_make();
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    for (unsigned r = 0; r < rounds; r++)
        round_run(r);
    bench_check(!fib_check(fib, why, sizeof why), "%s", why);
    result_report();
    return 0;
}
