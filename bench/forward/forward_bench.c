// SPDX-License-Identifier: BSD-3-Clause
// forward_bench.c - measures TSC cycles of a packet from rx to tx
//
//     forward_bench [--prefixes FILE] [--routes N] [--rounds 41] [--only TEXT | --acl] [--tunnel]
//                   [--labels] [--queue] [--sets] [--quick] [--json] [--steps FILE]
//     valgrind --tool=callgrind --toggle-collect='forward_poll' forward_bench --only =CASE
//              --polls 2000
//
// --only: cases whose names contain TEXT, or after "=" the case with exactly that name. --acl:
// cases with packets for access lists, where "acl-none" has no list bound. --tunnel: a router with
// tunnels; without --only, those cases and the plain one. --labels: the same for MPLS. --queue: 16
// virtual routers that all send by one port, with and without a queue manager on it; no IPv6, no
// peer. --routes: a generated table of N routes instead of the full one. --sets: each case with
// every set of lanes and every lookup kernel of this CPU, instead of the automatic choice. --polls:
// N polls per trial instead of a time; prints the number of packets, for counting instructions.
// --steps: one poll of each case is written down instead, instruction by instruction (steps.h).
//
// The product's forwarder, with tables written as by its managers, between ports in memory
// (lib/port_memory.h): a full table, 64 next hops on four ports, 64-byte frames. Cases take turns
// within each round, in slices of a few milliseconds. "harness" sends packets straight from rx to
// tx: the cost included in all others. Each slice of a case follows one of its harness, and the
// forwarder's own share ("net") is their difference, so that a slow phase of the machine hits both.
// Tunnel frames are longer and have their own harness: on a real machine a NIC writes them, not the
// core. "minimal" is the yardstick of peer.c.
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/hash.h"
#include "core/rcu.h"
#include "forward/lists.h"
#include "forward/peer.h"
#include "forward/steps.h"
#include "forwarder/forwarder.h"
#include "forwarder/packet.h"
#include "forwarder/state.h"
#include "lib/eal.h"
#include "lib/port_memory.h"
#include "lib/report.h"
#include "lib/router.h"
#include "lib/router_fib.h"
#include "lib/router_queue.h"
#include "lib/stat.h"
#include "table/acl.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/label.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/port_queue.h"
#include "table/tunnel.h"
#include "table/vr.h"
#include "table/watch.h"

#define PORTS 4
#define NEXT_HOPS 64
#define LINES (1u << 18)
#define VLAN 7
// VLANs 7 .. 22, each in its own virtual router with the full table; the next 16 share the first
// one's table; 16 more are in the first virtual router.
#define ROUTERS 16
// Two more have only a default route, over a metalink to a virtual router with the full table: the
// first to the default one, for untagged frames; the second, of VLAN 55, to VLAN 7's.
#define LINKED (1 + 2 * ROUTERS)
#define LINKED_VLAN (VLAN + 3 * ROUTERS)
// More virtual routers for untagged frames: one with tunnels' outer packets; the full table with
// next hops at the ends of four tunnels; the same with one next hop.
#define UNDER (LINKED + 2)
#define INTO_TUNNELS (LINKED + 3)
#define INTO_TUNNEL (LINKED + 4)
// With --labels instead: the full table with next hops that push two labels.
#define INTO_LABELS (LINKED + 2)
#define SWAPPED_LABELS 100000 // each with a next hop of its own
#define POPPED_LABEL (LABEL_FIRST + SWAPPED_LABELS)
#define BARE_LABEL (POPPED_LABEL + 1) // and the following: one for each next hop
#define TUNNELS 1000 // the first PORTS tunnels leave by a port each
#define OUT_PORT 2 // of --queue: a port that receives nothing
#define POOL_SIZE 8191
#define FRAME_BYTES 60u // without checksum
#define SAMPLE_RATE 1000
#define FLOW_RATE 8192 // 2000 samples of 16 million packets a second
#define TESTS_MAX 160

static uint16_t port_id[PORTS];                        // DPDK's ids
static uint16_t own[PORTS], vport[3 * ROUTERS][PORTS]; // the interfaces, and the VLANs'
static struct tunnel *tunnel[TUNNELS];                 // VXLAN
static struct forwarder *forwarder;
static const char *prefixes, *routes = "full"; // file; table_make()'s name
static const char *only = "";                  // text in the names of the cases to run
static bool lists_only, tunnel_only, labels_only, queue_only, all_sets, json;
static unsigned sampler;                          // watch
static const char *steps_path;
static FILE *steps;
static unsigned rounds = 41, slice_ms = 3, polls; // polls: 0 = by time

