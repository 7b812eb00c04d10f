// SPDX-License-Identifier: BSD-3-Clause
// publish_bench.c - forwarding while the routes change
//
//     publish_bench [--prefixes FILE] [--rates 10000,100000] [--load 80] [--rounds N] [--window
//     300] [--quick] [--aside] [--json]
//
// kamueed's own forwarder thread on the last core, on four ports in memory
// (lib/port_memory.h), a full table, random addresses of its prefixes. A manager on
// core 0 changes the routes that are forwarded by: half of the changes give a
// prefix another next hop, the others withdraw one and announce it again. What is
// due is applied and committed every TICK_US, as rib_manager does with what
// a read of its socket brought.
//
// In each round, 0 changes a second and each rate take turns, twice: flooded
// (how much of the throughput is left?), and at a load of --load percent of what
// the flood reached, in queues as deep as a NIC's (is a packet lost?). A grace period is
// timed from the commit until what it unlinked may be used again.
//
// --window: milliseconds of each turn. Short ones and many rounds are for small differences on a
// machine whose speed drifts.
//
// --aside: each rate also changes an equal table that no packet is looked up in; a manager works as
// long without changing any; and one asks for as many grace periods and changes nothing: what of
// the cost is lines that move between the caches, what is there being another core at work, and
// what are the grace periods?
//
// Before each round nothing runs but a loop on each of the two cores that looks at the time: how
// long it was kept from its core, in all and by more than a millisecond at once, is what the
// machine takes from everybody, forwarder and manager too. A grace period ends when both have run:
// where more than a hundredth of the time lies in such gaps, p99 is over a millisecond whatever the
// program does.
#include <getopt.h>
#include <math.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "core/eal.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "forwarder/forwarder.h"
#include "lib/router_fib.h"
#include "lib/port_memory.h"
#include "lib/rss.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/plan.h"
#include "table/vr.h"

#define RATES_MAX 24u
#define ROUNDS_MAX 101u
#define POOL_SIZE 16383u
#define TICK_US 100
#define HOPS 64u
#define GAP_NS 20000
#define GAP_LONG_NS 1000000
#define GRACES_MAX (1u << 18) // timed in one window

enum load { FLOOD, PART, LOADS };
enum writer {
    CHANGES,
    ASIDE,
    SPINS,
    GRACES,
    WRITERS
}; // the forwarder's table; one like it; none, and computes for as long; none
static const char *const writer_name[WRITERS] = {"", "aside", "spins", "graces"};

struct window { // what was measured in one
    double mpps,
        cycles; // by the clock on the wall; TSC cycles of the forwarder's CPU time for each packet
    double changes_per_s;
    double us_p50, us_p99, us_max; // grace periods
    uint64_t offered, lost, dropped;
};

struct gaps { // of a loop that does nothing else, in percent of the time
    double kept;           // from its core for more than GAP_NS at once
    double kept_long;      // the part of that in gaps of more than a millisecond
};

struct probe { // one grace period that is being timed
    struct rcu_retired retired;
    uint64_t begun_ns;
};

static unsigned rate[RATES_MAX] = {0, 10000, 100000},
                n_rates = 3; // changes a second; the first is 0
static enum writer writer[RATES_MAX];
static unsigned rounds = 11, window_ms = 300, load_percent = 80;
static const char *prefixes;
static bool json, aside_too;
static struct gaps gaps[2][ROUNDS_MAX]; // the manager's core, the forwarder's
static struct window result[LOADS][RATES_MAX][ROUNDS_MAX];
static uint64_t grace_ns[GRACES_MAX];
static _Atomic unsigned n_graces;
static int port_id[SOURCE_PORTS];
static uint8_t (*lines[SOURCE_PORTS])[SOURCE_LINE];
static uint32_t n_lines[SOURCE_PORTS];
static struct rte_mempool *pool;
static const struct router_fib *router;
static struct fib *fib, *aside; // the one of the packets; one like it
static uint32_t hop[HOPS];
static struct plan plan;
static struct thread *forwarder;
static uint64_t unaccounted;

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "publish_bench: %s\n", what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// --- the manager ---

