// SPDX-License-Identifier: BSD-3-Clause
// forward_bench.c - what one packet costs from rx to tx, in TSC cycles
//
//     forward_bench [--prefixes FILE] [--rounds 21] [--only TEXT | --acl] [--sets] [--quick]
//     [--json] valgrind --tool=callgrind --toggle-collect='forward_poll' forward_bench --only =CASE
//     --polls 2000
//
// --only: the cases whose names contain TEXT, or after "=" the one that is called so. --acl: those
// with packets for access lists, of which "acl-none" has nothing bound. --sets: each case with
// every set of lanes and every lookup kernel that this CPU runs, in place of those that are chosen
// at start. --polls: so many polls a trial instead of a time, and how many packets they were: for
// counting instructions.
//
// The forwarder of the product, its tables written as its managers write them,
// between ports in memory (port.h): a full table, 64 next hops on four
// ports, 64-byte frames. Cases take turns within each round, so that a slow
// hour of the machine slows all of them. "harness" sends packets straight from rx to
// tx: the cost that is in all the others; a forwarder's own share is the difference,
// round by round. "minimal" is the yardstick of peer.c.
#include <getopt.h>
#include <math.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/log.h"
#include "core/eal.h"
#include "core/rcu.h"
#include "fib/fib_bench.h"
#include "forward/lists.h"
#include "forward/peer.h"
#include "forward/port.h"
#include "forwarder/forwarder.h"
#include "forwarder/state.h"
#include "poptrie/poptrie.h"
#include "table/acl.h"
#include "table/acl_log.h"
#include "table/acl.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/vr.h"
#include "table/watch.h"

#define PORTS 4
#define NEXT_HOPS 64
#define LINES (1u << 18)
#define VLAN 7
#define ROUTERS                                                                                    \
    16 // VLANs 7 .. 22, each in a virtual router of its own with the full table; the next 16 share
       // the first one's; 16 more are the first one's own
#define POOL_SIZE 8191
#define SAMPLE_RATE 1000
#define ROUNDS_MAX 101
#define TESTS_MAX 160

static uint16_t port_id[PORTS],
    vport[3 * ROUTERS][PORTS]; // DPDK's ids; the interfaces of the VLANs
static struct forwarder *forwarder;
static const char *prefixes, *only = ""; // file of routes; text in the names of the cases to run
static bool lists_only, all_sets;
static unsigned sampler; // watch
static unsigned rounds = 21, round_ms = 10, polls; // polls: 0 = by time

struct test {
    char *name;
    int family; // 4, 6, 46 = in turn
    unsigned (*poll)(void);
    bool skip, one_flow, computed; // `computed`: checksums not verified by the port
    unsigned tagged, vlan;         // frames are of so many VLANs in turn, from this one on
    enum lists_case lists;
    bool out;                      // of what leaves, not of what comes in
    bool sampled;                  // a watch takes one packet in SAMPLE_RATE, with its reader
    const struct lanes *lanes;     // NULL, POPTRIE_KERNEL_AUTO: as chosen at start
    enum poptrie_kernel kernel;
    uint8_t (*line)[REPLAY_LINE];
    double cycles[ROUNDS_MAX];
};

static unsigned harness_poll(void);
static __rte_noinline unsigned forward_poll(void)
{
    return forwarder_poll(forwarder);
}

