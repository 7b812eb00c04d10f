// SPDX-License-Identifier: BSD-3-Clause
// path_bench.c - measures the router's path under the conditions of a paper's experiment
//
//     path_bench [OPTIONS] CASE...
//     path_bench --rounds 5 --simd 256 engine=lpm,table=linx engine=poptrie,table=linx
//
// A case lists its settings as key=value,...:
//     mode      forward | io (rx to tx unseen) | rx (and free) | tx (our own headers) | lookup
//               (addresses only)
//     engine    poptrie dir24_8 lpm
//     table     linx ntt full (or a part: linx/4) default4 bhole4, or a number of routes
//               (lib/router_fib.c)
//     pattern   straight cross random loopback prefix flows ports; flows=N (lib/rss.h)
//     acl       none, or empty: all ports have an input list without rules
//     rss       all ip none: fields that spread packets over a port's queues
//     bytes     of a frame, with checksum; whole=1: its payload is written and read as well
//     burst     most packets that a port returns at a time
//     ports, queues, threads
//               receiving ports, queues per port, forwarders: queues are assigned to them in turn
//     pipeline  1: one thread receives, the other forwards and sends, with a ring between them
//     queue     1: each port has a queue manager, eight classes, and a rate that delays nothing
//     mpps      packets offered to each receiving port; 0: as many as it takes
//
// All cases take turns within each round. Cycles are TSC cycles of the thread's own CPU time: other
// programs on the core do not count. Prints one JSON object.
#include <math.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "core/eal.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "forwarder/forwarder.h"
#include "forwarder/state.h"
#include "lib/eal.h"
#include "lib/port_memory.h"
#include "lib/report.h"
#include "lib/router_fib.h"
#include "lib/router_queue.h"
#include "lib/rss.h"
#include "lib/stat.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/plan.h"
#include "table/port_queue.h"
#include "table/vr.h"

#define CASES_MAX 256u
#define POOL_SIZE 16383u
#define BURST 64u
#define WARM_MS 2u
#define PIPE_SIZE 1024u
#define TURN 16u // polls between two reads of the clock

enum mode { FORWARD, IO, RX, TX, LOOKUP, MODES };
static const char *const mode_name[MODES] = {"forward", "io", "rx", "tx", "lookup"};

struct trial {
    uint64_t packets;          // in the measured time
    double cycles, seconds;    // CPU time of all threads; wall time
    uint64_t received, sent, dropped; // in the whole trial, with warm-up
    uint64_t offered, lost;    // if there is an offered load
    double delay_us[3];        // min, mean, max: from arrival to tx
    struct counter_stage stage[STAGE_N]; // of the bursts that the forwarders timed
};

struct path_case {
    const char *text;
    char table[16], engine[16];
    enum mode mode;
    struct traffic_of traffic;
    unsigned burst, ports, queues, threads;
    bool whole, pipeline, acl, queue;
    double mpps;
    const struct router_fib *fib;
    struct trial trial[ROUNDS_MAX];
};

struct worker {
    const struct path_case *c;
    unsigned index;
    struct plan plan;
    struct forwarder *forwarder;
    struct thread *thread;
    uint64_t received, packets;
    double cycles, seconds;
};

static struct path_case cases[CASES_MAX];
static struct worker workers[FORWARDER_MAX];
static struct rte_mempool *pool;
static struct rte_ring *pipe_ring;
static struct port_queue *port_queue[SOURCE_PORTS];
static unsigned n_cases, rounds = 3, trial_ms = 20, count; // count: packets per trial, 0 = by time
static const char *prefixes, *simd = "512"; // widest vectors in bits, 64 = none
static bool small_pages;
static int core[CPU_SETSIZE];
static uint16_t port_id[SOURCE_PORTS];
static unsigned n_cores;
static const unsigned rx_order[SOURCE_PORTS] = {
    0, 3, 1, 2}; // as in the papers: in by 0 and 3, out by 1 and 2
static uint8_t (*lines[SOURCE_PORTS])[SOURCE_LINE];
static uint32_t *addresses; // destinations of the lines, for mode=lookup
static uint64_t n_addresses;
static _Atomic unsigned ready, receiving;
static _Atomic uint64_t warm_until, measure_until;

// --- one turn of a thread; returns the packets taken ---