static void grace_over_now(struct rcu_retired *r)
{
    struct probe *p = (struct probe *)r;
    unsigned n = n_graces;

    if (n < GRACES_MAX)
        grace_ns[n] = now_ns() - p->begun_ns;
    n_graces = n + 1;
    free(p);
}

static void commit(struct fib *to) // NULL: a grace period alone
{
    struct probe *p = malloc(sizeof *p);

    check(p, "no memory");
    if (to)
        fib_commit(to);
    p->begun_ns = now_ns();
    rcu_retire(&p->retired, grace_over_now);
}

static bool is_default(const struct prefix *p)
{
    return p->len < 8;
}

// A change or two of a random prefix; how many. A prefix that is withdrawn is announced again at
// once, so that the table stays what it is; its packets have a shorter prefix to follow meanwhile.
static unsigned change(struct fib *to, unsigned left)
{
    uint64_t x = hash_mix64(bench_random());
    const struct poptrie_route *r = &router->routes->route[x % router->routes->n];
    struct prefix p = {.family = IP4, .len = r->len};
    unsigned n = 0;

    memcpy(p.b, r->key, 4);
    if (is_default(&p))
        return 0;
    if (left >= 2 && x >> 63) {
        check(!fib_del(to, &p), "the FIB lost a prefix");
        n++;
    }
    check(!fib_set(to, &p, hop[(x >> 40) % HOPS]), "the FIB refused a change");
    return n + 1;
}

#define CHANGE_NS 400u // a change on one of the machines of docs/measurements.md, about

// As long as `n` changes take, in registers alone.
static unsigned spin(unsigned n)
{
    for (uint64_t end = rte_rdtsc() + n * rte_get_tsc_hz() / 1000000 * CHANGE_NS / 1000;
         rte_rdtsc() < end;)
        rte_pause();
    return n;
}

// Until `end_ns`; how many changes.
static uint64_t change_routes(unsigned per_s, enum writer how, uint64_t begun_ns, uint64_t end_ns)
{
    struct fib *to = how == CHANGES ? fib : how == ASIDE ? aside : NULL;
    struct timespec tick = {.tv_nsec = TICK_US * 1000};
    uint64_t done = 0, now;

    for (; (now = now_ns()) < end_ns; clock_nanosleep(CLOCK_MONOTONIC, 0, &tick, NULL)) {
        uint64_t due = (now - begun_ns) * per_s / 1000000000u, before = done;
        // A manager that was held up catches up in batches of a millisecond, as after a burst on
        // its socket.
        due = RTE_MIN(due, done + per_s / 1000 + 2);
        while (done < due)
            done += to             ? change(to, (unsigned)(due - done))
                    : how == SPINS ? spin((unsigned)(due - done))
                                   : (unsigned)(due - done);
        if (done > before && how != SPINS)
            commit(to);
    }
    return done;
}

// --- the machine alone ---

static void gaps_watch(struct gaps *g)
{
    uint64_t begun = now_ns(), last = begun, now, kept = 0, kept_long = 0;

    for (; (now = now_ns()) - begun < window_ms * 1000000ull; last = now) {
        if (now - last > GAP_NS)
            kept += now - last;
        if (now - last > GAP_LONG_NS)
            kept_long += now - last;
    }
    *g = (struct gaps){(double)kept * 100 / (double)(now - begun),
                       (double)kept_long * 100 / (double)(now - begun)};
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
    check(!thread_start(&forwarder, ROLE_FORWARDER, THREAD_SLOT_FORWARDER, "forwarder",
                        forwarder_core(), forwarder_main, NULL),
          "no forwarder on the last core");
}

static uint64_t sent(void)
{
    uint64_t n = 0;

    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        n += __atomic_load_n(&sink[p][0].sent, __ATOMIC_RELAXED);
    return n;
}

static uint64_t lost(uint64_t *offered)
{
    uint64_t n = 0;

    *offered = 0;
    for (unsigned p = 0; p < SOURCE_PORTS; p++) {
        n += __atomic_load_n(&source[p][0].lost, __ATOMIC_RELAXED);
        *offered += __atomic_load_n(&source[p][0].offered, __ATOMIC_RELAXED);
    }
    return n;
}

static uint64_t dropped(void)
{
    uint64_t n = 0;

    for (unsigned r = 1; r < DROP_N; r++)
        n += counter_sum_drop((enum drop_reason)r);
    return n;
}

