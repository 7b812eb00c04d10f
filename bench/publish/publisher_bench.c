// SPDX-License-Identifier: BSD-3-Clause
// publisher_bench.c - what each way of publishing costs readers, and how long it takes
//
//     publisher_bench [--prefixes FILE] [--readers N] [--rounds N] [--only NAME] [--quick] [--json]
//
// The Kamuee Zero paper's figure 8 without NICs. A reader does a forwarder's
// work on packets in memory: copies the headers of 64 packets into buffers as a
// NIC would, looks all of them up in a full table (src/data/poptrie), writes new
// Ethernet headers, TTL and checksum. Readers are pinned, one to a core, the
// writer's core last. The section that the publisher protects is the lookup of
// one packet, as in the paper, or of a burst, as kamueed does it.
//
// Each trial measures the readers alone, then again while the writer publishes
// and times each publication under that load. Publishers, sections and numbers
// of readers take turns in each round. Per packet: wall time over all readers
// (Mpps: waiting for locks counts) and CPU time (ns).
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/checksum.h"
#include "fib/fib_bench.h"
#include "publish/publisher.h"

#define BURST 64u
#define LINES (1u << 18) // packets: 16 MiB of headers
#define LINE 64u
#define NEXT_HOPS 64u
#define ROUNDS_MAX 101u
#define PUBLISH_EVERY_US 200
#define PUBLICATIONS_MAX (1u << 20)
#define SECTIONS 2u

struct version { // what is published
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
    void (*read)(struct reader *r); // the loop, made for this publisher and each section
    void (*publish)(void **root, void *next, unsigned n_readers);
};

struct trial {
    double mpps[ROUNDS_MAX], ns[ROUNDS_MAX], published_mpps[ROUNDS_MAX];
    float *us; // of each publication, all rounds
    unsigned n_us;
};

static const char *const section_name[SECTIONS] = {"packet", "burst"};
static uint8_t (*line)[LINE];
static uint8_t ether[NEXT_HOPS + 1][16];
static void *root;
static struct version version[2];
static struct reader reader[READERS_MAX];
static _Atomic bool stop;
static _Atomic unsigned n_ready;
static unsigned n_cores, readers_max, rounds = 11, window_ms = 40;
static const char *prefixes, *only;
static bool json;

// --- the reader ---

static void receive(uint8_t (*buffer)[LINE], unsigned at)
{
    for (unsigned i = 0; i < BURST; i++) {
        memcpy(buffer[i], line[at + i], LINE);
        __builtin_prefetch(line[(at + i + 2 * BURST) % LINES]);
    }
}