static unsigned poll_io(struct worker *w)
{
    struct rte_mbuf *pkt[BURST];
    unsigned taken = 0;

    for (unsigned i = 0; i < w->plan.n_rx; i++) {
        uint16_t n = rte_eth_rx_burst(w->plan.rx[i].port, w->plan.rx[i].queue, pkt, BURST);
        taken += n;
        if (w->c->mode == RX)
            rte_pktmbuf_free_bulk(pkt, n);
        else if (n)
            rte_eth_tx_burst(w->plan.rx[i].port, (uint16_t)w->index, pkt, n);
    }
    return taken;
}

static unsigned poll_tx(struct worker *w)
{
    static _Thread_local uint32_t at;
    struct rte_mbuf *pkt[BURST];

    if (rte_pktmbuf_alloc_bulk(pool, pkt, w->c->burst))
        return 0;
    for (unsigned i = 0; i < w->c->burst; i++) {
        memcpy(rte_pktmbuf_mtod(pkt[i], void *), lines[0][at++ % TRAFFIC_LINES], SOURCE_LINE);
        pkt[i]->data_len = (uint16_t)(w->c->traffic.bytes - 4);
        pkt[i]->pkt_len = pkt[i]->data_len;
    }
    return rte_eth_tx_burst(port_id[1], (uint16_t)w->index, pkt, (uint16_t)w->c->burst);
}

static unsigned poll_lookup(struct worker *w)
{
    static _Thread_local uint32_t at;
    uint32_t found[BURST];

    if (at + BURST > n_addresses)
        at = 0;
    fib_find4_bulk(vr_get(w->c->fib->vr)->fib4, addresses + at, found, w->c->burst);
    at += w->c->burst;
    return w->c->burst;
}

// First half of the pipeline: waits while the second is behind.
static unsigned poll_receive(struct worker *w)
{
    struct rte_mbuf *pkt[BURST];
    unsigned taken = 0;

    for (unsigned i = 0; i < w->plan.n_rx; i++) {
        if (rte_ring_free_count(pipe_ring) < BURST)
            break;
        uint16_t n = rte_eth_rx_burst(w->plan.rx[i].port, w->plan.rx[i].queue, pkt, BURST);
        taken += rte_ring_sp_enqueue_bulk(pipe_ring, (void **)pkt, n, NULL);
    }
    return taken;
}

static inline unsigned worker_poll(struct worker *w)
{
    switch (w->c->mode) {
    case TX:
        return poll_tx(w);
    case LOOKUP:
        return poll_lookup(w);
    case FORWARD:
        if (!w->c->pipeline || w->index)
            return forwarder_poll(w->forwarder);
        return poll_receive(w);
    default:
        return poll_io(w);
    }
}

// With a queue, a forwarder counts a packet when it arrives and when it leaves; so use the counts
// of the sources, which only this thread changes while it runs.
static uint64_t given_to(const struct worker *w)
{
    uint64_t n = 0;

    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        for (unsigned i = 0; i < w->plan.n_rx; i++)
            if (w->plan.rx[i].port == port_id[p])
                n += source[p][w->plan.rx[i].queue].given;
    return n;
}

// Runs until `until`, or for that many packets. A separate function, because callgrind counts
// inside it.
__attribute__((noipa)) uint64_t path_measured(struct worker *w, uint64_t until, uint64_t packets);
__attribute__((noipa)) uint64_t path_measured(struct worker *w, uint64_t until, uint64_t packets)
{
    uint64_t taken = 0;

    do
        for (unsigned i = 0; i < TURN; i++)
            taken += worker_poll(w);
    while (packets ? taken < packets : rte_rdtsc() < until);
    return taken;
}

// --- a trial ---

static void pipe_drain(struct worker *w)
{
    if (!w->c->pipeline)
        return;
    if (!w->index) {
        atomic_fetch_sub(&receiving,
                         1); // partner: the load below; received packets are in the ring
        return;
    }
    while (atomic_load(&receiving) || !rte_ring_empty(pipe_ring))
        w->received += worker_poll(w);
}

// Stops the sources, and sends all packets in queues and in rings to them.
static void queues_drain(struct worker *w)
{
    if (!w->c->queue)
        return;
    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        for (unsigned i = 0; i < w->plan.n_rx; i++)
            if (w->plan.rx[i].port == port_id[p])
                source[p][w->plan.rx[i].queue].line = NULL;
    atomic_fetch_sub(&receiving, 1); // partner: the load below; received packets are in the rings
    for (bool all_fed = false, empty = false; !all_fed || !empty;) {
        all_fed = !atomic_load(&receiving);
        empty = !forwarder_poll(w->forwarder) && w->forwarder->queue_due == QUEUE_NEVER;
    }
}

