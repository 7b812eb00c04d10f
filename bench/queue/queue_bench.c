// SPDX-License-Identifier: BSD-3-Clause
// queue_bench.c - compares the queue manager's cost with DPDK's rte_sched
//
//     queue_bench [--rounds 15] [--packets 131072] [--windows 20] [--only CASE] [--quick] [--json]
//
// Cases: `classes` with 8 to 4,096 virtual routers of eight classes; `empty`, a call of queue_take
// that finds nothing to send while all virtual routers are over their maximum and have packets
// waiting; `flows`, fq_codel with 1,024 flow queues per class; `rate`, `share` and `delay`, the
// accuracy of rates, shares and delays (kept.h).
//
// In `classes` each packet belongs to a random virtual router and class, there is a standing
// backlog, and no rate limits an engine: the benchmark measures choosing, not waiting. Engines get
// the same packets in alternating rounds; a ratio is the median of the rounds' own ratios. Cycles
// are TSC cycles, less the cost of reading the TSC, without calls in which the thread was
// preempted. Our class is rte_sched's traffic class; it has 13, of which eight are used.
#include <math.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_sched.h>

#include "lib/bench.h"
#include "lib/eal.h"
#include "lib/report.h"
#include "lib/stat.h"
#include "queue/kept.h"
#include "queue/queue.h"

#define BATCH 32u
#define BACKLOG 2048u
#define FRAME 64u
#define PREEMPTED 1000000u // cycles of a call: the thread was preempted
#define MBUFS (BACKLOG + 16 * BATCH)
#define BEST_EFFORT RTE_SCHED_TRAFFIC_CLASS_BE

static struct {
    unsigned rounds, packets, windows; // windows of `share`, and as many times 50 ms of `delay`
    const char *only;
    bool json;
} opt = {.rounds = 15, .packets = 1u << 17, .windows = 20, .only = ""};

static struct rte_mempool *pool;
static unsigned vrs;
static uint16_t flows; // per class of ours; 0 = tail drop
static double tsc_cost; // of reading the clock before and after a call

struct engine {
    const char *name;
    void (*make)(void);
    void (*label)(struct rte_mbuf *m, unsigned vr, unsigned class);
    unsigned (*put)(struct rte_mbuf **m, unsigned n);
    unsigned (*take)(struct rte_mbuf **m, unsigned n);
    void (*end)(void);
    struct rte_mbuf *idle[MBUFS];
    unsigned n_idle, queued;
    double cycles[ROUNDS_MAX];
};

// --- ours ----------------------------------------------------------------------------------------

static struct queue_manager *ours;

struct label { // in the private area of an mbuf
    uint16_t vr;
    uint8_t class;
    uint32_t hash;
};

static void ours_make(void)
{
    const struct queue_config c = {.ticks_hz = rte_get_tsc_hz(), .rate_bps = 400000000000ull,
                                   .clients = vrs, .packets_max = 1u << 16, .frame_max = 1518};
    struct queue_client_config v = {.guarantee_bps = c.rate_bps / 100 * 90 / vrs, .weight = 1,
                                .limit_bytes = 1u << 24};

    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        v.class[k] = (struct queue_class_config){
            .discipline = flows ? QUEUE_FQ_CODEL : QUEUE_TAIL_DROP,
            .flows = flows,
            .target_us = 5000,
            .interval_us = 100000,
            .ecn = true,
            .limit_bytes = 1u << 24,
        };
    ours = queue_make(&c);
    bench_check(ours, "no memory");
    for (unsigned i = 0; i < vrs; i++)
        bench_check(!queue_configure(ours, (uint16_t)i, &v, rte_rdtsc()), "a rate is refused");
}

static void ours_label(struct rte_mbuf *m, unsigned vr, unsigned class)
{
    *(struct label *)rte_mbuf_to_priv(m) =
        (struct label){(uint16_t)vr, (uint8_t)class, flows ? (uint32_t)bench_random() : 0};
}

static unsigned ours_put(struct rte_mbuf **m, unsigned n)
{
    struct queue_packet p[BATCH];
    uint8_t refusal[BATCH];

    for (unsigned i = 0; i < n; i++) {
        const struct label *l = rte_mbuf_to_priv(m[i]);

        p[i] = (struct queue_packet){m[i], FRAME, l->vr, l->class, 0, l->hash};
    }
    return queue_put(ours, p, n, rte_rdtsc(), refusal);
}

