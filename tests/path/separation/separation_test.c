// SPDX-License-Identifier: BSD-3-Clause
// separation_test.c - no packet leaves the reach of its virtual router
//
// Random topologies in which everything that could be confused is the same: prefixes, addresses,
// VLANs, and one MAC address for all interfaces. Metalinks join virtual routers, and some routes
// are imported: their next hop is in another virtual router. Routes and interfaces change their
// virtual router between bursts.
//
// The model has a list of routes per virtual router, searched linearly, and traces each packet by
// it; it shares nothing with the forwarder. Each packet carries its number, so the model predicts
// interface, neighbor and TTL of every sent frame. Every other packet must be dropped for the
// model's reason.
//
// KAMUEE_PACKETS=10000000 for a long run, KAMUEE_SEED=n repeats one.
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "table/metalink.h"

#define PACKETS 200000u
#define PER_TOPOLOGY 20000u
#define BATCH 256u
#define VRS 12u
#define VLANS 5u // per port, besides the untagged interface
#define LINKS 10u
#define ENDS (2 * LINKS)
#define NEIGHBORS 3u
#define ROUTES 24u // per virtual router
#define WAYS (RIG_PORTS * (VLANS + 1) + ENDS)

static uint64_t seed;

static uint32_t dice(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

// --- the model ---

struct route {
    bool six, blackhole;
    uint8_t len; // 8, 16, 24 or 0 significant bits after the first byte(s)
    uint8_t at[3];
    unsigned way, neighbor;
};

struct way { // output
    uint16_t iface;
    unsigned port, vlan;
    unsigned vr;
    int peer; // other end of the metalink, -1 = leads to a port
};

struct fate {
    enum drop_reason why; // NONE: it is sent
    unsigned way, neighbor;
    uint8_t ttl;
};

static struct route table[VRS][ROUTES];
static struct way way[WAYS];
static uint32_t adjacency[WAYS][NEIGHBORS];
static uint16_t vr_id[VRS];

static const struct route *longest(unsigned vr, bool six, const uint8_t at[3])
{
    const struct route *best = NULL;

    for (unsigned i = 0; i < ROUTES; i++) {
        const struct route *r = &table[vr][i];
        bool fits = r->six == six;
        for (unsigned k = 0; k < r->len / 8u; k++)
            fits = fits && r->at[k] == at[k];
        if (fits && (!best || r->len > best->len))
            best = r;
    }
    return best;
}

static struct fate follow(unsigned vr, bool six, const uint8_t at[3], uint8_t ttl)
{
    for (unsigned hops = 0;; hops++) {
        const struct route *r = longest(vr, six, at);
        if (!r)
            return (struct fate){.why = six ? DROP_IP6_NO_ROUTE : DROP_IP4_NO_ROUTE};
        if (r->blackhole)
            return (struct fate){.why = DROP_BLACKHOLE};
        if (ttl <= 1)
            return (struct fate){.why = six ? DROP_IP6_HOP_LIMIT : DROP_IP4_TTL};
        ttl--;
        const struct way *w = &way[r->way];
        if (w->peer < 0)
            return (struct fate){.way = r->way, .neighbor = r->neighbor, .ttl = ttl};
        if (hops == METALINK_HOPS_MAX)
            return (struct fate){.why = DROP_METALINK_HOPS};
        vr = way[w->peer].vr;
    }
}

// --- the topology ---

static const uint8_t the_mac[6] = {0x02, 0x5e, 0, 0, 0, 1};

static unsigned new_way(unsigned n, uint16_t iface, unsigned port, unsigned vlan, unsigned vr,
                        int peer)
{
    memcpy(iface_get(iface)->mac, the_mac, 6);
    way[n] =
        (struct way){.iface = iface, .port = port, .vlan = vlan, .vr = vr, .peer = peer};
    return n + 1;
}

static void make_ways(void)
{
    unsigned n = 0;

    for (unsigned p = 0; p < RIG_PORTS; p++)
        for (unsigned v = 0; v <= VLANS; v++) {
            unsigned vr = dice(VRS), vlan = v ? 10 * v : 0;
            n = new_way(n, rig_iface(p, (uint16_t)vlan, vr_id[vr]), p, vlan, vr, -1);
        }
    for (unsigned l = 0; l < LINKS; l++) {
        unsigned a = dice(VRS), b = (a + 1 + dice(VRS - 1)) % VRS;
        uint16_t end[2];
        assert_int_equal(router_metalink_new(l, (uint16_t[2]){vr_id[a], vr_id[b]}, end), 0);
        n = new_way(n, end[0], PORT_METALINK, 0, a, (int)n + 1);
        n = new_way(n, end[1], PORT_METALINK, 0, b, (int)n - 1);
    }
    for (unsigned w = 0; w < WAYS; w++)
        for (unsigned k = 0; k < NEIGHBORS; k++)
            adjacency[w][k] = way[w].peer < 0 ? rig_adjacency(way[w].iface, k + 1)
                                              : router_adjacency_new(way[w].iface, the_mac);
}

static const char *prefix_text(const struct route *r)
{
    static char text[64];

    if (r->six)
        snprintf(text, sizeof text, "20%02x:%02x%02x::/%u", r->len > 0 ? r->at[0] : 0,
                 r->len > 8 ? r->at[1] : 0, r->len > 16 ? r->at[2] : 0, r->len ? r->len + 8 : 0);
    else
        snprintf(text, sizeof text, "%u.%u.%u.0/%u", r->len > 0 ? r->at[0] : 0,
                 r->len > 8 ? r->at[1] : 0, r->len > 16 ? r->at[2] : 0, r->len);
    return r->six && !r->len ? "::/0" : text;
}

static bool has(unsigned vr, const struct route *wanted, unsigned but)
{
    char is[64];

    snprintf(is, sizeof is, "%s", prefix_text(wanted));
    for (unsigned i = 0; i < ROUTES; i++)
        if (i != but && !strcmp(prefix_text(&table[vr][i]), is))
            return true;
    return false;
}

static void choose_address(uint8_t at[3])
{
    at[0] = (uint8_t)(1 + dice(3));
    at[1] = (uint8_t)dice(3);
    at[2] = (uint8_t)dice(3);
}

// Mostly its own paths; the others are imports.
static unsigned choose_way(unsigned vr)
{
    unsigned w = dice(WAYS);

    for (unsigned tries = 0; dice(4) && way[w].vr != vr && tries < 200; tries++)
        w = dice(WAYS);
    return w;
}

// Replaces route i.
static void new_route(unsigned vr, unsigned i)
{
    struct route *r = &table[vr][i];

    do {
        *r = (struct route){.six = dice(2), .len = (uint8_t)(8 * dice(4)), .blackhole = !dice(16)};
        choose_address(r->at);
    } while (has(vr, r, i));
    r->way = choose_way(vr);
    r->neighbor = dice(NEIGHBORS);
    static uint32_t hole;
    if (r->blackhole && (!hole || nexthop_get(hole)->kind != NEXTHOP_BLACKHOLE))
        hole = rig_nexthop(NEXTHOP_BLACKHOLE, 0);
    rig_route(vr_id[vr], prefix_text(r), r->blackhole ? hole : adjacency[r->way][r->neighbor]);
}

static void make_topology(void)
{
    memset(table, 0xff, sizeof table); // prefix length of no route
    for (unsigned v = 0; v < VRS; v++) {
        char name[8];
        snprintf(name, sizeof name, "v%u", v);
        vr_id[v] = rig_vr(name);
    }
    make_ways();
    for (unsigned v = 0; v < VRS; v++)
        for (unsigned i = 0; i < ROUTES; i++)
            new_route(v, i);
}

static void change_something(void)
{
    unsigned vr = dice(VRS), i = dice(ROUTES), w = dice(WAYS - ENDS);

    rig_unroute(vr_id[vr], prefix_text(&table[vr][i]));
    new_route(vr, i);
    if (dice(4))
        return;
    way[w].vr = dice(VRS);
    router_role(ROLE_CONTROL);
    iface_set_vr(iface_get(way[w].iface), vr_id[way[w].vr]);
}

// --- packets ---

static struct fate expected[BATCH];
static bool seen[BATCH];
static uint64_t drops[DROP_N];

static void address_text(char text[48], bool six, const uint8_t at[3], unsigned host)
{
    if (six)
        snprintf(text, 48, "20%02x:%02x%02x::%x", at[0], at[1], at[2], host);
    else
        snprintf(text, 48, "%u.%u.%u.%u", at[0], at[1], at[2], host);
}

static void send_one(unsigned number)
{
    const struct way *in = &way[dice(WAYS - ENDS)];
    bool six = dice(2);
    uint8_t at[3], from[3], ttl = (uint8_t)(dice(4) ? 64 : 1 + dice(12));
    char src[48], dst[48];

    choose_address(at);
    choose_address(from);
    address_text(src, six, from, 1 + dice(3));
    address_text(dst, six, at, 1 + dice(3));
    struct frame f = ip_frame(.src = src, .dst = dst, .ttl = ttl, .sport = (uint16_t)(number + 1),
                              .dport = 7, .options = six || dice(16) ? 0 : 4,
                              .vlan = (uint16_t)in->vlan, .dst_mac = the_mac);
    expected[number] = follow(in->vr, six, at, ttl);
    seen[number] = expected[number].why;
    drops[expected[number].why] += expected[number].why != DROP_NONE;
    rig_send(in->port, &f);
}

static void check_frame(unsigned port, struct frame *f)
{
    bool tagged = f->b[12] == 0x81 && f->b[13] == 0;
    unsigned vlan = tagged ? (f->b[14] << 8 | f->b[15]) & 0xfffu : 0;
    const uint8_t *ip = frame_l3(f), *udp = ip + (ip[0] >> 4 == 6 ? 40 : (ip[0] & 15) * 4);
    unsigned number = (unsigned)(udp[0] << 8 | udp[1]) - 1;
    uint8_t ttl = ip[0] >> 4 == 6 ? ip[7] : ip[8];

    assert_true(number < BATCH);
    const struct fate *e = &expected[number];
    if (seen[number] || e->why || way[e->way].port != port || way[e->way].vlan != vlan ||
        memcmp(f->b, neighbor_mac(e->neighbor + 1), 6) || memcmp(f->b + 6, the_mac, 6) ||
        ttl != e->ttl)
        fail_msg("packet %u left by port %u VLAN %u, TTL %u, expected: %s port %u VLAN %u, TTL %u",
                 number, port, vlan, ttl, e->why ? drop_info[e->why].name : "sent",
                 way[e->way].port, way[e->way].vlan, e->ttl);
    seen[number] = true;
}

static void one_batch(void)
{
    struct frame f;

    for (unsigned i = 0; i < BATCH; i++)
        send_one(i);
    rig_poll();
    for (unsigned p = 0; p < RIG_PORTS; p++)
        while (rig_receive(p, &f))
            check_frame(p, &f);
    for (unsigned i = 0; i < BATCH; i++)
        if (!seen[i])
            fail_msg("packet %u was lost", i);
    for (unsigned r = DROP_NONE + 1; r < DROP_N; r++)
        if (rig_drops(r) != drops[r])
            fail_msg("drops of %s: %lu, expected %lu", drop_info[r].name, rig_drops(r), drops[r]);
}

static uint64_t number_from(const char *name, uint64_t absent)
{
    const char *v = getenv(name);

    return v ? strtoull(v, NULL, 0) : absent;
}

path_test(nothing_passes_from_one_virtual_router_to_another)
{
    uint64_t left = number_from("KAMUEE_PACKETS", PACKETS), n = 0;
    uint64_t first = number_from("KAMUEE_SEED", (uint64_t)time(NULL));

    for (; n < left; first++) {
        printf("KAMUEE_SEED=%lu\n", first);
        seed = first;
        memset(drops, 0, sizeof drops);
        make_topology();
        for (unsigned i = 0; i < PER_TOPOLOGY && n < left; i += BATCH, n += BATCH) {
            one_batch();
            change_something();
        }
        rig_teardown(state);
        rig_setup(state);
    }
}