struct test {
    char *name;
    int family; // 4, 6, 46 = in turn
    unsigned (*poll)(void);
    bool skip, one_flow, computed; // `computed`: checksums not verified by the port
    unsigned tagged, vlan;         // frames use this many VLANs in turn, starting at `vlan`
    enum lists_case lists;
    bool out; // output list, not input
    enum queue_case { QUEUE_NO_CASE, UNSHAPED, SHAPED, SHAPED_FLOWS } queue;
    unsigned vr;               // virtual router of untagged frames
    unsigned tunnels;          // frames use this many tunnels in turn
    enum labels_case { NO_LABELS, SWAPPED, PUSHED, POPPED, BARE } labels;
    bool sampled;              // a watch samples one packet in SAMPLE_RATE, and its reader runs
    bool flows;                // the sample of flows is on, as in kamueed: one in FLOW_RATE
    const struct lanes *lanes; // NULL, POPTRIE_KERNEL_AUTO: automatic choice
    enum poptrie_kernel kernel;
    uint8_t *line;
    double cycles[ROUNDS_MAX], base[ROUNDS_MAX]; // base: of its harness, just before
};

enum { HARNESS, HARNESS_TUNNEL, HARNESSES }; // the first tests

static unsigned harness_poll(void);
static __rte_noinline unsigned forward_poll(void)
{
    return forwarder_poll(forwarder);
}

#define FULL4(more, ...)                                                                           \
    {                                                                                              \
        .name = "IPv4 full table" more, .family = 4, .poll = forward_poll, ##__VA_ARGS__           \
    }
static struct test tests[TESTS_MAX] = {
    [HARNESS] = {.name = "harness", .family = 4, .poll = harness_poll},
    [HARNESS_TUNNEL] = {.name = "harness, outer packets of tunnels", .family = 4,
                        .poll = harness_poll, .tunnels = 1},
    {.name = "IPv4 full table, minimal on rte_fib", .family = 4, .poll = peer_poll},
    FULL4(""),
    FULL4(", checksums computed", .computed = true),
    FULL4(", VLAN to VLAN", .tagged = 1, .vlan = VLAN),
    FULL4(", 16 virtual routers by VLAN", .tagged = ROUTERS, .vlan = VLAN),
    FULL4(", 16 virtual routers with one table", .tagged = ROUTERS, .vlan = VLAN + ROUTERS),
    FULL4(", 16 VLANs of one virtual router", .tagged = ROUTERS, .vlan = VLAN + 2 * ROUTERS),
    FULL4(", over a metalink", .vr = LINKED),
    FULL4(", VLAN to VLAN over a metalink", .tagged = 1, .vlan = LINKED_VLAN),
    FULL4(", into 4 VXLAN tunnels", .vr = INTO_TUNNELS),
    FULL4(", into one VXLAN tunnel", .vr = INTO_TUNNEL),
    FULL4(", out of 1000 VXLAN tunnels", .vr = UNDER, .tunnels = TUNNELS),
    FULL4(", out of 4 VXLAN tunnels", .vr = UNDER, .tunnels = PORTS),
    FULL4(", out of one VXLAN tunnel", .vr = UNDER, .tunnels = 1),
    FULL4(", labels swapped", .labels = SWAPPED),
    FULL4(", two labels pushed", .labels = PUSHED, .vr = INTO_LABELS),
    FULL4(", label popped before the lookup", .labels = POPPED),
    FULL4(", label popped to the next hop", .labels = BARE),
    {.name = "IPv4 and IPv6 full table, in turn, out of one VXLAN tunnel", .family = 46,
     .poll = forward_poll, .vr = UNDER, .tunnels = 1},
    {.name = "IPv4 one flow", .family = 4, .poll = forward_poll, .one_flow = true},
    FULL4(", 1 in 1000 sampled", .sampled = true),
    FULL4(", sample of flows", .flows = true),
    {.name = "IPv6 full table", .family = 6, .poll = forward_poll},
    {.name = "IPv4 and IPv6 in turn", .family = 46, .poll = forward_poll},
    FULL4(", acl-none", .lists = LISTS_NONE),
    FULL4(", acl-empty", .lists = LISTS_EMPTY),
    FULL4(", acl-empty-out", .lists = LISTS_EMPTY, .out = true),
    FULL4(", acl-blocklist", .lists = LISTS_BLOCKLIST),
    FULL4(", acl-full", .lists = LISTS_FULL),
    FULL4(", 16 virtual routers by one port, unshaped", .tagged = ROUTERS, .vlan = VLAN,
          .queue = UNSHAPED),
    FULL4(", 16 virtual routers by one port, shaped", .tagged = ROUTERS, .vlan = VLAN,
          .queue = SHAPED),
    FULL4(", 16 virtual routers by one port, shaped, fq_codel", .tagged = ROUTERS, .vlan = VLAN,
          .queue = SHAPED_FLOWS),
};