static unsigned ours_take(struct rte_mbuf **m, unsigned n)
{
    uint8_t verdict[BATCH];

    return queue_take(ours, rte_rdtsc(), (void **)m, verdict, n);
}

static void ours_end(void)
{
    queue_free(ours, NULL, NULL);
}

// --- rte_sched -----------------------------------------------------------------------------------

static struct rte_sched_port *port;

static void peer_make(void)
{
    const uint64_t rate = 50000000000ull; // bytes per second: never limits
    struct rte_sched_subport_profile_params share = {
        .tb_rate = rate, .tb_size = 10000000, .tc_period = 10};
    struct rte_sched_pipe_params pipe = {
        .tb_rate = rate, .tb_size = 10000000, .tc_period = 10, .tc_ov_weight = 1};
    struct rte_sched_subport_params subport = {.n_pipes_per_subport_enabled = vrs,
                                               .pipe_profiles = &pipe,
                                               .n_pipe_profiles = 1,
                                               .n_max_pipe_profiles = 1};
    struct rte_sched_port_params params = {.name = "peer",
                                           .rate = rate,
                                           .mtu = 1518,
                                           .frame_overhead = 24,
                                           .n_subports_per_port = 1,
                                           .n_subport_profiles = 1,
                                           .n_max_subport_profiles = 1,
                                           .subport_profiles = &share,
                                           .n_pipes_per_subport = vrs};

    for (unsigned k = 0; k < RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE; k++) {
        share.tc_rate[k] = pipe.tc_rate[k] = rate;
        subport.qsize[k] =
            vrs < 128 ? 8192 / (uint16_t)vrs : 64; // the backlog ends up in the last class
    }
    for (unsigned k = 0; k < RTE_SCHED_BE_QUEUES_PER_PIPE; k++)
        pipe.wrr_weights[k] = 1;
    port = rte_sched_port_config(&params);
    bench_check(port && !rte_sched_subport_config(port, 0, &subport, 0), "rte_sched is refused");
    for (unsigned i = 0; i < vrs; i++)
        bench_check(!rte_sched_pipe_config(port, 0, i, 0), "a pipe of rte_sched is refused");
}

static void peer_label(struct rte_mbuf *m, unsigned vr, unsigned class)
{
    rte_sched_port_pkt_write(port, m, 0, vr, BEST_EFFORT - class, 0, RTE_COLOR_GREEN);
}

static unsigned peer_put(struct rte_mbuf **m, unsigned n)
{
    return (unsigned)rte_sched_port_enqueue(port, m, n);
}

static unsigned peer_take(struct rte_mbuf **m, unsigned n)
{
    return (unsigned)rte_sched_port_dequeue(port, m, n);
}

static void peer_end(void)
{
    rte_sched_port_free(port);
}

// --- classes -------------------------------------------------------------------------------------

static struct engine engines[] = {
    {"kamuee", ours_make, ours_label, ours_put, ours_take, ours_end, {0}, 0, 0, {0}},
    {"rte_sched", peer_make, peer_label, peer_put, peer_take, peer_end, {0}, 0, 0, {0}},
};
#define ENGINES (sizeof engines / sizeof *engines)

struct cost {
    double cycles;
    uint64_t packets;
};

static void cost_add(struct cost *c, uint64_t cycles, unsigned packets)
{
    if (cycles > PREEMPTED)
        return;
    c->cycles += (double)cycles - tsc_cost;
    c->packets += packets;
}

static double cost_of(const struct cost *c)
{
    bench_check(c->packets, "no call was undisturbed");
    return c->cycles / (double)c->packets;
}

static void engine_begin(struct engine *e)
{
    e->make();
    e->queued = 0;
    for (e->n_idle = 0; e->n_idle < MBUFS; e->n_idle++) {
        struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

        bench_check(m, "out of mbufs");
        m->data_len = FRAME;
        m->pkt_len = FRAME;
        e->idle[e->n_idle] = m;
    }
}

static void engine_end(struct engine *e)
{
    struct rte_mbuf *m[BATCH];

    for (unsigned n; e->queued; e->queued -= n)
        n = e->take(m, BATCH), rte_pktmbuf_free_bulk(m, n);
    rte_pktmbuf_free_bulk(e->idle, e->n_idle);
    e->end();
}

