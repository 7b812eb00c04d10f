// SPDX-License-Identifier: BSD-3-Clause
// publisher_bench.c - measures the cost of each way of publishing for readers, and its duration
//
//     publisher_bench [--prefixes FILE] [--readers N] [--rounds N] [--only NAME] [--quick] [--json]
//
// Figure 8 of the Kamuee Zero paper, without NICs. A reader does a forwarder's work on packets in
// memory: it copies the headers of 64 packets into buffers like a NIC, looks them up in a full
// table (src/data/poptrie), and writes new Ethernet headers, TTL and checksum. Readers are pinned,
// one per core, the writer's core last. The protected section is the lookup of one packet, as in
// the paper, or of a burst, as in kamueed.
//
// Each trial measures the readers alone, then again while the writer publishes and measures each
// publication under that load. Publishers, sections and numbers of readers take turns in each
// round. Per packet: wall time over all readers (Mpps: waiting for locks counts) and CPU time (ns).
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/frame.h"
#include "lib/report.h"
#include "lib/stat.h"
#include "lib/table.h"
#include "publish/publisher.h"

#define BURST 64u
#define LINES (1u << 18) // packets: 16 MiB of headers
#define NEXT_HOPS 64u
#define PUBLISH_EVERY_US 200
#define PUBLICATIONS_MAX (1u << 20)
#define SECTIONS 2u

struct version { // the published version
    const struct poptrie *trie;
} __attribute__((aligned(64)));

struct reader {
    pthread_t id;
    unsigned index;
    const struct way *way;
    unsigned section;
    _Atomic uint64_t packets;
} __attribute__((aligned(128)));

struct way {
    const struct publisher *publisher;
    void (*read)(struct reader *r); // loop for this publisher and each section
    void (*publish)(void **root, void *next, unsigned n_readers);
};

struct trial {
    double mpps[ROUNDS_MAX], ns[ROUNDS_MAX], published_mpps[ROUNDS_MAX];
    double *us; // per publication, all rounds
    unsigned n_us;
};

static const char *const section_name[SECTIONS] = {"packet", "burst"};
static uint8_t (*line)[FRAME_LINE];
static uint8_t ether[NEXT_HOPS + 1][16];
static void *root;
static struct version version[2];
static struct reader reader[READERS_MAX];
static _Atomic bool stop;
static _Atomic unsigned n_ready;
static unsigned readers_max, rounds = 11, window_ms = 40;
static const char *prefixes, *only;
static bool json;

// --- the reader ---

static void headers_receive(uint8_t (*buffer)[FRAME_LINE], unsigned at)
{
    for (unsigned i = 0; i < BURST; i++) {
        memcpy(buffer[i], line[at + i], FRAME_LINE);
        __builtin_prefetch(line[(at + i + 2 * BURST) % LINES]);
    }
}

static void header_rewrite(uint8_t *p, uint32_t next_hop)
{
    uint16_t sum;

    memcpy(p, ether[next_hop], 12);
    memcpy(&sum, p + 24, 2);
    // RFC 1624: the TTL is the first byte of its word, and one lower.
    sum = (uint16_t)(sum + 1 + (sum >= 0xfffe));
    p[22]--;
    memcpy(p + 24, &sum, 2);
}

INLINE void look_up(struct publisher p, bool each, unsigned index, const uint32_t *dst,
                    uint32_t *next_hop)
{
    for (unsigned i = 0; i < BURST; i += each ? 1 : BURST) {
        p.read_lock(index);
        const struct version *v = __atomic_load_n(&root, __ATOMIC_CONSUME);
        if (each)
            next_hop[i] = poptrie_find4(v->trie, dst[i]);
        else
            poptrie_find4_bulk(v->trie, dst, next_hop, BURST);
        p.read_unlock(index);
    }
}

