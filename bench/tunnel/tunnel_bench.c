// SPDX-License-Identifier: BSD-3-Clause
// tunnel_bench.c - what a tunnel adds to a packet, each kind in each direction
//
// A burst of 64 buffers goes through one forwarder again and again: written anew, received from a
// ring, sent into a ring. A case is compared with the plain one, round by round: the same packets,
// which are routed by one default route and no tunnel. Cycles are TSC cycles of CPU time.
//
//     plain   vr "plain":  default route -> adjacency
//     encap   vr "in":     default route -> tunnel -> vr "under": adjacency
//     decap   vr "under":  the local end -> vr "out": default route -> adjacency
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
#include "table/exchange.h"
#include "table/fib.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/tunnel.h"
#include "table/vr.h"

#define BURST 64
#define FLOWS 4096u
#define INNER 46u // bytes of the packets that are carried: 60 with their Ethernet header
#define LINE 192u

static struct rte_ring *to_router, *from_router;
static struct rte_mbuf *buffer[BURST];
static struct forwarder *forwarder;
static struct plan plan;
static uint16_t port, way_in;
static unsigned rounds = 21, round_ms = 20, polls;
static bool json;
static const char *only = "";

enum { PLAIN_VR = 1, IN_VR, UNDER_VR, OUT_VR };

struct test {
    const char *kind, *direction;
    struct tunnel_settings settings; // there, from us
    bool decap;
    uint16_t vlan;
    unsigned bytes; // of its frames
    uint8_t (*line)[LINE];
    double cycles[ROUNDS_MAX];
};

#define KIND(name, k, v6, key_, zero)                                                              \
    {.kind = name,                                                                                 \
     .direction = "encap",                                                                         \
     .settings = {.id = {.kind = k, .family = v6 ? IP6 : IP4, .key = key_},                        \
                  .ttl = 64,                                                                       \
                  .zero_checksum = zero}},                                                         \
    {                                                                                              \
        .kind = name, .direction = "decap", .decap = true, .settings = {                           \
            .id = {.kind = k, .family = v6 ? IP6 : IP4, .key = key_},                              \
            .ttl = 64,                                                                             \
            .zero_checksum = zero                                                                  \
        }                                                                                          \
    }
static struct test tests[] = {
    {.kind = "plain", .direction = "-"},
    KIND("ipip", TUNNEL_IPIP, false, 0, false),
    KIND("gre", TUNNEL_GRE, false, 0, false),
    KIND("gre-udp", TUNNEL_GRE_UDP, false, 0, false),
    KIND("vxlan", TUNNEL_VXLAN, false, 7, false),
    KIND("4in6", TUNNEL_IPIP, true, 0, false),
    KIND("vxlan-ipv6", TUNNEL_VXLAN, true, 7, true),
};
#define TESTS (sizeof tests / sizeof *tests)

static void route_all(uint16_t vr, uint32_t nexthop)
{
    const struct prefix all = {.family = IP4};

    router_role(ROLE_RIB_MANAGER);
    bench_check(!fib_set(vr_get(vr)->fib4, &all, nexthop), "no memory for a route");
    fib_commit(vr_get(vr)->fib4);
    router_role(ROLE_CONTROL);
}

static void route_local(const uint8_t end[16], uint8_t family)
{
    struct fib *fib = family == IP4 ? vr_get(UNDER_VR)->fib4 : vr_get(UNDER_VR)->fib6;
    struct prefix p = {.family = family, .len = (uint8_t)ip_bits(family)};

    memcpy(p.b, end, 16);
    router_role(ROLE_RIB_MANAGER);
    bench_check(!fib_set(fib, &p, nexthop_new(NEXTHOP_LOCAL, 0)), "no memory for a route");
    fib_commit(fib);
    router_role(ROLE_CONTROL);
}

// Each case has ends of its own.
static void ends_choose(struct tunnel_settings *s, unsigned k)
{
    uint8_t local4[4] = {10, 9, (uint8_t)k, 1},
            local6[16] = {0x20, 1, 0xd, 0xb8, 0, (uint8_t)k, [15] = 1};
    bool four = s->id.family == IP4;

    memcpy(s->id.local, four ? local4 : local6, four ? 4 : 16);
    memcpy(s->id.remote, s->id.local, 16);
    s->id.remote[four ? 3 : 15] = 2;
    s->id.vr = UNDER_VR;
}