static void work(void *arg)
{
    struct worker *w = arg;

    w->forwarder = forwarder_new(w->index);
    atomic_fetch_add(&ready, 1);
    while (
        w->forwarder &&
        !atomic_load(&measure_until)) // main sets both times, this one last, and may need this core
        sched_yield();
    if (!w->forwarder)
        return;
    for (uint64_t until = atomic_load(&warm_until), n = 0;
         rte_rdtsc() < until && (!count || n < count / 4); w->received += n)
        n = worker_poll(w);
    double began = bench_wall_s(), used = bench_cpu_s();
    uint64_t given = given_to(w);
    w->packets = path_measured(w, atomic_load(&measure_until), count);
    if (w->c->queue)
        w->packets = given_to(w) - given;
    w->cycles = (bench_cpu_s() - used) * (double)rte_get_tsc_hz();
    w->seconds = bench_wall_s() - began;
    w->received += w->packets;
    pipe_drain(w);
    queues_drain(w);
    if (w->c->queue)
        w->received = given_to(w);
    rcu_quiescent();
    forwarder_free(w->forwarder);
}

static void source_set(const struct path_case *c, struct source *s, uint32_t first, uint32_t n,
                       unsigned port)
{
    s->line = n ? (const uint8_t(*)[SOURCE_LINE])lines[port] + first : NULL;
    s->n_lines = n;
    s->at = 0;
    s->pool = pool;
    s->ring = NULL;
    s->burst = (uint16_t)c->burst;
    s->bytes = (uint16_t)(c->traffic.bytes - 4);
    s->whole = c->whole;
    s->given = 0;
    source_start(s, c->mpps / c->queues);
}

static void packets_make(const struct path_case *c)
{
    uint32_t first[SOURCE_QUEUES], n[SOURCE_QUEUES];

    for (unsigned k = 0; k < c->ports; k++) {
        unsigned p = rx_order[k];
        traffic_lines(&c->traffic, c->fib->routes, p, c->queues, lines[p], first, n);
        for (unsigned q = 0; q < c->queues; q++)
            source_set(c, &source[p][q], first[q], n[q], p);
    }
    for (n_addresses = 0; n_addresses < TRAFFIC_LINES; n_addresses++)
        memcpy(&addresses[n_addresses], lines[0][n_addresses] + 30, 4);
}

static void sinks_clear(const struct path_case *c)
{
    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        for (unsigned q = 0; q < SOURCE_QUEUES; q++)
            sink[p][q] =
                (struct sink){.stamped = c->mpps > 0, .whole = c->whole, .delay_min = UINT64_MAX};
}

// Receive queue k of all belongs to thread k in turn; transmit queue i of each port to thread i.
// Queue managers belong to the threads in turn. After the pipeline's ring there is one forwarder,
// which finds the ring in place of port 0's last queue.
static void plans_make(const struct path_case *c)
{
    for (unsigned i = 0; i < c->threads; i++) {
        workers[i] = (struct worker){.c = c, .index = i};
        for (unsigned p = 0; p < SOURCE_PORTS; p++) {
            workers[i].plan.tx_owner[port_id[p]] = (uint8_t)i;
            workers[i].plan.tx_queue[port_id[p]] = (uint16_t)i;
            if (c->queue)
                router_queue_plan(&workers[i].plan, port_queue[p], port_id[p], p % c->threads, i);
        }
    }
    for (unsigned k = 0; k < c->ports * c->queues; k++) {
        struct plan *plan = &workers[c->pipeline ? 0 : k % c->threads].plan;
        plan->rx[plan->n_rx++] =
            (struct plan_rx){port_id[rx_order[k % c->ports]], (uint16_t)(k / c->ports)};
    }
    if (c->pipeline) {
        workers[1].plan.rx[0] = (struct plan_rx){port_id[0], SOURCE_QUEUES - 1};
        workers[1].plan.n_rx = 1;
        source[0][SOURCE_QUEUES - 1].ring = pipe_ring;
        source[0][SOURCE_QUEUES - 1].burst = (uint16_t)c->burst;
    }
    for (unsigned i = 0; i < c->threads; i++)
        rcu_publish(&forwarder_slot[i].plan, &workers[i].plan);
}

