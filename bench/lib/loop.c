// SPDX-License-Identifier: BSD-3-Clause
// loop.c - see loop.h
#include "lib/loop.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdio.h>
#include <string.h>

#include "core/rcu.h"
#include "forwarder/forwarder.h"
#include "lib/report.h"
#include "lib/router.h"
#include "table/exchange.h"
#include "table/fib.h"
#include "table/plan.h"
#include "table/vr.h"

#define WARM_POLLS 100u
#define POLLS_AT_ONCE 50u // between two reads of the clock

struct loop_settings loop = {.rounds = 21, .round_ms = 20};

static struct rte_ring *to_router, *from_router;
static struct rte_mbuf *buffer[LOOP_BURST];
static struct forwarder *forwarder;
static struct plan plan;

void loop_quick(const char *unused)
{
    loop.rounds = 9;
    loop.round_ms = 10;
}

uint16_t loop_router(void)
{
    bench_check(!router_tables_init(4095), "no memory for the tables");
    to_router = rte_ring_create("to", 256, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    from_router = rte_ring_create("from", 256, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    int port = router_port_new("bench", &to_router, &from_router, 1, 256, exchange_pool);
    bench_check(port >= 0, "no port");
    plan.n_rx = 1;
    plan.rx[0] = (struct plan_rx){(uint16_t)port, 0};
    memset(plan.tx_owner, PLAN_TX_NONE, sizeof plan.tx_owner);
    plan.tx_owner[port] = 0;
    rcu_publish(&forwarder_slot[0].plan, &plan);
    return router_iface_new("p0", (uint16_t)port, 0, 0, (uint8_t[6]){2, 0, 0, 1, 0, 0})->id;
}

void loop_route_all(uint16_t vr, uint32_t nexthop)
{
    const struct prefix all = {.family = IP4};

    router_role(ROLE_RIB_MANAGER);
    bench_check(!fib_set(vr_get(vr)->fib4, &all, nexthop), "no memory for a route");
    fib_commit(vr_get(vr)->fib4);
    router_role(ROLE_CONTROL);
}

// --- the measurement ---

static inline __attribute__((always_inline)) void write_frames(const struct loop_case *c,
                                                               unsigned first, size_t copied)
{
    const uint8_t *frame = c->frame;
    const size_t stride = c->stride;
    const unsigned last = c->n - 1;
    const uint16_t bytes = (uint16_t)c->bytes;

    for (unsigned i = 0; i < LOOP_BURST; i++) {
        struct rte_mbuf *m = buffer[i];
        rte_pktmbuf_reset(m);
        m->data_len = bytes;
        m->pkt_len = bytes;
        m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
        memcpy(rte_pktmbuf_mtod(m, uint8_t *), frame + ((first + i) & last) * stride, copied);
    }
}

static void burst_write(const struct loop_case *c, unsigned first)
{
    if (c->stride <= 64)
        write_frames(c, first, 64);
    else
        write_frames(c, first, 128);
}

// Number of packets of the burst that have been sent.
static unsigned poll_burst(const struct loop_case *c, unsigned first)
{
    burst_write(c, first);
    rte_ring_enqueue_bulk(to_router, (void **)buffer, LOOP_BURST, NULL);
    forwarder_poll(forwarder);
    return rte_ring_dequeue_burst(from_router, (void **)buffer, LOOP_BURST, NULL);
}

static void poll_once(const struct loop_case *c, unsigned first)
{
    bench_check(poll_burst(c, first) == LOOP_BURST, "%s %s: not every packet was forwarded",
                c->name[0], c->name[1]);
}

// CPU shares of virtual routers (budget.h) are adjusted every ms: until then, packets of this case
// may be dropped because of the last one.
static void warm_up(const struct loop_case *c)
{
    const uint64_t end = rte_rdtsc() + rte_get_tsc_hz() / 200;

    for (unsigned i = 0; i < WARM_POLLS || (!loop.polls && rte_rdtsc() < end); i++) {
        unsigned left = poll_burst(c, i * LOOP_BURST);
        bench_check(left == LOOP_BURST ||
                        !rte_pktmbuf_alloc_bulk(exchange_pool, buffer + left, LOOP_BURST - left),
                    "no memory for packets");
    }
}

static double cycles_per_packet(const struct loop_case *c)
{
    const double hz = (double)rte_get_tsc_hz(), end = hz / 1000 * loop.round_ms;
    uint64_t packets = 0;

    warm_up(c);
    double start = bench_cpu_s() * hz, now = start;
    for (unsigned done = 0; loop.polls ? done < loop.polls : now - start < end;
         done += POLLS_AT_ONCE, now = bench_cpu_s() * hz)
        for (unsigned i = 0; i < POLLS_AT_ONCE; i++, packets += LOOP_BURST)
            poll_once(c, (done + i) * LOOP_BURST);
    rcu_quiescent();
    return (now - start) / (double)packets;
}

void loop_measure(struct loop_case *cases, unsigned n, void (*begin)(unsigned k))
{
    router_role(ROLE_FORWARDER);
    forwarder = forwarder_new(0);
    bench_check(forwarder && !rte_pktmbuf_alloc_bulk(exchange_pool, buffer, LOOP_BURST),
                "no memory for the forwarder");
    for (unsigned r = 0; r < loop.rounds; r++)
        for (unsigned k = 0; k < n; k++) {
            if (!cases[k].frame)
                continue;
            router_role(ROLE_CONTROL);
            begin(k);
            router_role(ROLE_FORWARDER);
            cases[k].cycles[r] = cycles_per_packet(&cases[k]);
        }
}

// --- the answer ---

static void report_to_people(const struct loop_case *cases, unsigned n)
{
    printf("%-12s %-12s %10s %10s %10s\n", "TSC cycles", "", "median", "added", "spread");
    for (unsigned k = 0; k < n; k++) {
        if (!cases[k].frame)
            continue;
        double added[ROUNDS_MAX];
        for (unsigned r = 0; r < loop.rounds; r++)
            added[r] = cases[k].cycles[r] - cases[0].cycles[r];
        printf("%-12s %-12s %10.1f %10.1f %10.1f\n", cases[k].name[0], cases[k].name[1],
               stat_median(cases[k].cycles, loop.rounds), stat_median(added, loop.rounds),
               stat_quantile(added, loop.rounds, 0.75) - stat_quantile(added, loop.rounds, 0.25));
    }
}

static void report_to_programs(const struct loop_case *cases, unsigned n)
{
    report_begin(true);
    report_open("results", '[');
    for (unsigned k = 0; k < n; k++) {
        if (!cases[k].frame)
            continue;
        report_open(NULL, '{');
        report_text("what", "%s %s %s", loop.word, cases[k].name[0], cases[k].name[1]);
        report_text("variant", "kamueed");
        report_text(loop.key[0], "%s", cases[k].name[0]);
        report_text(loop.key[1], "%s", cases[k].name[1]);
        report_text("unit", "cycles/packet");
        report_series("values", 2, cases[k].cycles, loop.rounds);
        report_close();
    }
    report_close();
    report_end();
}

void loop_report(const struct loop_case *cases, unsigned n)
{
    loop.json ? report_to_programs(cases, n) : report_to_people(cases, n);
}