// Adds a batch if the backlog has room; returns its cycles.
static uint64_t engine_fill(struct engine *e)
{
    struct rte_mbuf *m[BATCH];

    for (unsigned i = 0; i < BATCH; i++) {
        m[i] = e->idle[--e->n_idle];
        e->label(m[i], (unsigned)(bench_random() % vrs),
                 (unsigned)(bench_random() % QUEUE_CLASSES));
    }
    uint64_t from = rte_rdtsc_precise();
    unsigned n = e->put(m, BATCH);
    uint64_t cycles = rte_rdtsc_precise() - from;
    bench_check(n == BATCH, "%s refused a packet: its queues are too short for this backlog",
                e->name);
    e->queued += n;
    return cycles;
}

static uint64_t engine_drain(struct engine *e, unsigned *taken)
{
    uint64_t from = rte_rdtsc_precise();
    unsigned n = e->take(e->idle + e->n_idle, BATCH);
    uint64_t cycles = rte_rdtsc_precise() - from;

    e->n_idle += n;
    e->queued -= n;
    *taken += n;
    return cycles;
}

static double engine_round(struct engine *e)
{
    struct cost put = {0}, take = {0};

    while (e->queued < BACKLOG)
        engine_fill(e);
    for (unsigned taken = 0; taken < opt.packets;) {
        if (e->queued < BACKLOG + BATCH)
            cost_add(&put, engine_fill(e), BATCH);
        unsigned before = taken;
        uint64_t cycles = engine_drain(e, &taken);
        cost_add(&take, cycles, taken - before);
    }
    return cost_of(&put) + cost_of(&take);
}

static double tsc_measure(void)
{
    double cost[ROUNDS_MAX];

    for (unsigned i = 0; i < ROUNDS_MAX; i++) {
        uint64_t from = rte_rdtsc_precise();
        cost[i] = (double)(rte_rdtsc_precise() - from);
    }
    return stat_median(cost, ROUNDS_MAX);
}

static void measure_classes(unsigned n)
{
    vrs = n;
    for (unsigned i = 0; i < ENGINES; i++)
        engine_begin(&engines[i]);
    for (unsigned r = 0; r <= opt.rounds; r++) // the first round warms up
        for (unsigned i = 0; i < ENGINES; i++)
            engines[i].cycles[r ? r - 1 : 0] = engine_round(&engines[i]);
    for (unsigned i = 0; i < ENGINES; i++) {
        report_open(NULL, '{');
        report_text("case", "classes");
        report_number("vrs", 0, n);
        report_text("engine", "%s", engines[i].name);
        report_series("cycles", 1, engines[i].cycles, opt.rounds);
        report_number("ratio", 3, stat_ratio(engines[i].cycles, engines[1].cycles, opt.rounds));
        report_close();
        engine_end(&engines[i]);
    }
}

// --- flows ---------------------------------------------------------------------------------------

// As in `classes`; each packet is of a random flow, so nearly each is the first of its flow.
static void measure_flows(unsigned n)
{
    struct engine *e = &engines[0];

    vrs = n;
    flows = QUEUE_FLOWS_MAX;
    engine_begin(e);
    for (unsigned r = 0; r <= opt.rounds; r++)
        e->cycles[r ? r - 1 : 0] = engine_round(e);
    report_open(NULL, '{');
    report_text("case", "flows");
    report_number("vrs", 0, n);
    report_text("engine", "%s", e->name);
    report_series("cycles", 1, e->cycles, opt.rounds);
    report_null("ratio");
    report_close();
    engine_end(e);
    flows = 0;
}

// --- accuracy ------------------------------------------------------------------------------------

static void kept_report(const char *name, unsigned engine, double error, double p99_us)
{
    report_open(NULL, '{');
    report_text("case", "%s", name);
    report_number("vrs", 0, 8);
    report_text("engine", "%s", kept_name(engine));
    report_number("error", 5, error);
    report_number("p99_us", 2, p99_us);
    report_close();
}

static void measure_kept(const char *name)
{
    for (unsigned e = 0; e < KEPT_ENGINES; e++)
        if (!strcmp(name, "rate"))
            kept_report(name, e, kept_rate(e), NAN);
        else if (!strcmp(name, "share"))
            kept_report(name, e, kept_share(e, opt.windows), NAN);
        else
            kept_report(name, e, NAN, kept_delay_us(e, 50 * opt.windows));
}

// --- empty ---------------------------------------------------------------------------------------