static void threads_run(const struct path_case *c)
{
    char name[24];

    atomic_store(&ready, 0);
    atomic_store(&measure_until, 0);
    atomic_store(&receiving, c->queue ? c->threads : c->pipeline);
    for (unsigned i = 0; i < c->threads; i++) {
        snprintf(name, sizeof name, "forwarder-%u", i);
        bench_check(!thread_start(&workers[i].thread, ROLE_FORWARDER, THREAD_SLOT_FORWARDER + i,
                                  name, core[n_cores - 1 - i], work, &workers[i]),
                    "no thread on that core");
    }
    while (atomic_load(&ready) < c->threads)
        sched_yield();
    uint64_t now = rte_rdtsc(), ms = rte_get_tsc_hz() / 1000;
    atomic_store(&warm_until, now + WARM_MS * ms);
    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        for (unsigned q = 0; q < SOURCE_QUEUES; q++)
            source[p][q].next = (double)now;
    atomic_store(&measure_until, now + (WARM_MS + trial_ms) * ms); // partner: the load in work()
    for (unsigned i = 0; i < c->threads; i++)
        thread_join(workers[i].thread);
}

static void delays_sum(struct trial *t)
{
    double us = 1e6 / (double)rte_get_tsc_hz(), sum = 0, n = 0, least = INFINITY, most = 0;

    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        for (unsigned q = 0; q < SOURCE_QUEUES; q++) {
            const struct sink *k = &sink[p][q];
            t->sent += k->sent;
            t->offered += source[p][q].offered;
            t->lost += source[p][q].lost;
            if (!k->n_delays)
                continue;
            sum += (double)k->delay_sum;
            n += (double)k->n_delays;
            least = fmin(least, (double)k->delay_min);
            most = fmax(most, (double)k->delay_max);
        }
    if (n > 0)
        memcpy(t->delay_us, (double[3]){least * us, sum / n * us, most * us}, sizeof t->delay_us);
}

// Adds the forwarders' counters since their creation, multiplied by `times` (-1 subtracts).
static void stages_add(struct trial *t, int times)
{
    for (unsigned i = 0; i < FORWARDER_MAX; i++) {
        const struct counter_stage *s = counter_of_slot(THREAD_SLOT_FORWARDER + i)->stage;
        for (unsigned k = 0; k < STAGE_N; k++) {
            t->stage[k].packets += (uint64_t)times * s[k].packets;
            t->stage[k].cycles += (uint64_t)times * s[k].cycles;
        }
    }
}

static uint64_t drops_read(void)
{
    struct ledger l;

    ledger_read(&l, 10);
    return l.drops;
}

static void trial_run(const struct path_case *c, struct trial *t)
{
    uint64_t dropped = drops_read();

    stages_add(t, -1);
    router_use(c->fib);
    router_lists(c->acl);
    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        for (unsigned q = 0; q < SOURCE_QUEUES; q++)
            source[p][q] = (struct source){.pool = pool};
    packets_make(c);
    sinks_clear(c);
    plans_make(c);
    threads_run(c);
    for (unsigned i = 0; i < c->threads; i++) {
        bool last = !c->pipeline || i == 1; // packets count where they leave
        t->packets += last ? workers[i].packets : 0;
        t->received += last ? workers[i].received : 0;
        t->cycles += workers[i].cycles;
        t->seconds = fmax(t->seconds, workers[i].seconds);
    }
    t->dropped = drops_read() - dropped;
    stages_add(t, 1);
    delays_sum(t);
    if (c->mode == RX || c->mode == LOOKUP)
        t->sent = t->received;
    bench_check(t->received == t->sent + t->dropped,
                "not every packet was forwarded or counted as dropped: %s", c->text);
    if (c->queue) // packets dropped at a full ring to a queue were not forwarded
        t->packets = (uint64_t)((double)t->packets * (double)t->sent / (double)t->received);
}

// --- cases and options ---

static unsigned name_find(const char *const *names, unsigned n, const char *value, const char *text)
{
    unsigned i = 0;

    while (i < n && strcmp(names[i], value))
        i++;
    bench_check(i < n, "unknown word in case: %s", text);
    return i;
}