static struct test tests[TESTS_MAX] = {
    {.name = "harness", .family = 4, .poll = harness_poll},
    {.name = "IPv4 full table, minimal on rte_fib", .family = 4, .poll = peer_poll},
    {.name = "IPv4 full table", .family = 4, .poll = forward_poll},
    {.name = "IPv4 full table, checksums computed",
     .family = 4,
     .poll = forward_poll,
     .computed = true},
    {.name = "IPv4 full table, VLAN to VLAN",
     .family = 4,
     .poll = forward_poll,
     .tagged = 1,
     .vlan = VLAN},
    {.name = "IPv4 full table, 16 virtual routers by VLAN",
     .family = 4,
     .poll = forward_poll,
     .tagged = ROUTERS,
     .vlan = VLAN},
    {.name = "IPv4 full table, 16 virtual routers with one table",
     .family = 4,
     .poll = forward_poll,
     .tagged = ROUTERS,
     .vlan = VLAN + ROUTERS},
    {.name = "IPv4 full table, 16 VLANs of one virtual router",
     .family = 4,
     .poll = forward_poll,
     .tagged = ROUTERS,
     .vlan = VLAN + 2 * ROUTERS},
    {.name = "IPv4 one flow", .family = 4, .poll = forward_poll, .one_flow = true},
    {.name = "IPv4 full table, 1 in 1000 sampled",
     .family = 4,
     .poll = forward_poll,
     .sampled = true},
    {.name = "IPv6 full table", .family = 6, .poll = forward_poll},
    {.name = "IPv4 and IPv6 in turn", .family = 46, .poll = forward_poll},
    {.name = "IPv4 full table, acl-none", .family = 4, .poll = forward_poll, .lists = LISTS_NONE},
    {.name = "IPv4 full table, acl-empty", .family = 4, .poll = forward_poll, .lists = LISTS_EMPTY},
    {.name = "IPv4 full table, acl-empty-out",
     .family = 4,
     .poll = forward_poll,
     .lists = LISTS_EMPTY,
     .out = true},
    {.name = "IPv4 full table, acl-blocklist",
     .family = 4,
     .poll = forward_poll,
     .lists = LISTS_BLOCKLIST},
    {.name = "IPv4 full table, acl-full", .family = 4, .poll = forward_poll, .lists = LISTS_FULL},
};

static unsigned n_tests;

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "forward_bench: %s\n", what);
    exit(1);
}

// --- the router ---

static void be(enum thread_role role)
{
    thread_adopt(role, role == ROLE_RIB_MANAGER ? THREAD_SLOT_RIB_MANAGER : THREAD_SLOT_CONTROL);
}

static uint16_t iface_make(unsigned p, uint16_t vlan)
{
    char name[16];

    be(ROLE_CONTROL);
    snprintf(name, sizeof name, "p%u.%u", p, vlan);
    struct iface *i = iface_new(name);
    memcpy(i->mac, (uint8_t[6]){2, 0, 0, 1, 0, (uint8_t)p}, 6);
    i->port = port_id[p];
    i->vlan = vlan;
    i->mtu = 1500;
    i->kind = vlan ? IFACE_VPORT : IFACE_PORT;
    i->flags |= IFACE_UP;
    if (vlan)
        port_get(port_id[p])->vlan_iface[vlan] = i->id;
    else
        port_get(port_id[p])->untagged = i->id;
    return i->id;
}

// Routes of one family to next hops 1..64, which lie on the ports in turn.
static void routes_load(const struct table *t, uint16_t vr, const uint32_t *nh)
{
    struct fib_route *r = calloc(t->n, sizeof *r);
    struct fib *fib = t->family == 4 ? vr_get(vr)->fib4 : vr_get(vr)->fib6;

    for (size_t i = 0; i < t->n; i++) {
        r[i].prefix.family = t->family == 4 ? IP4 : IP6;
        r[i].prefix.len = t->route[i].len;
        memcpy(r[i].prefix.b, t->route[i].key, t->family == 4 ? 4 : 16);
        r[i].nexthop = nh[t->route[i].value - 1];
    }
    be(ROLE_RIB_MANAGER);
    check(!fib_load(fib, r, t->n), "the FIB does not take the table");
    fib_commit(fib);
    free(r);
}

