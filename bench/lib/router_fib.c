// SPDX-License-Identifier: BSD-3-Clause
// router_fib.c - see router_fib.h
//
// Tables: the papers' own are not public, so they are generated, with the same size and shape
// (base/table_gen.h):
//     linx      518,231 routes, out by ports 1 and 2 in turn       80 Gb/s PC router, 5.2
//     ntt       531,489 routes, 16,140 of them longer than /24      "
//     full      901,899 routes, 64 next hops on four ports          today's Internet
//     default4  0/2, 64/2, 128/2, 192/2, a port each                Kamuee Zero, 5.1; Kamuee, 4.2
//     bhole4    default4 and 9.0.0.0/8 as a blackhole
//     N         N routes, 64 next hops
// and NAME/D: a table with a D-th of the routes (rte_lpm takes 150,000, fib_lpm.c).
// All have 1.0.0.0/24 by port 1, 1.0.4.0/24 by port 2, and two halves for everything else: the
// 80 Gb/s router also forwards packets without a route.
#include "lib/router_fib.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/port_memory.h"
#include "lib/router.h"
#include "table/acl.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/vr.h"

#define NEXT_HOPS 64u
#define BLACKHOLE 255u // value in routes that is not one of these next hops
#define NTT_LONG 16140u

struct router_fib router_fib[ROUTER_FIBS];
unsigned router_n_fibs;
static const char *prefixes;
static uint32_t nexthop[256]; // by value in a route
static uint16_t iface_id[SOURCE_PORTS];
static uint16_t empty_list;
static struct {
    char name[16];
    struct table table;
} tables[ROUTER_FIBS];

void router_prefixes(const char *path)
{
    prefixes = path;
}

static bool is_table(const char *name, const char *of)
{
    size_t n = strlen(of);
    return !strncmp(name, of, n) && (name[n] == '/' || !name[n]);
}

// D of NAME/D.
static size_t divided_by(const char *name)
{
    const char *slash = strchr(name, '/');
    size_t n = slash ? strtoul(slash + 1, NULL, 10) : 1;

    return n ? n : 1;
}

static bool from_file(const char *name)
{
    return prefixes && !strcmp(name, "full");
}

static bool is_default4(const char *name)
{
    return !strcmp(name, "default4") || !strcmp(name, "bhole4");
}

// Number of routes, or an upper bound.
static size_t table_routes(const char *name)
{
    if (is_table(name, "linx"))
        return 518231 / divided_by(name);
    if (is_table(name, "ntt"))
        return 531489 / divided_by(name);
    if (is_table(name, "full"))
        return from_file(name) ? 1u << 20 : 901899 / divided_by(name);
    return is_default4(name) ? 8 : strtoul(name, NULL, 10);
}

static enum fib_engine engine_of(const char *name)
{
    enum fib_engine e = 0;

    while (e < FIB_ENGINES && strcmp(fib_engine_name(e), name))
        e++;
    return e;
}

int router_fib_mib(const char *table, const char *engine)
{
    size_t routes = table_routes(table);
    enum fib_engine e = engine_of(engine);

    return routes && e < FIB_ENGINES ? (int)fib_engine_mib(e, IP4, routes) : -1;
}

// --- tables ---

static void route_add(struct table *t, const char *net, unsigned len, unsigned value)
{
    uint8_t key[4];

    inet_pton(AF_INET, net, key);
    table_add(t, key, len, value);
}

static void out_by(struct table *t, unsigned n_hops)
{
    for (size_t i = 0; i < t->n; i++)
        t->route[i].value =
            n_hops == 2 ? 1 + i % 2 : i % n_hops; // value: next hop k is on port k % 4
}

static void table_default4(struct table *t, bool blackhole)
{
    static const char *const quarter[4] = {"0.0.0.0", "64.0.0.0", "128.0.0.0", "192.0.0.0"};

    t->route = calloc(16, sizeof *t->route);
    for (unsigned k = 0; k < 4; k++)
        route_add(t, quarter[k], 2, k);
    if (blackhole)
        route_add(t, "9.0.0.0", 8, BLACKHOLE);
}

static int table_bgp(struct table *t, const char *name)
{
    bool ntt = is_table(name, "ntt");
    size_t longer = ntt ? NTT_LONG / divided_by(name) : 0;
    char count[24];

    snprintf(count, sizeof count, "%zu", table_routes(name) - longer);
    if (table_make(t, from_file(name) ? "full" : count, 4, prefixes)) // room for 1 << 22 routes
        return -EINVAL;
    table_add_longer(t, longer);
    out_by(t, ntt || is_table(name, "linx") ? 2 : NEXT_HOPS);
    route_add(t, "0.0.0.0", 1, 1);
    route_add(t, "128.0.0.0", 1, 2);
    return 0;
}