static struct plan plans[SHAPED_FLOWS + 1]; // by queue_case

static unsigned n_tests;

// --- the router ---

static uint16_t iface_make(unsigned p, uint16_t vlan)
{
    char name[16];

    snprintf(name, sizeof name, "p%u.%u", p, vlan);
    struct iface *i =
        router_iface_new(name, port_id[p], 0, vlan, (uint8_t[6]){2, 0, 0, 1, 0, (uint8_t)p});
    bench_check(i, "no memory for an interface");
    return i->id;
}

// Next hops 1..64 by value, on the ports' interfaces in turn; with --queue all on one port.
static void next_hops_make(uint32_t hop[NEXT_HOPS + 1], const uint16_t iface[PORTS], unsigned v)
{
    for (unsigned k = 0; k < NEXT_HOPS; k++)
        hop[k + 1] = router_adjacency_new(iface[queue_only ? OUT_PORT : k % PORTS],
                                          (uint8_t[6]){2, 0, 0, 2, (uint8_t)v, (uint8_t)k});
}

static void sampler_make(void)
{
    const struct watch all = {.to = WATCH_TO_SLOTS,
                              .port = PORT_NONE,
                              .snap = 128,
                              .every = SAMPLE_RATE,
                              .seed = 1,
                              .sample = IFACE_SAMPLE_SFLOW};
    int w = watch_new(&all, 1024);

    bench_check(w >= 0, "no memory for samples");
    sampler = (unsigned)w;
    const struct watch flows = {.to = WATCH_TO_SLOTS,
                                .port = PORT_NONE,
                                .snap = 128,
                                .every = FLOW_RATE,
                                .seed = 2,
                                .flows = true};
    bench_check(watch_new(&flows, 1024) == WATCH_FLOWS, "no memory for samples");
}

static void plans_make(void)
{
    for (unsigned i = 0; i <= SHAPED_FLOWS; i++) {
        plans[i].n_rx = 2;
        plans[i].tx_owner[PORT_METALINK] = PLAN_TX_NONE;
        memset(plans[i].tx_owner + PORT_TUNNEL, PLAN_TX_NONE, TUNNEL_PORTS);
        for (unsigned p = 0; p < 2; p++)
            plans[i].rx[p] = (struct plan_rx){port_id[p], 0};
    }
    for (unsigned i = SHAPED; queue_only && i <= SHAPED_FLOWS; i++)
        router_queue_plan(
            &plans[i], router_queue_new(1 + ROUTERS, POOL_SIZE / 2, i == SHAPED_FLOWS ? 1024 : 0),
            port_id[OUT_PORT], 0, 0);
}

// A virtual router that only has a default route to virtual router `to`.
static void linked_make(unsigned index, uint16_t to)
{
    const struct prefix all = {.family = IP4};
    struct vr *v = vr_new(index ? "linked1" : "linked0");
    uint16_t end[2];

    bench_check(v && v->id == LINKED + index, "no memory for the virtual routers");
    bench_check(!router_metalink_new(index, (uint16_t[2]){v->id, to}, end), "no metalink");
    uint32_t hop = router_adjacency_new(end[0], iface_get(end[1])->mac);
    fib_set(v->fib4, &all, hop);
    fib_commit(v->fib4);
    router_role(ROLE_CONTROL);
}

static void vr_make(const char *name, uint16_t id)
{
    const struct vr *v = vr_new(name);

    bench_check(v && v->id == id, "no memory for the virtual routers");
}

// Tunnel k of the first 256 goes from 10.9.k.1 to 10.9.k.2.
static void tunnels_make(void)
{
    router_role(ROLE_RIB_MANAGER);
    const uint32_t local = nexthop_new(NEXTHOP_LOCAL, 0);

    for (unsigned k = 0; k < TUNNELS; k++) {
        const uint8_t net = (uint8_t)(9 + k / 256), host = (uint8_t)k;
        const struct tunnel_settings s = {.id = {.kind = TUNNEL_VXLAN,
                                                 .family = IP4,
                                                 .key = 7,
                                                 .vr = UNDER,
                                                 .local = {10, net, host, 1},
                                                 .remote = {10, net, host, 2}},
                                          .ttl = 64};
        struct prefix end = {.family = IP4, .len = 32, .b = {10, net, host, 1}};
        uint16_t id = router_tunnel_new(
            &s, 0, router_adjacency_new(own[k % PORTS], (uint8_t[6]){2, 0, 0, 3, net, host}));
        bench_check(id, "no tunnel");
        tunnel[k] = tunnel_get(tunnel_of_iface(iface_get(id)));
        router_role(ROLE_RIB_MANAGER);
        bench_check(!fib_set(vr_get(UNDER)->fib4, &end, local), "no memory for a route");
    }
    fib_commit(vr_get(UNDER)->fib4);
}