static void case_set(struct path_case *c, const char *key, const char *value)
{
    const struct {
        const char *key;
        unsigned *to;
    } numbers[] = {{"bytes", &c->traffic.bytes}, {"flows", &c->traffic.flows},
                   {"burst", &c->burst},         {"ports", &c->ports},
                   {"queues", &c->queues},       {"threads", &c->threads}};

    for (unsigned i = 0; i < RTE_DIM(numbers); i++)
        if (!strcmp(key, numbers[i].key)) {
            *numbers[i].to = (unsigned)strtoul(value, NULL, 10);
            return;
        }
    if (!strcmp(key, "mode"))
        c->mode = name_find(mode_name, MODES, value, c->text);
    else if (!strcmp(key, "pattern"))
        c->traffic.pattern = name_find(traffic_pattern_name, TRAFFIC_PATTERNS, value, c->text);
    else if (!strcmp(key, "rss"))
        c->traffic.rss = name_find(traffic_rss_name, TRAFFIC_RSS_N, value, c->text);
    else if (!strcmp(key, "table"))
        snprintf(c->table, sizeof c->table, "%s", value);
    else if (!strcmp(key, "engine"))
        snprintf(c->engine, sizeof c->engine, "%s", value);
    else if (!strcmp(key, "whole"))
        c->whole = atoi(value);
    else if (!strcmp(key, "pipeline"))
        c->pipeline = atoi(value);
    else if (!strcmp(key, "queue"))
        c->queue = atoi(value);
    else if (!strcmp(key, "acl"))
        c->acl = name_find((const char *const[]){"none", "empty"}, 2, value, c->text);
    else if (!strcmp(key, "mpps"))
        c->mpps = strtod(value, NULL);
    else
        bench_fail("unknown key in case: %s", c->text);
}

static void case_read(struct path_case *c, const char *text)
{
    char copy[512], *rest = copy;

    *c = (struct path_case){.text = text, .table = "full", .engine = "poptrie", .burst = BURST,
                            .ports = 2, .queues = 1, .threads = 1};
    c->traffic = (struct traffic_of){
        .pattern = TRAFFIC_PREFIX, .rss = TRAFFIC_RSS_ALL, .flows = 1, .bytes = 64};
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word; (word = strsep(&rest, ",")) != NULL;) {
        char *value = strchr(word, '=');
        bench_check(value, "a case is key=value,...: %s", text);
        *value++ = 0;
        case_set(c, word, value);
    }
    bench_check(c->threads >= 1 && c->threads <= n_cores && c->threads < FORWARDER_MAX,
                "threads: each needs a core of its own, and there are not so many: %s", text);
    bench_check(c->ports >= 1 && c->ports <= SOURCE_PORTS && c->queues >= 1 &&
                    c->queues < SOURCE_QUEUES && c->burst >= 1 && c->burst <= BURST &&
                    c->traffic.bytes >= 64 && c->traffic.bytes <= 1518 && c->traffic.flows >= 1 &&
                    c->traffic.flows <= TRAFFIC_LINES && (!c->pipeline || c->threads == 2),
                "1-4 ports, 1-31 queues, bursts of 1-64, frames of 64-1518 bytes, 1-131072 flows, "
                "a pipeline of 2 threads: %s",
                text);
    bench_check(!c->queue || (c->mode == FORWARD && !c->pipeline),
                "a queue manager in mode=forward, without a pipeline: %s", text);
    bench_check(router_fib_mib(c->table, c->engine) >= 0, "no such table or engine: %s", text);
}

static void cores_read(void)
{
    cpu_set_t set;

    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            core[n_cores++] = i;
}

static const struct bench_option options[] = {
    OPTION_NUMBER("rounds", &rounds, 1, ROUNDS_MAX), OPTION_NUMBER("ms", &trial_ms, 1, 0),
    OPTION_TEXT("prefixes", &prefixes), OPTION_NUMBER("packets", &count, 0, 0),
    OPTION_TEXT("simd", &simd), OPTION_FLAG("small-pages", &small_pages), {0}};

static void cases_read(int n, char **text)
{
    bench_check(n >= 1 && n <= (int)CASES_MAX, "name 1 to 256 cases: key=value,...");
    router_prefixes(prefixes);
    while (n-- > 0)
        case_read(&cases[n_cases++], *text++);
}