static const struct table *table_get(const char *name)
{
    unsigned i = 0;

    for (; i < ROUTER_FIBS && tables[i].name[0]; i++)
        if (!strcmp(tables[i].name, name))
            return &tables[i].table;
    if (i == ROUTER_FIBS)
        return NULL;
    struct table *t = &tables[i].table;
    t->family = 4;
    if (is_default4(name))
        table_default4(t, !strcmp(name, "bhole4"));
    else if (table_bgp(t, name))
        return NULL;
    route_add(t, "1.0.0.0", 24, 1);
    route_add(t, "1.0.4.0", 24, 2);
    snprintf(tables[i].name, sizeof tables[i].name, "%s", name);
    return t;
}

// --- writing them ---

static int by_prefix(const void *a, const void *b)
{
    const struct fib_route *x = a, *y = b;
    int c = memcmp(x->prefix.b, y->prefix.b, 4);

    return c ? c : (int)x->prefix.len - (int)y->prefix.len;
}

static size_t twice_remove(struct fib_route *r, size_t n)
{
    size_t kept = 0;

    qsort(r, n, sizeof *r, by_prefix);
    for (size_t i = 0; i < n; i++)
        if (!kept || by_prefix(&r[kept - 1], &r[i]))
            r[kept++] = r[i];
    return kept;
}

void router_fib_fill(struct fib *fib, const struct table *t, const uint32_t *hop, bool twice)
{
    struct fib_route *r = calloc(t->n, sizeof *r);

    bench_check(r, "no memory for %zu routes", t->n);
    for (size_t i = 0; i < t->n; i++) {
        r[i].prefix.family = t->family == 4 ? IP4 : IP6;
        r[i].prefix.len = (uint8_t)t->route[i].len;
        memcpy(r[i].prefix.b, t->route[i].key, t->family == 4 ? 4 : 16);
        r[i].nexthop = hop[t->route[i].value];
    }
    size_t n = twice ? twice_remove(r, t->n) : t->n;
    router_role(ROLE_RIB_MANAGER);
    bench_check(!fib_load(fib, r, n), "the FIB does not take the table");
    fib_commit(fib);
    router_role(ROLE_CONTROL);
    free(r);
}

static int fib_make(struct router_fib *f)
{
    struct fib_stats s;

    router_role(ROLE_CONTROL);
    struct vr *vr = vr_new(f->table);
    struct fib *fib = vr ? fib_new(IP4, engine_of(f->engine)) : NULL;
    if (!fib)
        return -ENOMEM;
    fib_free(vr->fib4);
    vr_publish(vr, IP4, fib);
    uint64_t begun = rte_rdtsc();
    router_fib_fill(fib, f->routes, nexthop, true);
    f->load_ms = (double)(rte_rdtsc() - begun) * 1e3 / (double)rte_get_tsc_hz();
    fib_stats(fib, &s);
    f->bytes = s.bytes_used;
    f->vr = vr->id;
    return 0;
}

const struct router_fib *router_fib_get(const char *table, const char *engine)
{
    for (unsigned i = 0; i < router_n_fibs; i++)
        if (!strcmp(router_fib[i].table, table) && !strcmp(router_fib[i].engine, engine))
            return &router_fib[i];
    if (router_n_fibs == ROUTER_FIBS)
        return NULL;
    struct router_fib *f = &router_fib[router_n_fibs];
    snprintf(f->table, sizeof f->table, "%s", table);
    snprintf(f->engine, sizeof f->engine, "%s", engine);
    f->routes = table_get(table);
    if (!f->routes || fib_make(f))
        return NULL;
    router_n_fibs++;
    return f;
}

void router_use(const struct router_fib *f)
{
    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        iface_get(iface_id[p])->vr = f->vr;
}

// --- ports and next hops ---

// A list without rules permits all packets.
static void empty_list_make(void)
{
    router_role(ROLE_ACL_MANAGER);
    struct acl_content *c = acl_content_new(NULL, 0);
    empty_list = c ? acl_list_new("empty") : 0;
    bench_check(empty_list, "no memory for an access list");
    (void)acl_publish(empty_list, c);
}

void router_lists(bool bound)
{
    router_role(ROLE_CONTROL);
    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        iface_bind_acl(iface_get(iface_id[p]), bound ? empty_list : 0, 0);
}

void router_init(const uint16_t *port_id)
{
    char name[16];

    bench_check(!router_tables_init(2047), "no memory for the tables");
    for (unsigned p = 0; p < SOURCE_PORTS; p++) {
        snprintf(name, sizeof name, "p%u", p);
        iface_id[p] = router_iface_new(name, port_id[p], 0, 0, (uint8_t[6]){2, 0, 0, 1, 0, 0})->id;
    }
    for (unsigned k = 0; k < NEXT_HOPS; k++)
        nexthop[k] = router_adjacency_new(iface_id[k % SOURCE_PORTS],
                                          (uint8_t[6]){2, 0, 0, 2, 0, (uint8_t)k});
    nexthop[BLACKHOLE] = nexthop_new(NEXTHOP_BLACKHOLE, 0);
    empty_list_make();
    router_role(ROLE_CONTROL);
}