// Virtual routers whose packets enter tunnels, or leave them for the default virtual router.
static void tunnel_routers_make(const struct table *t4)
{
    uint32_t hop[NEXT_HOPS + 1];
    uint16_t end[PORTS];

    vr_make("under", UNDER);
    vr_make("tunnels", INTO_TUNNELS);
    vr_make("tunnel", INTO_TUNNEL);
    tunnels_make();
    for (unsigned k = 0; k < PORTS; k++)
        end[k] = tunnel[k]->iface;
    next_hops_make(hop, end, UNDER);
    router_fib_fill(vr_get(INTO_TUNNELS)->fib4, t4, hop, false);
    for (unsigned k = 2; k <= NEXT_HOPS; k++)
        hop[k] = hop[1];
    router_fib_fill(vr_get(INTO_TUNNEL)->fib4, t4, hop, false);
    router_role(ROLE_CONTROL);
}

// Labels of the default virtual router, and a virtual router whose packets get some. `hop`: its
// next hops.
static void labels_make(const struct table *t4, const uint32_t hop[NEXT_HOPS + 1])
{
    uint32_t push[NEXT_HOPS + 1];

    router_role(ROLE_CONTROL);
    vr_make("labels", INTO_LABELS);
    router_role(ROLE_RIB_MANAGER);
    for (unsigned p = 0; p < PORTS; p++)
        iface_set_mpls(own[p], true);
    for (uint32_t k = 0; k < SWAPPED_LABELS; k++)
        bench_check(!label_set(0, LABEL_FIRST + k,
                               nexthop_encap_new(&(struct nexthop_encap){
                                   .via = hop[1 + k % NEXT_HOPS],
                                   .n = 1,
                                   .flags = NEXTHOP_ENCAP_LABEL,
                                   .label_be = {nexthop_label(LABEL_FIRST + k)}})),
                    "no memory for labels");
    bench_check(!label_set(0, POPPED_LABEL, nexthop_encap_new(&(struct nexthop_encap){0})),
                "no memory for labels");
    for (unsigned k = 0; k < NEXT_HOPS; k++)
        bench_check(!label_set(0, BARE_LABEL + k,
                               nexthop_encap_new(&(struct nexthop_encap){.via = hop[1 + k]})),
                    "no memory for labels");
    for (unsigned k = 1; k <= NEXT_HOPS; k++)
        push[k] = nexthop_encap_new(&(struct nexthop_encap){
            .via = hop[k],
            .n = 2,
            .label_be = {nexthop_label(LABEL_FIRST + k), nexthop_label(99)}});
    router_fib_fill(vr_get(INTO_LABELS)->fib4, t4, push, false);
    router_role(ROLE_CONTROL);
}

static void router_make(const struct table *t4, const struct table *t6)
{
    uint32_t hop[NEXT_HOPS + 1];
    char name[16];

    bench_check(!router_tables_init(2047), "no memory for the tables");
    for (unsigned v = 0; v < 2 * ROUTERS; v++) {
        snprintf(name, sizeof name, "vr%u", v);
        bench_check(vr_new(name), "no memory for the virtual routers");
    }
    linked_make(0, 0);
    linked_make(1, 1);
    for (unsigned p = 0; p < PORTS; p++) {
        iface_get(iface_make(p, LINKED_VLAN))->vr = LINKED + 1;
        own[p] = iface_make(p, 0);
        iface_get(own[p])->policy.sample = IFACE_SAMPLE_SFLOW;
        for (unsigned v = 0; v < 3 * ROUTERS; v++) {
            vport[v][p] = iface_make(p, (uint16_t)(VLAN + v));
            iface_get(vport[v][p])->vr = v < 2 * ROUTERS ? (uint16_t)(1 + v) : 1;
        }
    }
    sampler_make();
    if (tunnel_only)
        tunnel_routers_make(t4);
    next_hops_make(hop, own, 0);
    if (labels_only)
        labels_make(t4, hop);
    router_fib_fill(vr_get(0)->fib4, t4, hop, false);
    router_fib_fill(vr_get(0)->fib6, t6, hop, false);
    for (unsigned v = 0; v < ROUTERS; v++) {
        next_hops_make(hop, vport[v], v);
        router_fib_fill(vr_get((uint16_t)(1 + v))->fib4, t4, hop, false);
    }
    router_role(ROLE_RIB_MANAGER);
    for (unsigned v = ROUTERS; v < 2 * ROUTERS; v++)
        vr_publish(vr_get((uint16_t)(1 + v)), IP4, vr_get(1)->fib4);
    plans_make();
    rcu_publish(&forwarder_slot[0].plan, &plans[0]);
    router_role(ROLE_FORWARDER);
    forwarder = forwarder_new(0);
    bench_check(forwarder, "no memory for the forwarder");
}