static void router_make(const struct table *t4, const struct table *t6)
{
    uint32_t plain[NEXT_HOPS], tagged[NEXT_HOPS];
    char name[16];

    be(ROLE_CONTROL);
    check(!counter_init() && !port_table_init() && !iface_table_init() && !nexthop_table_init() &&
              !vr_table_init() && !plan_init() && !acl_table_init() && !acl_log_init() &&
              !exchange_init(2047, RTE_MBUF_DEFAULT_BUF_SIZE),
          "no memory for the tables");
    check(vr_new("default"), "no memory for the virtual router");
    for (unsigned v = 0; v < 2 * ROUTERS; v++) {
        snprintf(name, sizeof name, "vr%u", v);
        check(vr_new(name), "no memory for the virtual routers");
    }
    uint16_t own[PORTS];
    for (unsigned p = 0; p < PORTS; p++) {
        own[p] = iface_make(p, 0);
        for (unsigned v = 0; v < 3 * ROUTERS; v++) {
            vport[v][p] = iface_make(p, (uint16_t)(VLAN + v));
            iface_get(vport[v][p])->vr = v < 2 * ROUTERS ? (uint16_t)(1 + v) : 1;
        }
    }
    for (unsigned p = 0; p < PORTS; p++)
        iface_get(own[p])->policy.sample = IFACE_SAMPLE_SFLOW;
    int w = watch_new(&(struct watch){.to = WATCH_TO_SLOTS,
                                      .port = PORT_NONE,
                                      .snap = 128,
                                      .every = SAMPLE_RATE,
                                      .seed = 1,
                                      .sample = IFACE_SAMPLE_SFLOW},
                      1024);
    check(w >= 0, "no memory for samples");
    sampler = (unsigned)w;
    be(ROLE_RIB_MANAGER);
    for (unsigned k = 0; k < NEXT_HOPS; k++) {
        const uint8_t mac[6] = {2, 0, 0, 2, 0, (uint8_t)k};
        plain[k] = nexthop_new(NEXTHOP_HOLD, own[k % PORTS]);
        nexthop_set_adjacency(plain[k], own[k % PORTS], mac);
    }
    routes_load(t4, 0, plain);
    routes_load(t6, 0, plain);
    for (unsigned v = 0; v < ROUTERS; v++) {
        for (unsigned k = 0; k < NEXT_HOPS; k++) {
            tagged[k] = nexthop_new(NEXTHOP_HOLD, vport[v][k % PORTS]);
            nexthop_set_adjacency(tagged[k], vport[v][k % PORTS],
                                  (const uint8_t[6]){2, 0, 0, 2, (uint8_t)v, (uint8_t)k});
        }
        routes_load(t4, (uint16_t)(1 + v), tagged);
    }
    for (unsigned v = ROUTERS; v < 2 * ROUTERS; v++)
        vr_publish(vr_get((uint16_t)(1 + v)), IP4, vr_get(1)->fib4);
    static struct plan plan;
    plan.n_rx = 2;
    for (unsigned p = 0; p < PORTS; p++)
        plan.rx[p] = (struct plan_rx){port_id[p], 0};
    rcu_publish(&forwarder_slot[0].plan, &plan);
    thread_adopt(ROLE_FORWARDER, THREAD_SLOT_FORWARDER);
    forwarder = forwarder_new(0);
    check(forwarder, "no memory for the forwarder");
}

// --- the packets ---

// A prefix of the table may cover 169.254/16, which is not forwarded.
static bool is_forwarded(const struct traffic *a, unsigned i)
{
    const uint8_t *dst = (const uint8_t *)&a->net[i];

    return dst[0] != 169 || dst[1] != 254;
}