// Stops it when it has sent what it took: every packet is either sent or counted as dropped.
static void forwarder_stop(void)
{
    const struct counter_block *c = counter_of_slot(THREAD_SLOT_FORWARDER);

    __atomic_store_n(&forwarder_slot[0].stop, 1, __ATOMIC_RELEASE);
    thread_join(forwarder);
    unaccounted += c->rx - sent() - dropped();
    check(c->tx == sent(), "the forwarder's counters and the ports' differ");
}

// --- a window ---

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double grace_us(unsigned n, double share) // grace_ns is sorted
{
    return n ? (double)grace_ns[(unsigned)((n - 1) * share)] / 1e3 : NAN;
}

static void measure(struct window *w, unsigned per_s, enum writer how)
{
    uint64_t offered_before, offered_after;

    usleep(10000); // warm
    rcu_barrier();
    n_graces = 0;
    uint64_t lost_before = lost(&offered_before), dropped_before = dropped(), sent_before = sent();
    uint64_t cpu_ns = thread_cpu_time_ns(forwarder), begun = now_ns();
    uint64_t changes = change_routes(per_s, how, begun, begun + window_ms * 1000000ull);
    uint64_t ns = now_ns() - begun, n = sent() - sent_before;
    cpu_ns = thread_cpu_time_ns(forwarder) - cpu_ns;
    w->lost = lost(&offered_after) - lost_before;
    rcu_barrier(); // all grace periods are over and timed
    unsigned graces = RTE_MIN(n_graces, GRACES_MAX);
    qsort(grace_ns, graces, sizeof *grace_ns, by_value);
    w->mpps = (double)n * 1e3 / (double)ns;
    w->cycles = (double)cpu_ns / 1e9 * (double)rte_get_tsc_hz() / (double)RTE_MAX(n, 1u);
    w->changes_per_s = (double)changes * 1e9 / (double)ns;
    w->us_p50 = grace_us(graces, 0.5);
    w->us_p99 = grace_us(graces, 0.99);
    w->us_max = grace_us(graces, 1);
    w->offered = offered_after - offered_before;
    w->dropped = dropped() - dropped_before;
}

static double median_mpps(unsigned upto)
{
    uint64_t kpps[ROUNDS_MAX];

    for (unsigned r = 0; r <= upto; r++)
        kpps[r] = (uint64_t)(result[FLOOD][0][r].mpps * 1e3);
    qsort(kpps, upto + 1, sizeof *kpps, by_value);
    return (double)kpps[(upto + 1) / 2] / 1e3;
}

// Both cores at the same time.
static void gaps_measure(unsigned round)
{
    struct thread *there;

    check(!thread_start(&there, ROLE_FORWARDER, THREAD_SLOT_FORWARDER, "gaps", forwarder_core(),
                        gaps_watch_there, &gaps[1][round]),
          "no thread on the last core");
    gaps_watch(&gaps[0][round]);
    thread_join(there);
}

static void round_run(unsigned round)
{
    gaps_measure(round);
    for (unsigned load = 0; load < LOADS; load++) {
        forwarder_start(load == FLOOD ? 0 : median_mpps(round) * load_percent / 100);
        for (unsigned i = 0; i < n_rates; i++)
            measure(&result[load][(i + round) % n_rates][round], rate[(i + round) % n_rates],
                    writer[(i + round) % n_rates]);
        forwarder_stop();
    }
}

// --- before ---

static int copy_route(void *ctx, const struct prefix *p, uint32_t nexthop)
{
    return fib_set(ctx, p, nexthop);
}

static void aside_make(void)
{
    aside = fib_new(IP4, FIB_POPTRIE);
    check(aside && !fib_walk(fib, NULL, copy_route, aside), "no memory for a second table");
    fib_commit(aside);
    unsigned n = n_rates;
    for (unsigned i = 1; i < n; i++)
        for (enum writer how = ASIDE; how < WRITERS; how++) {
            check(n_rates < RATES_MAX, "too many --rates");
            rate[n_rates] = rate[i];
            writer[n_rates++] = how;
        }
}