// --- the packets ---

// A prefix of the table may cover 169.254/16, which is not forwarded.
static bool is_forwarded(const struct traffic *a, unsigned i)
{
    const uint8_t *dst = (const uint8_t *)&a->net[i];

    return dst[0] != 169 || dst[1] != 254;
}

// CS0 .. CS7, one class after the other.
static void class_write(uint8_t *ip, unsigned class)
{
    uint16_t sum;

    ip[1] = (uint8_t)(class << 5);
    memset(ip + 10, 0, 2);
    sum = checksum(ip, 20);
    memcpy(ip + 10, &sum, 2);
}

// Writes the headers of a tunnel packet as sent by the other end, and the inner Ethernet addresses;
// returns the place after them.
static uint8_t *outer_write(uint8_t *p, const struct tunnel *t, unsigned flow)
{
    uint8_t *ip = p + ETHER_HDR, *udp = ip + IP4_HDR, *inner = ip + t->size;

    frame_ether(p);
    store16(p + 12, ETHER_TYPE_IP4);
    memcpy(ip, t->header + TUNNEL_HEADER - t->size, t->size);
    frame_ip4(ip, t->size + FRAME_BYTES, t->id.remote, t->id.local);
    store16(udp, rte_cpu_to_be_16((uint16_t)(0xc000 | flow)));
    store16(udp + 4, rte_cpu_to_be_16((uint16_t)(t->size - IP4_HDR + FRAME_BYTES)));
    memcpy(inner, t->mac, 6);
    memcpy(inner + 6, (uint8_t[6]){2, 9}, 6);
    return inner + 12;
}

static unsigned bytes_of(const struct test *t)
{
    return t->tunnels ? ETHER_HDR + tunnel[0]->size + FRAME_BYTES : FRAME_BYTES;
}

static unsigned stride_of(const struct test *t)
{
    return t->tunnels ? 2 * FRAME_LINE : FRAME_LINE;
}

// Writes a type and a label; returns the place of the last two bytes.
static uint8_t *label_write(uint8_t *p, enum labels_case labels, unsigned i)
{
    const uint32_t any = (uint32_t)hash_mix64(i),
                   label = labels == POPPED ? POPPED_LABEL
                           : labels == BARE ? BARE_LABEL + any % NEXT_HOPS
                                            : LABEL_FIRST + any % SWAPPED_LABELS;

    store16(p, ETHER_TYPE_MPLS);
    store32(p + 2, rte_cpu_to_be_32(label << 12 | 0x100 | 64));
    return p + 4;
}

static void line_write(uint8_t *p, const struct test *t, bool is4, const struct traffic *a,
                       unsigned i)
{
    while (!is_forwarded(a, i))
        i = i ? i - 1 : LINES - 1;
    if (t->tunnels)
        p = outer_write(p, tunnel[i % t->tunnels], i & 0x3fff);
    else
        p = frame_ether(p); // for any of the two receiving ports: both have port 0's MAC (main)
    if (t->tagged) {
        memcpy(p, (uint8_t[4]){0x81, 0, 0, (uint8_t)(t->vlan + i % t->tagged)}, 4);
        p += 4;
    }
    if (is4) {
        uint8_t src[4] = {192, 0, 2, 1};
        memcpy(p, (uint8_t[2]){8, 0}, 2);
        if (t->labels != NO_LABELS && t->labels != PUSHED)
            p = label_write(p, t->labels, i);
        if (t->lists)
            lists_packet(src, p + 22);
        frame_ip4(p + 2, 42, src, &a->net[t->one_flow ? 0 : i]);
        if (t->queue)
            class_write(p + 2, i / t->tagged % QUEUE_CLASSES);
    } else {
        memcpy(p,
               (uint8_t[26]){0x86, 0xdd, 0x60, 0, 0, 0, 0, 6, 59, 64, 0x20, 1, 0xd, 0xb8, [25] = 1},
               26);
        memcpy(p + 26, a->ip6[t->one_flow ? 0 : i], 16);
    }
}

static void lines_make(struct test *t, const struct traffic *a)
{
    t->line = memory_huge((size_t)LINES * stride_of(t));
    for (unsigned i = 0; i < LINES; i++)
        line_write(t->line + (size_t)i * stride_of(t), t,
                   t->family == 4 || (t->family != 6 && i % 2 == 0), a, i);
}

// --- the measurement ---

// The cost included in all figures: buffers, lines, the calls into the driver.
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