static void line_write(uint8_t *p, const struct test *t, bool is4, const struct traffic *a,
                       unsigned i)
{
    while (!is_forwarded(a, i))
        i = i ? i - 1 : LINES - 1;
    // Line i is received by one of two ports, whichever polls: both have the MAC of port 0 (see
    // main).
    memcpy(p, (uint8_t[12]){2, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0}, 12);
    p += 12;
    if (t->tagged) {
        memcpy(p, (uint8_t[4]){0x81, 0, 0, (uint8_t)(t->vlan + i % t->tagged)}, 4);
        p += 4;
    }
    if (is4) {
        memcpy(p, (uint8_t[22]){8, 0, 0x45, 0, 0, 42, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1},
               18);
        memcpy(p + 18, &a->net[t->one_flow ? 0 : i], 4);
        if (t->lists)
            lists_packet(p + 14, p + 22);
        uint16_t sum = checksum(p + 2, 20);
        memcpy(p + 12, &sum, 2);
    } else {
        memcpy(p,
               (uint8_t[26]){0x86, 0xdd, 0x60, 0, 0, 0, 0, 6, 59, 64, 0x20, 1, 0xd, 0xb8, [25] = 1},
               26);
        memcpy(p + 26, a->ip6[t->one_flow ? 0 : i], 16);
    }
}

static void lines_make(struct test *t, const struct traffic *a)
{
    t->line = memory_huge((size_t)LINES * REPLAY_LINE);
    for (unsigned i = 0; i < LINES; i++)
        line_write(t->line[i], t, t->family == 4 || (t->family != 6 && i % 2 == 0), a, i);
}

static struct traffic traffic_new(const struct table *t4, const struct table *t6)
{
    struct traffic a = {.host = memory_huge(N_ADDRESSES * 4ul),
                        .net = memory_huge(N_ADDRESSES * 4ul),
                        .ip6 = memory_huge(N_ADDRESSES * 16ul)};

    traffic_make(t4, PREFIX, &a);
    traffic_make(t6, PREFIX, &a);
    return a;
}

// --- the measurement ---

// What is in all figures: buffers, lines, the calls into the driver.
static unsigned harness_poll(void)
{
    struct rte_mbuf *pkt[64];
    unsigned sent = 0;

    for (unsigned p = 0; p < 2; p++) {
        uint16_t n = rte_eth_rx_burst(port_id[p], 0, pkt, 64);
        sent += rte_eth_tx_burst(port_id[p], 0, pkt, n);
    }
    return sent;
}

// CPU time of this thread in TSC cycles: what others do on the core in the meantime does not count.
static double cycles_used(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return ((double)t.tv_sec + (double)t.tv_nsec / 1e9) * (double)rte_get_tsc_hz();
}

static void lists_bind(const struct test *t)
{
    be(ROLE_CONTROL);
    for (unsigned p = 0; p < PORTS; p++) {
        iface_bind_acl(iface_get(port_get(port_id[p])->untagged), t->out ? 0 : lists_id(t->lists),
                       t->out ? lists_id(t->lists) : 0);
        for (unsigned v = 0; v < ROUTERS; v++)
            iface_bind_acl(iface_get(vport[v][p]), 0, t->out ? lists_id(t->lists) : 0);
    }
    thread_adopt(ROLE_FORWARDER, THREAD_SLOT_FORWARDER);
}

// What the exporter does first: takes the samples, and gives the slots back.
static void samples_read(void)
{
    struct watch_slot *slot[64];

    watch_give_back(sampler, slot, watch_take(sampler, slot, 64));
}