static void router_make(void)
{
    struct traffic_of t = {.pattern = TRAFFIC_PREFIX, .rss = TRAFFIC_RSS_ALL, .bytes = 64};
    int slow_core = 0;

    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        check((port_id[p] = source_port_new(p, pool)) >= 0, "DPDK makes no net_ring port");
    router_prefixes(prefixes);
    check(!router_init(port_id), "no memory for the tables");
    router = router_fib_get("full", "poptrie");
    check(router, "no memory for the full table, or no IPv4 prefixes in the file");
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
        plan.rx[p] = (struct plan_rx){(uint16_t)port_id[p], 0};
    }
    plan.n_rx = SOURCE_PORTS;
    thread_set_slow_cores(&slow_core, 1);
    plan_idle_mode = IDLE_PERFORMANCE;
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
}

static void dpdk_start(void)
{
    char name[32], err[256];
    struct eal_config cfg = {.name = name, .memory_mib = 256};

    snprintf(name, sizeof name, "publish-bench-%d", getpid());
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    rcu_init();
    rcu_thread_register();
    rcu_offline();
    check(!eal_init(&cfg, err, sizeof err), err);
    pool =
        packet_pool_new("source", POOL_SIZE, 256, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, false);
    check(pool, "no memory for packets");
}

// --- after ---

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Of the field at `at` in what each round left in `of`, so many bytes apart.
static double of_rounds(const void *of, size_t bytes, size_t at, double share)
{
    double v[ROUNDS_MAX];

    for (unsigned r = 0; r < rounds; r++)
        memcpy(&v[r], (const char *)of + r * bytes + at, sizeof *v);
    qsort(v, rounds, sizeof *v, by_size);
    return v[(unsigned)((rounds - 1) * share + 0.5)];
}

static double median(const struct window *w, size_t field)
{
    return of_rounds(w, sizeof *w, field, 0.5);
}

static double gaps_quantile(const struct gaps *g, size_t field, double share)
{
    return of_rounds(g, sizeof *g, field, share);
}

static void report_text(void)
{
    printf("%-6s %-6s %9s %9s %8s %8s %8s %8s %8s %10s %8s\n", "load", "writer", "changes/s",
           "reached", "Mpps", "cycles", "p50 us", "p99 us", "max us", "lost", "dropped");
    for (unsigned l = 0; l < LOADS; l++)
        for (unsigned i = 0; i < n_rates; i++) {
            const struct window *w = result[l][i];
            uint64_t n_lost = 0, n_dropped = 0;
            double most = 0;
            for (unsigned r = 0; r < rounds; r++) {
                n_lost += w[r].lost;
                n_dropped += w[r].dropped;
                most = fmax(most, w[r].us_max);
            }
            char text[16];
            snprintf(text, sizeof text, "%u %%", load_percent);
            printf("%-6s %-6s %9u %9.0f %8.2f %8.1f %8.0f %8.0f %8.0f %10lu %8lu\n",
                   l ? text : "flood", writer_name[writer[i]], rate[i],
                   median(w, offsetof(struct window, changes_per_s)),
                   median(w, offsetof(struct window, mpps)),
                   median(w, offsetof(struct window, cycles)),
                   median(w, offsetof(struct window, us_p50)),
                   median(w, offsetof(struct window, us_p99)), most, n_lost, n_dropped);
        }
    for (unsigned c = 0; c < 2; c++)
        printf("a loop alone on the %s's core is off the core for %.1f %% of the time, median (p90 "
               "%.1f), for more than 1 ms at a time %.2f %% (%.2f)\n",
               c ? "forwarder" : "manager",
               gaps_quantile(gaps[c], offsetof(struct gaps, kept), 0.5),
               gaps_quantile(gaps[c], offsetof(struct gaps, kept), 0.9),
               gaps_quantile(gaps[c], offsetof(struct gaps, kept_long), 0.5),
               gaps_quantile(gaps[c], offsetof(struct gaps, kept_long), 0.9));
    printf("packets unaccounted for: %lu\n", unaccounted);
}

static void print_each(const char *name, const void *of, size_t bytes, size_t at)
{
    printf(", \"%s\": [", name);
    for (unsigned r = 0; r < rounds; r++) {
        double v;
        memcpy(&v, (const char *)of + r * bytes + at, sizeof v);
        isnan(v) ? printf("%snull", r ? ", " : "") : printf("%s%.3f", r ? ", " : "", v);
    }
    printf("]");
}