// TSC cycles of this thread's CPU time.
static double cycles_used(void)
{
    return bench_cpu_s() * (double)rte_get_tsc_hz();
}

static void lists_bind(const struct test *t)
{
    router_role(ROLE_CONTROL);
    for (unsigned p = 0; p < PORTS; p++) {
        iface_bind_acl(iface_get(port_get(port_id[p])->untagged), t->out ? 0 : lists_id(t->lists),
                       t->out ? lists_id(t->lists) : 0);
        for (unsigned v = 0; v < ROUTERS; v++)
            iface_bind_acl(iface_get(vport[v][p]), 0, t->out ? lists_id(t->lists) : 0);
    }
    router_role(ROLE_FORWARDER);
}

// Switches to the plan of this test. First sends packets left in the previous test's queue.
static void make_plan_of(const struct test *t)
{
    static struct plan rest;
    const struct plan *old = forwarder_slot[0].plan;

    if (old == &plans[t->queue])
        return;
    if (old->n_owned) {
        rest = *old;
        rest.n_rx = 0;
        rcu_publish(&forwarder_slot[0].plan, &rest);
        while (forwarder_poll(forwarder) || forwarder->queue_due != QUEUE_NEVER)
            ;
    }
    rcu_publish(&forwarder_slot[0].plan, &plans[t->queue]);
}

// Reads the samples and returns the slots, like the first step of an exporter.
static void samples_read(unsigned watch)
{
    struct watch_slot *slot[64];

    watch_give_back(watch, slot, watch_take(watch, slot, 64));
}

static void buffer_write(struct rte_mempool *pool, void *unused, void *buffer, unsigned i)
{
    steps_memory(steps, "buffer", buffer, pool->elt_size);
}

static void memory_write(const void *first, size_t bytes, const char *name)
{
    steps_memory(steps, name, first, bytes);
}

static unsigned poll_write(const struct test *t)
{
    const struct forwarder *f = forwarder;
    unsigned n = 0;
    char name[160];

    while (t->poll == forward_poll && f->until_timed < 6) // other code, for one burst in 61
        n += t->poll();
    snprintf(name, sizeof name, "%s|%s|%s", t->name, f->lanes->name, poptrie_kernel_name());
    steps_case(steps, name);
    rte_mempool_obj_iter(rte_mempool_lookup("replay"), buffer_write, NULL);
    memory_write(nexthop_table, NEXTHOP_ALL_MAX * sizeof *nexthop_table, "nexthop");
    memory_write(f->used_mark, NEXTHOP_MAX, "mark");
    memory_write(f->counter, sizeof *f->counter, "counter");
    memory_write(&f->rx, sizeof f->rx, "burst");
    memory_write(&f->in4, 2 * sizeof f->in4, "burst");
    memory_write(f->tx_word, sizeof f->tx_word + sizeof f->tx_pkt, "transmit");
    memory_write(f, sizeof *f, "forwarder");
    memory_write(iface_get(0), IFACE_MAX * sizeof *iface_get(0), "interface");
    return n + steps_write(steps, t->poll);
}

static double cycles_per_packet(const struct test *t)
{
    double end = (double)rte_get_tsc_hz() / 1000 * slice_ms, start, now;
    uint64_t packets = 0, end_of_warm;

    lists_bind(t);
    router_role(ROLE_CONTROL);
    for (unsigned p = 0; p < PORTS; p++)
        iface_set_vr(iface_get(own[p]), (uint16_t)t->vr);
    router_role(ROLE_FORWARDER);
    make_plan_of(t);
    forwarder->lanes = t->lanes ? t->lanes : lanes_choose(0);
    (void)poptrie_set_kernel(t->kernel, 0);
    port_lines = (struct port_lines){.line = t->line,
                                     .n_lines = LINES,
                                     .stride = (uint16_t)stride_of(t),
                                     .bytes = (uint16_t)bytes_of(t),
                                     .ol_flags = t->computed ? 0 : RTE_MBUF_F_RX_IP_CKSUM_GOOD};
    for (unsigned p = 0; p < PORTS; p++)
        watch_bit_set(&port_get(port_id[p])->watch_rx, sampler, t->sampled);
    for (unsigned p = 0; p < PORTS; p++)
        watch_bit_set(&port_get(port_id[p])->watch_rx, WATCH_FLOWS, t->flows);
    for (unsigned i = 0; i < 100; i++) // warm up
        (void)t->poll();
    // CPU shares of virtual routers (budget.h) are adjusted every ms, so the last test affects the
    // next.
    end_of_warm = rte_rdtsc() + (t->poll == forward_poll && !polls ? rte_get_tsc_hz() / 200 : 0);
    while (rte_rdtsc() < end_of_warm)
        (void)t->poll();
    uint64_t sent = port_lines_sent;
    start = now = cycles_used();
    for (unsigned done = 0; polls ? done < polls : now - start < end;
         done += 50, now = cycles_used()) {
        for (unsigned i = 0; i < 50; i++)
            packets += t->poll();
        if (t->sampled || t->flows)
            samples_read(t->flows ? WATCH_FLOWS : sampler);
    }
    if (polls)
        printf("%-38s %lu packets in %u polls, and a warm-up of 100 polls\n", t->name, packets,
               polls);
    if (steps && t->poll != harness_poll)
        packets += poll_write(t);
    forwarder_rest(forwarder);
    if (t->queue >= SHAPED) // packets count when they arrive and when they leave
        packets = port_lines_sent - sent;
    if (port_lines_sent - sent != packets) {
        fprintf(stderr, "forward_bench: %s: %lu of %lu sent\n", t->name, port_lines_sent - sent,
                packets);
        for (unsigned r = DROP_NONE + 1; r < DROP_N; r++)
            if (counter_sum_drop(r))
                fprintf(stderr, "  dropped: %s %lu\n", drop_info[r].name, counter_sum_drop(r));
    }
    bench_check(port_lines_sent - sent == packets, "not every packet was forwarded");
    return (now - start) / (double)packets;
}