#define CALLS 20000u

// All virtual routers are over their maximum, and the next time to send is far away.
static double empty_round(uint64_t now)
{
    void *packet[BATCH];
    uint8_t verdict[BATCH];
    uint64_t from = rte_rdtsc_precise();

    for (unsigned i = 0; i < CALLS; i++)
        bench_check(!queue_take(ours, now, packet, verdict, BATCH), "something was sent");
    return (double)(rte_rdtsc_precise() - from) / CALLS;
}

static void measure_empty(unsigned n)
{
    const struct queue_config c = {.ticks_hz = rte_get_tsc_hz(), .rate_bps = 100000000000ull,
                                   .clients = n, .packets_max = 1u << 18, .frame_max = 1518};
    struct queue_client_config v = {.maximum_bps = 1000000, .weight = 1, .limit_bytes = 1u << 24};
    uint64_t now = rte_rdtsc();
    double cycles[ROUNDS_MAX];
    void *packet[BATCH];
    uint8_t refusal[BATCH], verdict[BATCH];

    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        v.class[k].limit_bytes = 1u << 24;
    ours = queue_make(&c);
    bench_check(ours, "no memory");
    for (unsigned i = 0; i < n; i++) {
        struct queue_packet p[16];

        bench_check(!queue_configure(ours, (uint16_t)i, &v, now), "a rate is refused");
        for (unsigned k = 0; k < 16; k++)
            p[k] = (struct queue_packet){&v, 1518, (uint16_t)i, (uint8_t)(k % QUEUE_CLASSES), 0, 0};
        queue_put(ours, p, 16, now, refusal);
    }
    // After a millisecond all allowed packets have been sent; the next packet of each is due 12 ms
    // after its last.
    for (unsigned i = 0; i < 3000; i++, now += c.ticks_hz / 1000000)
        while (queue_take(ours, now, packet, verdict, BATCH))
            ;
    for (unsigned r = 0; r < opt.rounds; r++)
        cycles[r] = empty_round(now);
    report_open(NULL, '{');
    report_text("case", "empty");
    report_number("vrs", 0, n);
    report_text("engine", "kamuee");
    report_series("cycles", 1, cycles, opt.rounds);
    report_null("ratio");
    report_close();
    queue_free(ours, NULL, NULL);
}

static void quick(const char *unused)
{
    opt.rounds = 5;
    opt.packets = 1u << 15;
    opt.windows = 8;
}

static const struct bench_option options[] = {
    OPTION_NUMBER("rounds", &opt.rounds, 1, ROUNDS_MAX),
    OPTION_NUMBER("packets", &opt.packets, 1024, 1u << 24),
    OPTION_NUMBER("windows", &opt.windows, 1, 1000),
    OPTION_TEXT("only", &opt.only),
    OPTION_FLAG("json", &opt.json),
    OPTION_DO("quick", quick),
    {0},
};

static const char *const case_name[] = {"classes", "flows", "empty", "rate", "share", "delay"};

static bool is_asked(const char *name)
{
    return !*opt.only || !strcmp(opt.only, name);
}

static void check_only(void)
{
    for (unsigned i = 0; i < sizeof case_name / sizeof *case_name; i++)
        if (is_asked(case_name[i]))
            return;
    bench_fail("--only '%s': expected classes, flows, empty, rate, share or delay", opt.only);
}

int main(int argc, char **argv)
{
    static const unsigned sizes[] = {8, 16, 1024, 4096};

    bench_options(argc, argv, options, NULL);
    check_only();
    bench_eal_heap(256, 64ul << 20);
    bench_pin(0);
    pool = rte_pktmbuf_pool_create("queue", ENGINES * MBUFS + 4096, 0, 64, 256, -1);
    bench_check(pool, "no memory for mbufs");
    tsc_cost = tsc_measure();
    report_begin(opt.json);
    report_open("rows", '[');
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (is_asked("classes"))
            measure_classes(sizes[i]);
    for (unsigned i = 0; i < 2; i++)
        if (is_asked("flows"))
            measure_flows(sizes[i]);
    if (is_asked("empty"))
        measure_empty(4096);
    kept_init(pool);
    for (unsigned i = 0; i < 3; i++)
        if (is_asked((const char *[]){"rate", "share", "delay"}[i]))
            measure_kept((const char *[]){"rate", "share", "delay"}[i]);
    report_close();
    report_end();
    return 0;
}