static void print_values(const char *name, const struct window *w, size_t field)
{
    print_each(name, w, sizeof *w, field);
}

static void print_counts(const char *name, const struct window *w, size_t field)
{
    printf(", \"%s\": [", name);
    for (unsigned r = 0; r < rounds; r++) {
        uint64_t v;
        memcpy(&v, (const char *)&w[r] + field, sizeof v);
        printf("%s%lu", r ? ", " : "", v);
    }
    printf("]");
}

static void report_json(void)
{
    printf("{\"routes\": %zu, \"load_percent\": %u, \"unaccounted\": %lu", router->routes->n,
           load_percent, unaccounted);
    for (unsigned c = 0; c < 2; c++) {
        print_each(c ? "kept_forwarder" : "kept_manager", gaps[c], sizeof *gaps[c],
                   offsetof(struct gaps, kept));
        print_each(c ? "kept_long_forwarder" : "kept_long_manager", gaps[c], sizeof *gaps[c],
                   offsetof(struct gaps, kept_long));
    }
    printf(", \"rows\": [");
    for (unsigned l = 0; l < LOADS; l++)
        for (unsigned i = 0; i < n_rates; i++) {
            const struct window *w = result[l][i];
            printf("%s\n  {\"load\": \"%s\", \"writer\": \"%s\", \"changes_per_s\": %u",
                   l + i ? "," : "", l ? "part" : "flood", writer_name[writer[i]], rate[i]);
            print_values("reached", w, offsetof(struct window, changes_per_s));
            print_values("mpps", w, offsetof(struct window, mpps));
            print_values("cycles", w, offsetof(struct window, cycles));
            print_values("grace_p50_us", w, offsetof(struct window, us_p50));
            print_values("grace_p99_us", w, offsetof(struct window, us_p99));
            print_values("grace_max_us", w, offsetof(struct window, us_max));
            print_counts("offered", w, offsetof(struct window, offered));
            print_counts("lost", w, offsetof(struct window, lost));
            print_counts("dropped", w, offsetof(struct window, dropped));
            printf("}");
        }
    printf("\n]}\n");
}

static void rates_read(char *text)
{
    n_rates = 1;
    for (char *at, *word = strtok_r(text, ",", &at); word; word = strtok_r(NULL, ",", &at)) {
        check(n_rates < RATES_MAX, "too many --rates");
        rate[n_rates++] = (unsigned)strtoul(word, NULL, 10);
    }
}

static void options_read(int argc, char **argv)
{
    static const struct option known[] = {
        {"prefixes", 1, NULL, 'p'}, {"rates", 1, NULL, 'c'},  {"load", 1, NULL, 'l'},
        {"rounds", 1, NULL, 'r'},   {"window", 1, NULL, 'w'}, {"quick", 0, NULL, 'q'},
        {"json", 0, NULL, 'j'},     {"aside", 0, NULL, 'a'},  {0}};

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'p')
            prefixes = optarg;
        else if (c == 'c')
            rates_read(optarg);
        else if (c == 'l')
            load_percent = (unsigned)atoi(optarg);
        else if (c == 'r')
            rounds = (unsigned)atoi(optarg);
        else if (c == 'w')
            window_ms = (unsigned)atoi(optarg);
        else if (c == 'q')
            rounds = 3, window_ms = 200;
        else if (c == 'j')
            json = true;
        else if (c == 'a')
            aside_too = true;
        else
            exit(2);
    }
    check(rounds >= 1 && rounds <= ROUNDS_MAX, "--rounds is 1 to 101");
    check(window_ms >= 10 && window_ms <= 10000, "--window is 10 to 10000 ms");
    check(load_percent >= 1 && load_percent <= 100, "--load is 1 to 100");
}

int main(int argc, char **argv)
{
    char why[200];

    options_read(argc, argv);
    log_set_level(LOG_LEVEL_WARNING);
    dpdk_start();
    router_make();
    if (aside_too)
        aside_make();
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    for (unsigned r = 0; r < rounds; r++)
        round_run(r);
    check(!fib_check(fib, why, sizeof why), why);
    json ? report_json() : report_text();
    return 0;
}