static void measure(struct test *t, unsigned round)
{
    t->base[round] = cycles_per_packet(&tests[t->tunnels ? HARNESS_TUNNEL : HARNESS]);
    t->cycles[round] = cycles_per_packet(t);
}

static void net_of(const struct test *t, double net[ROUNDS_MAX])
{
    for (unsigned r = 0; r < rounds; r++)
        net[r] = t->cycles[r] - t->base[r];
}

static void people_report(void)
{
    double ghz = (double)rte_get_tsc_hz() / 1e9;

    printf("%-80s %8s %8s %8s %8s %8s\n", "TSC cycles a packet (from, to: 95 % interval of net)",
           "median", "net", "from", "to", "Mpps");
    for (const struct test *t = tests; t < tests + n_tests; t++) {
        double net[ROUNDS_MAX], ends[2], median = stat_median(t->cycles, rounds);
        if (t->skip)
            continue;
        net_of(t, net);
        stat_median_interval(net, rounds, ends);
        printf("%-80s %8.1f %8.1f %8.1f %8.1f %8.1f\n", t->name, median, stat_median(net, rounds),
               ends[0], ends[1], ghz * 1e3 / median);
    }
}

static void programs_report(void)
{
    double harness = stat_median(tests[HARNESS].cycles, rounds);

    report_begin(true);
    report_open("results", '[');
    for (const struct test *t = tests + HARNESSES; t < tests + n_tests; t++) {
        bool peer = t->poll == peer_poll;
        double net[ROUNDS_MAX];
        if (t->skip)
            continue;
        net_of(t, net);
        report_open(NULL, '{');
        report_text("what", "forward 64 B, %s", peer ? "IPv4 full table" : t->name);
        report_text("variant", "%s", peer ? "minimal forwarder on rte_fib" : "kamueed");
        report_text("unit", "cycles/packet");
        report_series("values", 2, net, rounds);
        report_close();
    }
    report_close();
    report_number("harness_cycles", 2, harness);
    report_open("notes", '[');
    report_text(NULL, "forward: cycles are of the TSC (%.2f GHz), less the harness's %.1f",
                (double)rte_get_tsc_hz() / 1e9, harness);
    report_close();
    report_end();
}

static bool is_of_tunnels(const struct test *t)
{
    return t->tunnels || (t->vr >= UNDER && !t->labels);
}

static bool test_wanted(const struct test *t)
{
    const char *name = t->name;

    if (lists_only)
        return t->lists;
    if (is_of_tunnels(t) > tunnel_only) // packets that change their virtual router are counted
        return false;
    if ((t->labels != NO_LABELS) > labels_only)
        return false;
    if (labels_only && !*only)
        return t->labels || !strcmp(name, "IPv4 full table");
    if (tunnel_only && !*only)
        return is_of_tunnels(t) || !strcmp(name, "IPv4 full table");
    if (queue_only != (t->queue != QUEUE_NO_CASE)) // their next hops differ
        return false;
    return *only == '=' ? !strcmp(name, only + 1) : strstr(name, only) != NULL;
}

static void quick_set(const char *unused)
{
    rounds = 15;
}