static double cycles_per_packet(const struct test *t)
{
    double end = (double)rte_get_tsc_hz() / 1000 * round_ms, start, now;
    uint64_t packets = 0;

    lists_bind(t);
    forwarder->lanes = t->lanes ? t->lanes : lanes_choose(0);
    (void)poptrie_set_kernel(t->kernel, 0);
    replay = (struct replay){.line = (const uint8_t(*)[REPLAY_LINE])t->line,
                             .n_lines = LINES,
                             .bytes = 60,
                             .ol_flags = t->computed ? 0 : RTE_MBUF_F_RX_IP_CKSUM_GOOD};
    for (unsigned p = 0; p < PORTS; p++)
        watch_bit_set(&port_get(port_id[p])->watch_rx, sampler, t->sampled);
    for (unsigned i = 0; i < 100; i++) // warm
        (void)t->poll();
    uint64_t sent = replay_sent;
    start = now = cycles_used();
    for (unsigned done = 0; polls ? done < polls : now - start < end;
         done += 50, now = cycles_used()) {
        for (unsigned i = 0; i < 50; i++)
            packets += t->poll();
        if (t->sampled)
            samples_read();
    }
    if (polls)
        printf("%-38s %lu packets in %u polls, and a warm-up of 100 polls\n", t->name, packets,
               polls);
    rcu_quiescent();
    check(replay_sent - sent == packets, "not every packet was forwarded");
    return (now - start) / (double)packets;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report_text(void)
{
    double ghz = (double)rte_get_tsc_hz() / 1e9;

    printf("%-80s %8s %8s %8s %8s %8s\n", "TSC cycles a packet", "median", "min", "max", "net",
           "Mpps");
    for (struct test *t = tests; t < tests + n_tests; t++) {
        double v[ROUNDS_MAX], net[ROUNDS_MAX];
        if (t->skip)
            continue;
        for (unsigned r = 0; r < rounds; r++)
            net[r] = t->cycles[r] - tests[0].cycles[r];
        memcpy(v, t->cycles, sizeof v);
        qsort(v, rounds, sizeof *v, by_value);
        qsort(net, rounds, sizeof *net, by_value);
        printf("%-80s %8.1f %8.1f %8.1f %8.1f %8.1f\n", t->name, v[rounds / 2], v[0], v[rounds - 1],
               net[rounds / 2], ghz * 1e3 / v[rounds / 2]);
    }
}

static void report_json(void)
{
    printf("{\"results\": [\n");
    const char *comma = "";
    for (struct test *t = tests + 1; t < tests + n_tests; t++) {
        if (t->skip)
            continue;
        bool peer = t->poll == peer_poll;
        printf("%s  {\"what\": \"forward 64 B, %s\", \"variant\": \"%s\", \"unit\": "
               "\"cycles/packet\", \"values\": [",
               comma, peer ? "IPv4 full table" : t->name,
               peer ? "minimal forwarder on rte_fib" : "kamueed");
        comma = ",\n";
        for (unsigned r = 0; r < rounds; r++)
            printf("%s%.2f", r ? ", " : "", t->cycles[r] - tests[0].cycles[r]);
        printf("]}");
    }
    double v[ROUNDS_MAX];
    memcpy(v, tests[0].cycles, sizeof v);
    qsort(v, rounds, sizeof *v, by_value);
    printf("],\n \"harness_cycles\": %.2f,\n \"notes\": [\"forward: cycles are of the TSC (%.2f "
           "GHz), less the harness's %.1f\"]}\n",
           v[rounds / 2], (double)rte_get_tsc_hz() / 1e9, v[rounds / 2]);
}

static bool wanted(const struct test *t)
{
    const char *name = t->name;

    if (lists_only)
        return t->lists;
    return *only == '=' ? !strcmp(name, only + 1) : strstr(name, only) != NULL;
}

static bool options_read(int argc, char **argv)
{
    static const struct option known[] = {
        {"prefixes", 1, NULL, 'p'}, {"rounds", 1, NULL, 'r'}, {"only", 1, NULL, 'o'},
        {"polls", 1, NULL, 'n'},    {"quick", 0, NULL, 'q'},  {"json", 0, NULL, 'j'},
        {"acl", 0, NULL, 'a'},      {"sets", 0, NULL, 's'},   {0}};
    bool json = false;

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'p')
            prefixes = optarg;
        else if (c == 'r')
            rounds = (unsigned)atoi(optarg);
        else if (c == 'o')
            only = optarg;
        else if (c == 'n')
            polls = (unsigned)atoi(optarg);
        else if (c == 'a')
            lists_only = true;
        else if (c == 's')
            all_sets = true;
        else if (c == 'q')
            rounds = 7;
        else if (c == 'j')
            json = true;
        else
            exit(2);
    }
    check(rounds >= 1 && rounds <= ROUNDS_MAX, "--rounds is 1 to 101");
    return json;
}