// DPDK's memory: packets, and each DPDK table once, plus half for its parts.
static unsigned memory_mib(void)
{
    unsigned mib = 256;

    for (unsigned i = 0; i < n_cases; i++) {
        bool known = false;
        for (unsigned k = 0; k < i; k++)
            known |= !strcmp(cases[k].table, cases[i].table) &&
                     !strcmp(cases[k].engine, cases[i].engine);
        unsigned needed = (unsigned)router_fib_mib(cases[i].table, cases[i].engine);
        mib += known ? 0 : needed + needed / 2;
    }
    return mib;
}

static void queues_make(void)
{
    bool wanted = false;

    for (unsigned i = 0; i < n_cases; i++)
        wanted |= cases[i].queue;
    for (unsigned p = 0; wanted && p < SOURCE_PORTS; p++)
        port_queue[p] = router_queue_new(ROUTER_FIBS + 1, POOL_SIZE / 8, 0);
}

static void router_start(void)
{
    char width[48];

    if (small_pages)
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    snprintf(width, sizeof width, "--force-max-simd-bitwidth=%s", simd);
    bench_eal_router(memory_mib(), small_pages, (const char *[]){width, NULL});
    pool =
        packet_pool_new("packets", POOL_SIZE, 256, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, false);
    pipe_ring = rte_ring_create("pipe", PIPE_SIZE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    bench_check(pool && pipe_ring, "no memory for packets");
    for (unsigned p = 0; p < SOURCE_PORTS; p++) {
        port_id[p] = source_port_new(p, pool);
        lines[p] = memory_huge((size_t)TRAFFIC_LINES * SOURCE_LINE);
    }
    addresses = memory_huge((TRAFFIC_LINES + BURST) * sizeof *addresses);
    router_init(port_id);
    for (unsigned i = 0; i < n_cases; i++)
        bench_check((cases[i].fib = router_fib_get(cases[i].table, cases[i].engine)),
                    "the table does not fit into: %s", cases[i].text);
    queues_make();
    rcu_offline();
}

// --- the answer ---

static void fibs_print(void)
{
    report_open("fibs", '[');
    for (const struct router_fib *f = router_fib; f < router_fib + router_n_fibs; f++) {
        report_open(NULL, '{');
        report_text("table", "%s", f->table);
        report_text("engine", "%s", f->engine);
        report_number("routes", 0, (double)f->routes->n);
        report_number("load_ms", 1, f->load_ms);
        report_number("bytes", 0, (double)f->bytes);
        report_close();
    }
    report_close();
}

static void trial_print(const struct trial *t)
{
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"packets", t->packets}, {"received", t->received}, {"sent", t->sent},
                   {"dropped", t->dropped}, {"offered", t->offered},   {"lost", t->lost}};

    report_open(NULL, '{');
    for (unsigned i = 0; i < RTE_DIM(numbers); i++)
        report_number(numbers[i].key, 0, (double)numbers[i].value);
    report_number("cycles", 0, t->cycles);
    report_number("seconds", 6, t->seconds);
    report_series("delay_us", 3, t->delay_us, 3);
    report_open("stages", '{'); // TSC cycles per packet; empty without forwarder
    for (unsigned k = 0; k < STAGE_N; k++)
        if (t->stage[k].packets)
            report_number(stage_name[k], 2,
                          (double)t->stage[k].cycles / (double)t->stage[k].packets);
    report_close();
    report_close();
}

static void answer_print(void)
{
    report_begin(true);
    report_number("tsc_ghz", 6, (double)rte_get_tsc_hz() / 1e9);
    report_number("cores", 0, n_cores);
    report_bool("huge", eal_has_hugepages());
    report_text("kernel", "%s", fib_kernel_name());
    fibs_print();
    report_open("cases", '[');
    for (const struct path_case *c = cases; c < cases + n_cases; c++) {
        report_open(NULL, '{');
        report_text("case", "%s", c->text);
        report_number("threads", 0, c->threads);
        report_open("trials", '[');
        for (unsigned r = 0; r < rounds; r++)
            trial_print(&c->trial[r]);
        report_close();
        report_close();
    }
    report_close();
    report_end();
}

int main(int argc, char **argv)
{
    cores_read();
    int first = bench_options(argc, argv, options, "CASE...");
    cases_read(argc - first, argv + first);
    router_start();
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < n_cases; i++)
            trial_run(&cases[i], &cases[i].trial[r]);
    answer_print();
    return 0;
}