static void router_make(uint32_t *adjacency)
{
    static const char *const names[] = {"plain", "in", "under", "out"};
    struct rte_mempool *pool;

    bench_check(!router_tables_init(4095), "no memory for the tables");
    pool = exchange_pool;
    to_router = rte_ring_create("to", 256, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    from_router = rte_ring_create("from", 256, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    int id = router_port_new("bench", &to_router, &from_router, 1, 256, pool);
    bench_check(id >= 0, "no port");
    port = (uint16_t)id;
    for (unsigned k = 0; k < 4; k++)
        bench_check(vr_new(names[k]), "no memory for the virtual routers");
    way_in = router_iface_new("p0", port, 0, 0, (uint8_t[6]){2, 0, 0, 1, 0, 0})->id;
    *adjacency = router_adjacency_new(way_in, (uint8_t[6]){2, 0, 0, 2, 0, 0});
    route_all(PLAIN_VR, *adjacency);
    route_all(OUT_VR, *adjacency);
    plan.n_rx = 1;
    plan.rx[0] = (struct plan_rx){port, 0};
    memset(plan.tx_owner, PLAN_TX_NONE, sizeof plan.tx_owner);
    plan.tx_owner[port] = 0;
    rcu_publish(&forwarder_slot[0].plan, &plan);
}

static void outer_write(uint8_t *p, const struct test *t, unsigned flow)
{
    const struct tunnel *far = tunnel_get(t->vlan); // its header goes the other way: swap the ends
    const unsigned n = far->size, len = t->bytes - ETHER_HDR, four = far->family == IP4;
    uint8_t *ip = p + ETHER_HDR;

    memcpy(ip, far->header + TUNNEL_HEADER - n, n);
    memcpy(ip + (four ? 12 : 8), t->settings.id.remote, four ? 4 : 16);
    memcpy(ip + (four ? 16 : 24), t->settings.id.local, four ? 4 : 16);
    store16(p + 12, four ? ETHER_TYPE_IP4 : ETHER_TYPE_IP6);
    store16(ip + (four ? 2 : 4), rte_cpu_to_be_16((uint16_t)(four ? len : len - IP6_HDR)));
    uint8_t *at = ip + (four ? IP4_HDR : IP6_HDR);
    if (tunnel_is_udp(t->settings.id.kind)) {
        store16(at, (uint16_t)(flow | 0xc0));
        store16(at + 4, rte_cpu_to_be_16((uint16_t)(len - (unsigned)(at - ip))));
        at += 8;
    }
    if (t->settings.id.kind == TUNNEL_IPIP)
        ip[four ? 9 : 6] = 4;
    else if (t->settings.id.kind != TUNNEL_VXLAN)
        store16(at + 2, ETHER_TYPE_IP4);
    if (four) {
        store16(ip + 10, 0);
        store16(ip + 10, checksum(ip, IP4_HDR));
    }
}

static void lines_make(struct test *t)
{
    const unsigned outer =
        t->decap ? tunnel_overhead(t->settings.id.kind, t->settings.id.family, false) : 0;

    t->bytes = ETHER_HDR + outer + INNER;
    t->line = calloc(FLOWS, LINE);
    bench_check(t->line, "no memory for packets");
    for (unsigned i = 0; i < FLOWS; i++) {
        uint8_t *p = t->line[i], *ip = p + ETHER_HDR + outer, src[4] = {192, 0, 2, 1};
        uint32_t dst = rte_cpu_to_be_32(0x14000000 + i * 4096);
        memcpy(p, iface_get(way_in)->mac, 6);
        store16(ip - 2, ETHER_TYPE_IP4); // of an inner Ethernet header, or overwritten
        if (t->decap && tunnel_is_ethernet(t->settings.id.kind))
            memcpy(ip - ETHER_HDR, tunnel_get(t->vlan)->mac, 6);
        frame_ip4(ip, INNER, src, &dst);
        if (t->decap)
            outer_write(p, t, i);
    }
}

static void test_make(struct test *t, unsigned k, uint32_t adjacency)
{
    if (t->settings.id.kind) {
        ends_choose(&t->settings, k);
        uint16_t id = router_tunnel_new(&t->settings, t->decap ? OUT_VR : IN_VR, adjacency);
        bench_check(id, "no tunnel");
        t->vlan = iface_get(id)->vlan;
        if (t->decap)
            route_local(t->settings.id.local, t->settings.id.family);
    }
    lines_make(t);
}

// --- the measurement ---

static void burst_write(const struct test *t, unsigned first)
{
    for (unsigned i = 0; i < BURST; i++) {
        struct rte_mbuf *m = buffer[i];
        rte_pktmbuf_reset(m);
        m->data_len = (uint16_t)t->bytes;
        m->pkt_len = t->bytes;
        m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
        memcpy(rte_pktmbuf_mtod(m, uint8_t *), t->line[(first + i) % FLOWS], 128);
    }
}

static void poll_once(const struct test *t, unsigned first)
{
    burst_write(t, first);
    rte_ring_enqueue_bulk(to_router, (void **)buffer, BURST, NULL);
    forwarder_poll(forwarder);
    bench_check(rte_ring_dequeue_bulk(from_router, (void **)buffer, BURST, NULL) == BURST,
                "%s %s: not every packet was forwarded", t->kind, t->direction);
}

static double cycles_per_packet(const struct test *t)
{
    const double hz = (double)rte_get_tsc_hz(), end = hz / 1000 * round_ms;
    uint64_t packets = 0;

    router_role(ROLE_CONTROL);
    iface_set_vr(iface_get(way_in), !t->settings.id.kind ? PLAIN_VR : t->decap ? UNDER_VR : IN_VR);
    if (t->settings.id.kind && !t->decap)
        route_all(IN_VR, router_adjacency_new(tunnel_get(t->vlan)->iface, (uint8_t[6]){2, 9}));
    router_role(ROLE_FORWARDER);
    for (unsigned i = 0; i < 100; i++)
        poll_once(t, i * BURST);
    double start = bench_cpu_s() * hz, now = start;
    for (unsigned done = 0; polls ? done < polls : now - start < end;
         done += 50, now = bench_cpu_s() * hz)
        for (unsigned i = 0; i < 50; i++, packets += BURST)
            poll_once(t, (done + i) * BURST);
    rcu_quiescent();
    return (now - start) / (double)packets;
}

// Cases are chosen by "KIND DIRECTION", or a part of it; the plain one is always measured.
static bool is_chosen(const struct test *t)
{
    char name[32];

    snprintf(name, sizeof name, "%s %s", t->kind, t->direction);
    return t == tests || strstr(name, only);
}

// --- the answer ---

static void people_report(void)
{
    printf("%-12s %-8s %10s %10s %10s\n", "TSC cycles", "", "median", "added", "spread");
    for (unsigned k = 0; k < TESTS; k++) {
        double added[ROUNDS_MAX];
        for (unsigned r = 0; r < rounds; r++)
            added[r] = tests[k].cycles[r] - tests[0].cycles[r];
        printf("%-12s %-8s %10.1f %10.1f %10.1f\n", tests[k].kind, tests[k].direction,
               stat_median(tests[k].cycles, rounds), stat_median(added, rounds),
               stat_quantile(added, rounds, 0.75) - stat_quantile(added, rounds, 0.25));
    }
}

static void programs_report(void)
{
    report_begin(true);
    report_open("results", '[');
    for (unsigned k = 0; k < TESTS; k++) {
        report_open(NULL, '{');
        report_text("what", "tunnel %s %s", tests[k].kind, tests[k].direction);
        report_text("variant", "kamueed");
        report_text("kind", "%s", tests[k].kind);
        report_text("direction", "%s", tests[k].direction);
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
                                              OPTION_TEXT("only", &only),
                                              OPTION_NUMBER("polls", &polls, 0, 0),
                                              OPTION_DO("quick", quick_set),
                                              OPTION_FLAG("json", &json),
                                              {0}};

int main(int argc, char **argv)
{
    uint32_t adjacency;

    bench_options(argc, argv, options, NULL);
    bench_eal_router(256, false, NULL);
    router_make(&adjacency);
    for (unsigned k = 0; k < TESTS; k++)
        test_make(&tests[k], k, adjacency);
    router_role(ROLE_FORWARDER);
    forwarder = forwarder_new(0);
    bench_check(forwarder && !rte_pktmbuf_alloc_bulk(exchange_pool, buffer, BURST),
                "no memory for the forwarder");
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned k = 0; k < TESTS; k++)
            if (is_chosen(&tests[k]))
                tests[k].cycles[r] = cycles_per_packet(&tests[k]);
    json ? programs_report() : people_report();
    return 0;
}