// The wanted cases once more with these lanes and this kernel, where they run.
static void set_add(unsigned n, const char *lanes, enum poptrie_kernel kernel)
{
    if (!lanes_of(lanes) || poptrie_set_kernel(kernel, 0))
        return;
    for (unsigned i = 1; i < n; i++) {
        struct test *t = &tests[n_tests];
        if (tests[i].poll != forward_poll || tests[i].skip)
            continue;
        check(n_tests < TESTS_MAX && asprintf(&t->name, "%s, lanes %s, kernel %s", tests[i].name,
                                              lanes, poptrie_kernel_name()) > 0,
              "too many cases");
        char *name = t->name;
        *t = tests[i];
        t->name = name;
        t->lanes = lanes_of(lanes);
        t->kernel = kernel;
        n_tests++;
    }
}

// What runs: the wanted cases; with --sets, those in all ways.
static void tests_choose(void)
{
    while (tests[n_tests].name)
        n_tests++;
    for (unsigned i = 1; i < n_tests; i++)
        tests[i].skip = !wanted(&tests[i]);
    if (!all_sets)
        return;
    unsigned n = n_tests;
    for (int k = POPTRIE_KERNEL_SCALAR; k < POPTRIE_KERNELS; k++)
        set_add(n, lanes_of("avx512") ? "avx512-loads" : "avx2", (enum poptrie_kernel)k);
    set_add(n, "avx512", POPTRIE_KERNEL_AVX512_VPOPCNT);
    set_add(n, "scalar", POPTRIE_KERNEL_AUTO);
}

int main(int argc, char **argv)
{
    bool json = options_read(argc, argv);
    struct table t4 = {0}, t6 = {0};
    char name[32], err[256];
    struct eal_config cfg = {.name = name, .memory_mib = 512};

    log_set_level(LOG_LEVEL_WARNING);
    snprintf(name, sizeof name, "forward-bench-%d", getpid());
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    rcu_init();
    rcu_thread_register();
    check(!eal_init(&cfg, err, sizeof err), err);
    struct rte_mempool *pool =
        packet_pool_new("replay", POOL_SIZE, 256, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, false);
    check(pool, "no memory for packets");
    for (unsigned p = 0; p < PORTS; p++)
        port_id[p] = replay_port_new(p, pool);
    check(!table_make(&t4, "full", 4, prefixes) && !table_make(&t6, "full", 6, prefixes),
          "no routes in that file");
    table_next_hops(&t4, NEXT_HOPS);
    table_next_hops(&t6, NEXT_HOPS);
    router_make(&t4, &t6);
    check(!peer_make(&t4, port_id, NEXT_HOPS), "rte_fib does not take the table");
    // Both receiving ports and their sub-interfaces answer to one MAC, so that either may get any
    // line.
    memcpy(iface_get(port_get(port_id[1])->untagged)->mac,
           iface_get(port_get(port_id[0])->untagged)->mac, 6);
    for (unsigned v = 0; v < 3 * ROUTERS; v++)
        memcpy(iface_get(vport[v][1])->mac, iface_get(vport[v][0])->mac, 6);
    struct traffic a = traffic_new(&t4, &t6);
    lists_make();
    tests_choose();
    for (unsigned i = 0; i < n_tests; i++) {
        if (!tests[i].skip)
            lines_make(&tests[i], &a);
    }
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < n_tests; i++)
            if (!tests[i].skip)
                tests[i].cycles[r] = cycles_per_packet(&tests[i]);
    json ? report_json() : report_text();
    return 0;
}
