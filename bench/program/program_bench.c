// SPDX-License-Identifier: BSD-3-Clause
// program_bench.c - what a packet program adds to a packet
//
//     program_bench [OPTIONS] TARGET:PROGRAM:FILE...     dscp, syn-guard: what fills their tables
//
// A burst of 64 buffers goes through one forwarder again and again: written anew, received from a
// ring, sent into a ring, as in tunnel_bench.c. Each program is at hook input of a virtual router
// of its own; a case is compared with a virtual router without one, round by round: the same
// packets, each by a default route. So all is counted that a program costs: copying packets into
// the sandbox, the call, the program, its verdicts. Cycles are TSC cycles of CPU time.
//
// Program syn-guard has a million sources in its table, and SYNs come from all of them.
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "core/rcu.h"
#include "forwarder/forwarder.h"
#include "forwarder/packet.h"
#include "lib/bench.h"
#include "lib/eal.h"
#include "lib/frame.h"
#include "lib/report.h"
#include "lib/router.h"
#include "lib/stat.h"
#include "program_manager/program_manager.h"
#include "table/exchange.h"
#include "table/fib.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/vr.h"

#define BURST 64
#define FLOWS 65536u
#define SOURCES 1000000u
#define BYTES 60u // of a frame
#define CASES_MAX 17
#define SYN 2

static struct rte_ring *to_router, *from_router;
static struct rte_mbuf *buffer[BURST];
static struct forwarder *forwarder;
static struct plan plan;
static uint16_t port, way_in;
static unsigned rounds = 21, round_ms = 20, polls, n_cases = 1;
static bool json;
static uint8_t (*line)[64];

static struct test { // the first one: no program
    char target[16], program[32];
    double cycles[ROUNDS_MAX];
} tests[CASES_MAX] = {{"none", "none", {0}}};

// --- the router ---

static void route_all(uint16_t vr, uint32_t nexthop)
{
    const struct prefix all = {.family = IP4};

    router_role(ROLE_RIB_MANAGER);
    bench_check(!fib_set(vr_get(vr)->fib4, &all, nexthop), "no memory for a route");
    fib_commit(vr_get(vr)->fib4);
    router_role(ROLE_CONTROL);
}