static const struct bench_option options[] = {OPTION_TEXT("prefixes", &prefixes),
                                              OPTION_TEXT("routes", &routes),
                                              OPTION_NUMBER("rounds", &rounds, 1, ROUNDS_MAX),
                                              OPTION_TEXT("only", &only),
                                              OPTION_NUMBER("polls", &polls, 0, 0),
                                              OPTION_FLAG("acl", &lists_only),
                                              OPTION_FLAG("tunnel", &tunnel_only),
                                              OPTION_FLAG("labels", &labels_only),
                                              OPTION_FLAG("queue", &queue_only),
                                              OPTION_FLAG("sets", &all_sets),
                                              OPTION_DO("quick", quick_set),
                                              OPTION_FLAG("json", &json),
                                              OPTION_TEXT("steps", &steps_path),
                                              {0}};

// Adds the wanted cases with these lanes and this kernel, if they run here.
static void set_add(unsigned n, const char *lanes, enum poptrie_kernel kernel)
{
    if (!lanes_by_name(lanes) || poptrie_set_kernel(kernel, 0))
        return;
    for (unsigned i = HARNESSES; i < n; i++) {
        struct test *t = &tests[n_tests];
        if (tests[i].poll != forward_poll || tests[i].skip)
            continue;
        bench_check(n_tests < TESTS_MAX, "too many cases");
        bench_check(asprintf(&t->name, "%s, lanes %s, kernel %s", tests[i].name, lanes,
                             poptrie_kernel_name()) > 0,
                    "no memory for a case");
        char *name = t->name;
        *t = tests[i];
        t->name = name;
        t->lanes = lanes_by_name(lanes);
        t->kernel = kernel;
        n_tests++;
    }
}

// Selects the wanted cases; with --sets, in all ways.
static void tests_choose(void)
{
    while (tests[n_tests].name)
        n_tests++;
    unsigned wanted = 0;
    tests[HARNESS_TUNNEL].skip = !tunnel_only;
    for (unsigned i = HARNESSES; i < n_tests; i++) {
        tests[i].skip = !test_wanted(&tests[i]);
        wanted += !tests[i].skip;
    }
    bench_check(wanted, "--only '%s': no such case; their names are printed without --only", only);
    if (!all_sets)
        return;
    unsigned n = n_tests;
    for (int k = POPTRIE_KERNEL_SCALAR; k < POPTRIE_KERNELS; k++)
        set_add(n, lanes_by_name("avx512") ? "avx512-loads" : "avx2", (enum poptrie_kernel)k);
    set_add(n, "avx512", POPTRIE_KERNEL_AVX512_VPOPCNT);
    if (lanes_by_name("avx512"))
        set_add(n, "avx2", POPTRIE_KERNEL_AVX2);
    set_add(n, "scalar", POPTRIE_KERNEL_SCALAR);
}

int main(int argc, char **argv)
{
    struct table t4 = {0}, t6 = {0};
    struct traffic a;

    bench_options(argc, argv, options, NULL);
    bench_eal_router(768, false, NULL);
    struct rte_mempool *pool =
        packet_pool_new("replay", POOL_SIZE, 256, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, false);
    bench_check(pool, "no memory for packets");
    for (unsigned p = 0; p < PORTS; p++)
        port_id[p] = port_lines_new(p, pool);
    bench_check(!table_make(&t4, routes, 4, prefixes) &&
                    !table_make(&t6, queue_only ? "1000" : routes, 6, prefixes),
                "no routes in that file, or no such number of routes");
    table_next_hops(&t4, NEXT_HOPS);
    table_next_hops(&t6, NEXT_HOPS);
    router_make(&t4, &t6);
    bench_check(queue_only || !peer_make(&t4, port_id, NEXT_HOPS),
                "rte_fib does not take the table");
    // Both receiving ports and their sub-interfaces have one MAC: either may get any line.
    memcpy(iface_get(port_get(port_id[1])->untagged)->mac,
           iface_get(port_get(port_id[0])->untagged)->mac, 6);
    for (unsigned v = 0; v < 3 * ROUTERS; v++)
        memcpy(iface_get(vport[v][1])->mac, iface_get(vport[v][0])->mac, 6);
    memcpy(iface_get(port_get(port_id[1])->vlan_iface[LINKED_VLAN])->mac,
           iface_get(port_get(port_id[0])->vlan_iface[LINKED_VLAN])->mac, 6);
    a = traffic_new();
    traffic_make(&t4, PREFIX, &a);
    traffic_make(&t6, PREFIX, &a);
    lists_make();
    tests_choose();
    if (steps_path) {
        steps = fopen(steps_path, "w");
        bench_check(steps, "%s cannot be written", steps_path);
        rounds = 1;
        polls = 50;
    }
    for (unsigned i = 0; i < n_tests; i++)
        if (!tests[i].skip)
            lines_make(&tests[i], &a);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < n_tests; i++)
            if (!tests[i].skip)
                measure(&tests[i], r);
    if (steps)
        fclose(steps);
    else
        json ? programs_report() : people_report();
    return 0;
}