INLINE void read_with(struct publisher p, bool each, struct reader *r)
{
    uint8_t buffer[BURST][FRAME_LINE] __attribute__((aligned(64)));
    uint32_t dst[BURST], next_hop[BURST];
    uint64_t packets = 0;

    p.begin(r->index);
    n_ready++;
    for (unsigned at = r->index * (LINES / READERS_MAX);
         !atomic_load_explicit(&stop, memory_order_relaxed); at = (at + BURST) % LINES) {
        headers_receive(buffer, at);
        for (unsigned i = 0; i < BURST; i++)
            memcpy(&dst[i], buffer[i] + 30, 4);
        look_up(p, each, r->index, dst, next_hop);
        for (unsigned i = 0; i < BURST; i++)
            header_rewrite(buffer[i], next_hop[i]);
        __asm__ volatile("" ::"r"(buffer) : "memory"); // sent
        atomic_store_explicit(&r->packets, packets += BURST, memory_order_relaxed);
        p.quiescent();
    }
    p.end(r->index);
}

#define READER(p)                                                                                  \
    static void read_##p(struct reader *r)                                                         \
    {                                                                                              \
        r->section ? read_with(publisher_##p, false, r) : read_with(publisher_##p, true, r);       \
    }                                                                                              \
    static void publish_##p(void **at, void *next, unsigned n)                                     \
    {                                                                                              \
        publisher_##p.publish(at, next, n);                                                        \
    }
READER(none)
PUBLISHERS(READER)

#define WAY(p) {&publisher_##p, read_##p, publish_##p},
static const struct way ways[] = {WAY(none) PUBLISHERS(WAY)};
#define N_WAYS (sizeof ways / sizeof *ways)
static struct trial (*trials)[N_WAYS][SECTIONS]; // [readers - 1]

// --- a trial ---

static void *reader_main(void *arg)
{
    struct reader *r = arg;

    bench_pin(1 + r->index);
    r->way->read(r);
    return NULL;
}

static void readers_start(const struct way *w, unsigned section, unsigned n)
{
    stop = false;
    n_ready = 0;
    for (unsigned i = 0; i < n; i++) {
        reader[i] = (struct reader){.index = i, .way = w, .section = section};
        bench_check(!pthread_create(&reader[i].id, NULL, reader_main, &reader[i]),
                    "no thread for reader %u", i);
    }
    while (n_ready < n)
        usleep(100);
}

static void readers_stop(unsigned n)
{
    stop = true;
    for (unsigned i = 0; i < n; i++)
        pthread_join(reader[i].id, NULL);
}

struct reading {
    uint64_t packets, cpu_ns, ns;
};

static struct reading readers_read(unsigned n)
{
    struct reading r = {.ns = clock_now_ns()};

    for (unsigned i = 0; i < n; i++) {
        struct timespec used;
        clockid_t clock;
        pthread_getcpuclockid(reader[i].id, &clock);
        clock_gettime(clock, &used);
        r.cpu_ns += (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
        r.packets += reader[i].packets;
    }
    return r;
}

static double mpps_between(const struct reading *a, const struct reading *b)
{
    return (double)(b->packets - a->packets) * 1e3 / (double)(b->ns - a->ns);
}

static void publish_for(const struct way *w, unsigned n, struct trial *t)
{
    uint64_t end = clock_now_ns() + window_ms * 1000000ull;
    struct timespec pause = {.tv_nsec = PUBLISH_EVERY_US * 1000};

    for (unsigned i = 1; clock_now_ns() < end; i++) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        uint64_t begun = clock_now_ns();
        w->publish(&root, &version[i % 2], n);
        if (t->n_us < PUBLICATIONS_MAX)
            t->us[t->n_us++] = (double)(clock_now_ns() - begun) / 1e3;
    }
}

static void measure(const struct way *w, unsigned section, unsigned n, unsigned round)
{
    struct trial *t = &trials[n - 1][w - ways][section];

    readers_start(w, section, n);
    usleep(2000); // warm up
    struct reading a = readers_read(n);
    usleep(window_ms * 1000);
    struct reading b = readers_read(n);
    publish_for(w, n, t);
    struct reading c = readers_read(n);
    readers_stop(n);
    t->mpps[round] = mpps_between(&a, &b);
    t->published_mpps[round] = mpps_between(&b, &c);
    t->ns[round] = (double)(b.cpu_ns - a.cpu_ns) / (double)(b.packets - a.packets);
}

// --- before and after ---

static void packets_make(void)
{
    static const uint8_t src[4] = {192, 0, 2, 1};
    struct table t = {0};
    struct traffic a = traffic_new();
    struct poptrie *trie = poptrie_new(&(struct poptrie_config){.key_bits = 32});

    bench_check(!table_make(&t, "full", 4, prefixes), "no IPv4 routes in %s", prefixes);
    table_next_hops(&t, NEXT_HOPS);
    bench_check(trie && !poptrie_load(trie, t.route, t.n), "no memory for %zu routes", t.n);
    traffic_make(&t, PREFIX, &a);
    line = memory_huge((size_t)LINES * FRAME_LINE);
    for (unsigned i = 0; i < LINES; i++) {
        memcpy(frame_ether(line[i]), (uint8_t[2]){8, 0}, 2);
        frame_ip4(line[i] + 14, 42, src, &a.net[i]);
    }
    for (unsigned i = 0; i <= NEXT_HOPS; i++)
        memcpy(ether[i], (uint8_t[12]){2, 0, 0, 2, 0, (uint8_t)i, 2, 0, 0, 1, 0, (uint8_t)(i % 4)},
               12);
    version[0].trie = version[1].trie = trie;
    root = &version[0];
}

static void trials_make(void)
{
    trials = calloc(readers_max, sizeof *trials);
    for (unsigned n = 0; trials && n < readers_max; n++)
        for (unsigned w = 0; w < N_WAYS; w++)
            for (unsigned s = 0; s < SECTIONS; s++) // pages are allocated when touched
                trials[n][w][s].us = memory_huge(PUBLICATIONS_MAX * sizeof(double));
}

static void report(const struct way *w, unsigned section, unsigned n, unsigned unused)
{
    const struct trial *t = &trials[n - 1][w - ways][section];

    report_open(NULL, '{');
    report_text("publisher", "%s", w->publisher->name);
    report_text("paper", "%s", w->publisher->paper ? w->publisher->paper : "");
    report_text("section", "%s", section_name[section]);
    report_number("readers", 0, n);
    report_series("mpps", 3, t->mpps, rounds);
    report_series("published_mpps", 3, t->published_mpps, rounds);
    report_series("cpu_ns", 3, t->ns, rounds);
    report_open("publication_us", '{');
    report_number("p50", 3, stat_median(t->us, t->n_us));
    report_number("p99", 3, stat_quantile(t->us, t->n_us, 0.99));
    report_number("max", 3, stat_quantile(t->us, t->n_us, 1));
    report_number("n", 0, t->n_us);
    report_close();
    report_close();
}

static void each_trial(unsigned round, void (*what)(const struct way *w, unsigned section,
                                                    unsigned n, unsigned round))
{
    for (unsigned n = 1; n <= readers_max; n++)
        for (unsigned s = 0; s < SECTIONS; s++)
            for (unsigned w = 0; w < N_WAYS; w++)
                if (!only || !strcmp(only, ways[w].publisher->name))
                    what(&ways[w], s, n, round);
}

static void quick_set(const char *unused)
{
    rounds = 5;
    window_ms = 20;
}

static const struct bench_option options[] = {
    OPTION_TEXT("prefixes", &prefixes), OPTION_NUMBER("readers", &readers_max, 1, READERS_MAX),
    OPTION_NUMBER("rounds", &rounds, 1, ROUNDS_MAX), OPTION_TEXT("only", &only),
    OPTION_DO("quick", quick_set), OPTION_FLAG("json", &json), {0}};

int main(int argc, char **argv)
{
    readers_max = bench_cores();
    bench_options(argc, argv, options, NULL);
    packets_make();
    trials_make();
    bench_pin(0);
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    for (unsigned r = 0; r < rounds; r++)
        each_trial(r, measure);
    report_begin(json);
    report_number("cores", 0, bench_cores());
    report_number("rounds", 0, rounds);
    report_number("publish_every_us", 0, PUBLISH_EVERY_US);
    report_open("rows", '[');
    each_trial(0, report);
    report_close();
    report_end();
    return 0;
}