static void router_make(void)
{
    bench_check(!router_tables_init(4095), "no memory for the tables");
    to_router = rte_ring_create("to", 256, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    from_router = rte_ring_create("from", 256, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    int id = router_port_new("bench", &to_router, &from_router, 1, 256, exchange_pool);
    bench_check(id >= 0, "no port");
    port = (uint16_t)id;
    way_in = router_iface_new("p0", port, 0, 0, (uint8_t[6]){2, 0, 0, 1, 0, 0})->id;
    plan.n_rx = 1;
    plan.rx[0] = (struct plan_rx){port, 0};
    memset(plan.tx_owner, PLAN_TX_NONE, sizeof plan.tx_owner);
    plan.tx_owner[port] = 0;
    rcu_publish(&forwarder_slot[0].plan, &plan);
}

static void routers_make(void)
{
    uint32_t adjacency = router_adjacency_new(way_in, (uint8_t[6]){2, 0, 0, 2, 0, 0});
    char name[16];

    router_role(ROLE_CONTROL);
    for (unsigned k = 0; k < n_cases; k++) {
        snprintf(name, sizeof name, "v%u", k);
        bench_check(vr_new(name), "no memory for the virtual routers");
        route_all(vr_find(name)->id, adjacency);
    }
    vr_count = 1; // a process that waits for its core looks overloaded: no shares of it, no drops
}

// --- packets ---

// Source k, in 10.0.0.0/8, also as the key of the program's table.
static uint32_t source_of(unsigned k)
{
    return rte_cpu_to_be_32(0x0a000000 + k);
}

static void lines_make(void)
{
    line = calloc(FLOWS, sizeof *line);
    bench_check(line, "no memory for packets");
    for (unsigned i = 0; i < FLOWS; i++) {
        uint8_t *ip = line[i] + ETHER_HDR;
        uint32_t src = source_of((unsigned)(bench_random() % SOURCES)),
                 dst = rte_cpu_to_be_32(0x14000000 + i * 4096);
        memcpy(line[i], iface_get(way_in)->mac, 6);
        store16(ip - 2, ETHER_TYPE_IP4);
        frame_ip4(ip, BYTES - ETHER_HDR, (const uint8_t *)&src, &dst);
        ip[9] = PROTO_TCP;
        ip[IP4_HDR + 12] = 5 << 4;
        ip[IP4_HDR + 13] = SYN;
        store16(ip + 10, 0);
        store16(ip + 10, checksum(ip, IP4_HDR));
    }
}

// --- programs ---

static struct program_table *table_of(const struct program_status *s, const char *name)
{
    for (unsigned t = 0; t < s->declared->n_tables; t++)
        if (!strcmp(s->declared->table[t].name, name))
            return s->table[t];
    return NULL;
}

static void tables_fill(const char *name)
{
    struct program_status s;
    struct program_table *t;

    bench_check(program_manager_find(name, &s), "no program %s", name);
    if ((t = table_of(&s, "limit")))
        program_table_put(t, 0, UINT32_MAX);
    if ((t = table_of(&s, "syn")))
        for (unsigned k = 0; k < SOURCES; k++)
            program_table_put(t, source_of(k), 0);
    if ((t = table_of(&s, "class")))
        for (unsigned dscp = 0; dscp < 64; dscp++)
            program_table_put(t, dscp, dscp >> 3);
}

static void program_add(unsigned k, const char *file)
{
    struct program_config c = {.hook = PROGRAM_INPUT, .fault_drops = true};
    char err[1024];

    snprintf(c.name, sizeof c.name, "%u", k);
    snprintf(c.vr, sizeof c.vr, "v%u", k);
    snprintf(c.file, sizeof c.file, "%s", file);
    c.target = strcmp(tests[k].target, "operator") ? PROGRAM_TENANT : PROGRAM_OPERATOR;
    bench_check(!program_manager_add(&c, err, sizeof err), "%s", err);
    tables_fill(c.name);
}

static const char *case_read(struct test *t, const char *text)
{
    const char *second = strchr(text, ':'), *third = second ? strchr(second + 1, ':') : NULL;

    bench_check(third, "'%s': expected TARGET:PROGRAM:FILE", text);
    snprintf(t->target, sizeof t->target, "%.*s", (int)(second - text), text);
    snprintf(t->program, sizeof t->program, "%.*s", (int)(third - second - 1), second + 1);
    return third + 1;
}

// --- the measurement ---

static void burst_write(unsigned first)
{
    for (unsigned i = 0; i < BURST; i++) {
        struct rte_mbuf *m = buffer[i];
        rte_pktmbuf_reset(m);
        m->data_len = BYTES;
        m->pkt_len = BYTES;
        m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
        memcpy(rte_pktmbuf_mtod(m, uint8_t *), line[(first + i) % FLOWS], sizeof *line);
    }
}

static void poll_once(unsigned k, unsigned first)
{
    burst_write(first);
    rte_ring_enqueue_bulk(to_router, (void **)buffer, BURST, NULL);
    forwarder_poll(forwarder);
    bench_check(rte_ring_dequeue_bulk(from_router, (void **)buffer, BURST, NULL) == BURST,
                "%s %s: not every packet was forwarded", tests[k].target, tests[k].program);
}

static double cycles_per_packet(unsigned k)
{
    const double hz = (double)rte_get_tsc_hz(), end = hz / 1000 * round_ms;
    uint64_t packets = 0;
    char name[16];

    snprintf(name, sizeof name, "v%u", k);
    router_role(ROLE_CONTROL);
    iface_set_vr(iface_get(way_in), vr_find(name)->id);
    router_role(ROLE_FORWARDER);
    for (unsigned i = 0; i < 100; i++)
        poll_once(k, i * BURST);
    double start = bench_cpu_s() * hz, now = start;
    for (unsigned done = 0; polls ? done < polls : now - start < end;
         done += 50, now = bench_cpu_s() * hz)
        for (unsigned i = 0; i < 50; i++, packets += BURST)
            poll_once(k, (done + i) * BURST);
    rcu_quiescent();
    return (now - start) / (double)packets;
}

// --- the answer ---

static void people_report(void)
{
    printf("%-12s %-12s %10s %10s %10s\n", "TSC cycles", "", "median", "added", "spread");
    for (unsigned k = 0; k < n_cases; k++) {
        double added[ROUNDS_MAX];
        for (unsigned r = 0; r < rounds; r++)
            added[r] = tests[k].cycles[r] - tests[0].cycles[r];
        printf("%-12s %-12s %10.1f %10.1f %10.1f\n", tests[k].target, tests[k].program,
               stat_median(tests[k].cycles, rounds), stat_median(added, rounds),
               stat_quantile(added, rounds, 0.75) - stat_quantile(added, rounds, 0.25));
    }
}

static void programs_report(void)
{
    report_begin(true);
    report_open("results", '[');
    for (unsigned k = 0; k < n_cases; k++) {
        report_open(NULL, '{');
        report_text("what", "program %s %s", tests[k].target, tests[k].program);
        report_text("variant", "kamueed");
        report_text("target", "%s", tests[k].target);
        report_text("program", "%s", tests[k].program);
        report_text("unit", "cycles/packet");
        report_series("values", 2, tests[k].cycles, rounds);
        report_close();
    }
    report_close();
    report_end();
}

static void quick_set(const char *unused)
{
    rounds = 9;
    round_ms = 10;
}

static const struct bench_option options[] = {OPTION_NUMBER("rounds", &rounds, 1, ROUNDS_MAX),
                                              OPTION_NUMBER("polls", &polls, 0, 0),
                                              OPTION_DO("quick", quick_set),
                                              OPTION_FLAG("json", &json),
                                              {0}};

int main(int argc, char **argv)
{
    int first = bench_options(argc, argv, options, "TARGET:PROGRAM:FILE...");

    n_cases += (unsigned)(argc - first);
    bench_check(n_cases <= CASES_MAX, "too many cases");
    bench_eal_router(512, false, NULL);
    router_make();
    routers_make();
    lines_make();
    for (unsigned k = 1; k < n_cases; k++)
        program_add(k, case_read(&tests[k], argv[first + (int)k - 1]));
    router_role(ROLE_FORWARDER);
    forwarder = forwarder_new(0);
    bench_check(forwarder && !rte_pktmbuf_alloc_bulk(exchange_pool, buffer, BURST),
                "no memory for the forwarder");
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned k = 0; k < n_cases; k++)
            tests[k].cycles[r] = cycles_per_packet(k);
    json ? programs_report() : people_report();
    return 0;
}