static void rewrite(uint8_t *p, uint32_t next_hop)
{
    uint16_t sum;

    memcpy(p, ether[next_hop], 12);
    memcpy(&sum, p + 24, 2);
    sum =
        (uint16_t)(sum + 1 +
                   (sum >= 0xfffe)); // RFC 1624: the TTL's half of its word is the first, one lower
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
    uint8_t buffer[BURST][LINE] __attribute__((aligned(64)));
    uint32_t dst[BURST], next_hop[BURST];
    uint64_t packets = 0;

    p.begin(r->index);
    n_ready++;
    for (unsigned at = r->index * (LINES / READERS_MAX);
         !atomic_load_explicit(&stop, memory_order_relaxed); at = (at + BURST) % LINES) {
        receive(buffer, at);
        for (unsigned i = 0; i < BURST; i++)
            memcpy(&dst[i], buffer[i] + 30, 4);
        look_up(p, each, r->index, dst, next_hop);
        for (unsigned i = 0; i < BURST; i++)
            rewrite(buffer[i], next_hop[i]);
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

static void pin_to(unsigned core)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void *reader_main(void *arg)
{
    struct reader *r = arg;

    pin_to((1 + r->index) % n_cores);
    r->way->read(r);
    return NULL;
}

static void readers_start(const struct way *w, unsigned section, unsigned n)
{
    stop = false;
    n_ready = 0;
    for (unsigned i = 0; i < n; i++) {
        reader[i] = (struct reader){.index = i, .way = w, .section = section};
        if (pthread_create(&reader[i].id, NULL, reader_main, &reader[i])) {
            fprintf(stderr, "publisher_bench: no thread for reader %u\n", i);
            exit(1);
        }
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

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct reading {
    uint64_t packets, cpu_ns, ns;
};

static struct reading readers_read(unsigned n)
{
    struct reading r = {.ns = now_ns(CLOCK_MONOTONIC)};

    for (unsigned i = 0; i < n; i++) {
        clockid_t clock;
        pthread_getcpuclockid(reader[i].id, &clock);
        r.cpu_ns += now_ns(clock);
        r.packets += reader[i].packets;
    }
    return r;
}

static double mpps(const struct reading *a, const struct reading *b)
{
    return (double)(b->packets - a->packets) * 1e3 / (double)(b->ns - a->ns);
}

static void publish_for(const struct way *w, unsigned n, struct trial *t)
{
    uint64_t end = now_ns(CLOCK_MONOTONIC) + window_ms * 1000000ull;
    struct timespec pause = {.tv_nsec = PUBLISH_EVERY_US * 1000};

    for (unsigned i = 1; now_ns(CLOCK_MONOTONIC) < end; i++) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        uint64_t begun = now_ns(CLOCK_MONOTONIC);
        w->publish(&root, &version[i % 2], n);
        if (t->n_us < PUBLICATIONS_MAX)
            t->us[t->n_us++] = (float)(now_ns(CLOCK_MONOTONIC) - begun) / 1e3f;
    }
}

static void measure(const struct way *w, unsigned section, unsigned n, unsigned round)
{
    struct trial *t = &trials[n - 1][w - ways][section];

    readers_start(w, section, n);
    usleep(2000); // warm
    struct reading a = readers_read(n);
    usleep(window_ms * 1000);
    struct reading b = readers_read(n);
    publish_for(w, n, t);
    struct reading c = readers_read(n);
    readers_stop(n);
    t->mpps[round] = mpps(&a, &b);
    t->published_mpps[round] = mpps(&b, &c);
    t->ns[round] = (double)(b.cpu_ns - a.cpu_ns) / (double)(b.packets - a.packets);
}

// --- before and after ---

static void packets_make(void)
{
    struct table t = {0};
    struct traffic a = {.host = memory_huge(N_ADDRESSES * 4ul),
                        .net = memory_huge(N_ADDRESSES * 4ul)};
    struct poptrie_config cfg = {.key_bits = 32};
    struct poptrie *trie = poptrie_new(&cfg);

    if (table_make(&t, "full", 4, prefixes)) {
        fprintf(stderr, "publisher_bench: no IPv4 routes in %s\n", prefixes);
        exit(1);
    }
    table_next_hops(&t, NEXT_HOPS);
    if (!trie || poptrie_load(trie, t.route, t.n)) {
        fprintf(stderr, "publisher_bench: no memory for %zu routes\n", t.n);
        exit(1);
    }
    traffic_make(&t, PREFIX, &a);
    line = memory_huge((size_t)LINES * LINE);
    for (unsigned i = 0; i < LINES; i++) {
        uint8_t *p = line[i];
        memcpy(p, (uint8_t[30]){2, 0, 0,  1, 0, 0,    2, 0,  0,  3, 0, 0,   8, 0, 0x45,
                                0, 0, 42, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1},
               30);
        memcpy(p + 30, &a.net[i], 4);
        uint16_t sum = checksum(p + 14, 20);
        memcpy(p + 24, &sum, 2);
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
            for (unsigned s = 0; s < SECTIONS; s++) {
                trials[n][w][s].us =
                    memory_huge(PUBLICATIONS_MAX * sizeof(float)); // taken when touched
            }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_us(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double median(const double *v)
{
    double sorted[ROUNDS_MAX];

    memcpy(sorted, v, sizeof sorted);
    qsort(sorted, rounds, sizeof *sorted, by_value);
    return sorted[rounds / 2];
}

static double percentile(const struct trial *t, double share) // t->us is sorted
{
    return t->n_us ? (double)t->us[(unsigned)((t->n_us - 1) * share)] : NAN;
}

static const char *
number(double v, char *text,
       size_t n) // JSON knows no NaN: a reader that never ran, a writer that never published
{
    snprintf(text, n, isfinite(v) ? "%.3f" : "null", v);
    return text;
}

static void print_values(const char *name, const double *v)
{
    char text[32];

    printf(", \"%s\": [", name);
    for (unsigned r = 0; r < rounds; r++)
        printf("%s%s", r ? ", " : "", number(v[r], text, sizeof text));
    printf("]");
}

static void report(const struct way *w, unsigned section, unsigned n, bool is_first)
{
    struct trial *t = &trials[n - 1][w - ways][section];

    qsort(t->us, t->n_us, sizeof *t->us, by_us);
    if (!json) {
        printf("%-8s %-7s %7u %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %8u\n", w->publisher->name,
               section_name[section], n, median(t->mpps), median(t->published_mpps), median(t->ns),
               percentile(t, 0.5), percentile(t, 0.99), percentile(t, 1), t->n_us);
        return;
    }
    printf("%s  {\"publisher\": \"%s\", \"paper\": \"%s\", \"section\": \"%s\", \"readers\": %u",
           is_first ? "" : ",\n", w->publisher->name,
           w->publisher->paper ? w->publisher->paper : "", section_name[section], n);
    print_values("mpps", t->mpps);
    print_values("published_mpps", t->published_mpps);
    print_values("cpu_ns", t->ns);
    char p50[32], p99[32], max[32];
    printf(", \"publication_us\": {\"p50\": %s, \"p99\": %s, \"max\": %s, \"n\": %u}}",
           number(percentile(t, 0.5), p50, sizeof p50),
           number(percentile(t, 0.99), p99, sizeof p99), number(percentile(t, 1), max, sizeof max),
           t->n_us);
}

static void options_read(int argc, char **argv)
{
    static const struct option known[] = {{"prefixes", 1, NULL, 'p'},
                                          {"readers", 1, NULL, 'n'},
                                          {"rounds", 1, NULL, 'r'},
                                          {"only", 1, NULL, 'o'},
                                          {"quick", 0, NULL, 'q'},
                                          {"json", 0, NULL, 'j'},
                                          {0}};

    readers_max = n_cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'p')
            prefixes = optarg;
        else if (c == 'n')
            readers_max = (unsigned)atoi(optarg);
        else if (c == 'r')
            rounds = (unsigned)atoi(optarg);
        else if (c == 'o')
            only = optarg;
        else if (c == 'q')
            rounds = 5, window_ms = 20;
        else if (c == 'j')
            json = true;
        else
            exit(2);
    }
    if (readers_max < 1 || readers_max > READERS_MAX || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "publisher_bench: expected --readers 1 to %u, --rounds 1 to %u\n",
                READERS_MAX, ROUNDS_MAX);
        exit(2);
    }
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

static void report_next(const struct way *w, unsigned section, unsigned n, unsigned unused)
{
    static bool any;

    report(w, section, n, !any);
    any = true;
}

int main(int argc, char **argv)
{
    options_read(argc, argv);
    packets_make();
    trials_make();
    pin_to(0);
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    for (unsigned r = 0; r < rounds; r++)
        each_trial(r, measure);
    if (json)
        printf("{\"cores\": %u, \"rounds\": %u, \"publish_every_us\": %u, \"rows\": [\n", n_cores,
               rounds, PUBLISH_EVERY_US);
    else
        printf("%-8s %-7s %7s %9s %9s %9s %9s %9s %9s %8s\n", "", "section", "readers", "Mpps",
               "published", "CPU ns", "p50 us", "p99 us", "max us", "n");
    each_trial(0, report_next);
    if (json)
        printf("\n]}\n");
    return 0;
}
