// SPDX-License-Identifier: BSD-3-Clause
// tunnel_bench.c - measures the extra cost of a tunnel per packet, each kind in each direction
//
// A burst goes through one forwarder again and again (lib/loop.h). The reference case has the same
// packets, routed by one default route without a tunnel.
//
//     plain   vr "plain":  default route -> adjacency
//     encap   vr "in":     default route -> tunnel -> vr "under": adjacency
//     decap   vr "under":  the local end -> vr "out": default route -> adjacency
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "forwarder/packet.h"
#include "lib/eal.h"
#include "lib/frame.h"
#include "lib/loop.h"
#include "lib/router.h"
#include "table/fib.h"
#include "table/nexthop.h"
#include "table/tunnel.h"
#include "table/vr.h"

#define FLOWS 4096u
#define INNER 46u // bytes of the inner packets: 60 with their Ethernet header
#define STRIDE 192u

static uint16_t way_in;
static const char *only = "";

enum { PLAIN_VR = 1, IN_VR, UNDER_VR, OUT_VR };

struct test {
    const char *kind, *direction;
    struct tunnel_settings settings; // from our end to the far end
    bool decap;
    uint16_t vlan;
    unsigned bytes; // of its frames
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

// Each case has its own tunnel ends.
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

    way_in = loop_router();
    for (unsigned k = 0; k < 4; k++)
        bench_check(vr_new(names[k]), "no memory for the virtual routers");
    *adjacency = router_adjacency_new(way_in, (uint8_t[6]){2, 0, 0, 2, 0, 0});
    loop_route_all(PLAIN_VR, *adjacency);
    loop_route_all(OUT_VR, *adjacency);
}

static void outer_write(uint8_t *p, const struct test *t, unsigned flow)
{
    const struct tunnel *far = tunnel_get(t->vlan); // from the far end: swap the ends
    const unsigned n = far->size, len = t->bytes - ETHER_HDR, four = far->id.family == IP4;
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

static uint8_t *frames_make(struct test *t)
{
    const unsigned outer =
        t->decap ? tunnel_overhead(t->settings.id.kind, t->settings.id.family, false) : 0;

    t->bytes = ETHER_HDR + outer + INNER;
    uint8_t *frame = calloc(FLOWS, STRIDE);
    bench_check(frame, "no memory for packets");
    for (unsigned i = 0; i < FLOWS; i++) {
        uint8_t *p = frame + i * STRIDE, *ip = p + ETHER_HDR + outer, src[4] = {192, 0, 2, 1};
        uint32_t dst = rte_cpu_to_be_32(0x14000000 + i * 4096);
        memcpy(p, iface_get(way_in)->mac, 6);
        store16(ip - 2, ETHER_TYPE_IP4); // EtherType of an inner Ethernet header, or overwritten
        if (t->decap && tunnel_is_ethernet(t->settings.id.kind))
            memcpy(ip - ETHER_HDR, tunnel_get(t->vlan)->mac, 6);
        frame_ip4(ip, INNER, src, &dst);
        if (t->decap)
            outer_write(p, t, i);
    }
    return frame;
}

// Selects cases by "KIND DIRECTION", or a part of it; the plain case is always measured.
static bool is_chosen(const struct test *t)
{
    char name[32];

    snprintf(name, sizeof name, "%s %s", t->kind, t->direction);
    return t == tests || strstr(name, only);
}

static void test_make(struct test *t, unsigned k, uint32_t adjacency, struct loop_case *c)
{
    if (t->settings.id.kind) {
        ends_choose(&t->settings, k);
        uint16_t id = router_tunnel_new(&t->settings, t->decap ? OUT_VR : IN_VR, adjacency);
        bench_check(id, "no tunnel");
        t->vlan = iface_get(id)->vlan;
        if (t->decap)
            route_local(t->settings.id.local, t->settings.id.family);
    }
    snprintf(c->name[0], sizeof c->name[0], "%s", t->kind);
    snprintf(c->name[1], sizeof c->name[1], "%s", t->direction);
    c->frame = is_chosen(t) ? frames_make(t) : NULL;
    c->n = FLOWS;
    c->bytes = t->bytes;
    c->stride = STRIDE;
}

static void case_begin(unsigned k)
{
    const struct test *t = &tests[k];

    iface_set_vr(iface_get(way_in), !t->settings.id.kind ? PLAIN_VR : t->decap ? UNDER_VR : IN_VR);
    if (t->settings.id.kind && !t->decap)
        loop_route_all(IN_VR, router_adjacency_new(tunnel_get(t->vlan)->iface, (uint8_t[6]){2, 9}));
}

static const struct bench_option options[] = {OPTION_TEXT("only", &only), LOOP_OPTIONS, {0}};

int main(int argc, char **argv)
{
    static struct loop_case cases[TESTS];
    unsigned chosen = 0;
    uint32_t adjacency;

    bench_options(argc, argv, options, NULL);
    loop.word = "tunnel";
    loop.key[0] = "kind";
    loop.key[1] = "direction";
    bench_eal_router(256, false, NULL);
    router_make(&adjacency);
    for (unsigned k = 0; k < TESTS; k++) {
        test_make(&tests[k], k, adjacency, &cases[k]);
        chosen += k && cases[k].frame;
    }
    bench_check(chosen, "--only '%s': no such case; their names are printed without --only", only);
    loop_measure(cases, TESTS, case_begin);
    loop_report(cases, TESTS);
    return 0;
}
