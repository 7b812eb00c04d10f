// SPDX-License-Identifier: BSD-3-Clause
// router_fib.c - see router_fib.h
//
// Tables: the papers' own are not public, so they are made up, of the same size and
// shape (base/table_gen.h):
//     linx      518,231 routes, out by ports 1 and 2 in turn       80 Gb/s PC router, 5.2
//     ntt       531,489 routes, 16,140 of them longer than /24      "
//     full      901,899 routes, 64 next hops on four ports          today's Internet
//     default4  0/2, 64/2, 128/2, 192/2, a port each                Kamuee Zero, 5.1; Kamuee, 4.2
//     bhole4    default4 and 9.0.0.0/8 as a blackhole
//     N         N routes, 64 next hops
// and NAME/D: a table with a D-th of the routes (rte_lpm takes 150,000, fib_lpm.c).
// All hold 1.0.0.0/24 by port 1 and 1.0.4.0/24 by port 2, and a route for everything
// else by two halves: the 80 Gb/s router forwards what it has no route for.
#include "lib/router_fib.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rcu.h"
#include "core/thread.h"
#include "lib/port_memory.h"
#include "table/acl.h"
#include "table/acl_log.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/vr.h"

#define NEXT_HOPS 64u
#define BLACKHOLE 255u // in routes: not a next hop of these
#define NTT_LONG 16140u

struct router_fib router_fib[ROUTER_FIBS];
unsigned router_n_fibs;
static const char *prefixes;
static uint32_t nexthop[256]; // by the value in a route
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

// The D of NAME/D.
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

// How many routes it has, or is sure not to exceed.
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
    struct poptrie_route *r = &t->route[t->n++];

    *r = (struct poptrie_route){.len = len, .value = value};
    inet_pton(AF_INET, net, r->key);
}

// Routes of 25 to 32 bits inside /24s of the table.
static void add_longer(struct table *t, size_t n)
{
    for (size_t full = t->n; n > 0;) {
        const struct poptrie_route *r = &t->route[bench_random() % full];
        if (r->len != 24)
            continue;
        uint64_t x = bench_random();
        struct poptrie_route longer = *r;
        longer.len = 25 + x % 8;
        longer.key[3] = (uint8_t)((x >> 8) & ~((1u << (32 - longer.len)) - 1));
        t->route[t->n++] = longer;
        n--;
    }
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
    add_longer(t, longer);
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

static void be(enum thread_role role)
{
    thread_adopt(role, role == ROLE_RIB_MANAGER ? THREAD_SLOT_RIB_MANAGER : THREAD_SLOT_CONTROL);
}

static int by_prefix(const void *a, const void *b)
{
    const struct fib_route *x = a, *y = b;
    int c = memcmp(x->prefix.b, y->prefix.b, 4);

    return c ? c : (int)x->prefix.len - (int)y->prefix.len;
}

// The routes as the FIB takes them: each prefix once.
static size_t routes_of(const struct table *t, struct fib_route *r)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++) {
        r[i] = (struct fib_route){.prefix.family = IP4, .prefix.len = (uint8_t)t->route[i].len,
                                  .nexthop = nexthop[t->route[i].value]};
        memcpy(r[i].prefix.b, t->route[i].key, 4);
    }
    qsort(r, t->n, sizeof *r, by_prefix);
    for (size_t i = 0; i < t->n; i++)
        if (!n || by_prefix(&r[n - 1], &r[i]))
            r[n++] = r[i];
    return n;
}

static int fib_fill(struct fib *fib, const struct table *t)
{
    struct fib_route *r = calloc(t->n, sizeof *r);
    size_t n = r ? routes_of(t, r) : 0;

    be(ROLE_RIB_MANAGER);
    int result = n ? fib_load(fib, r, n) : -ENOMEM;
    fib_commit(fib);
    be(ROLE_CONTROL);
    free(r);
    return result;
}

static int fib_make(struct router_fib *f)
{
    struct fib_stats s;

    be(ROLE_CONTROL);
    struct vr *vr = vr_new(f->table);
    struct fib *fib = vr ? fib_new(IP4, engine_of(f->engine)) : NULL;
    if (!fib)
        return -ENOMEM;
    fib_free(vr->fib4);
    vr_publish(vr, IP4, fib);
    uint64_t begun = rte_rdtsc();
    int r = fib_fill(fib, f->routes);
    f->load_ms = (double)(rte_rdtsc() - begun) * 1e3 / (double)rte_get_tsc_hz();
    fib_stats(fib, &s);
    f->bytes = s.bytes_used;
    f->vr = vr->id;
    return r;
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

static uint16_t iface_make(unsigned p, uint16_t port_id)
{
    char name[16];

    snprintf(name, sizeof name, "p%u", p);
    struct iface *i = iface_new(name);
    memcpy(i->mac, (uint8_t[6]){2, 0, 0, 1, 0, 0}, 6);
    i->port = port_id;
    i->mtu = 1500;
    i->kind = IFACE_PORT;
    i->flags |= IFACE_UP;
    port_get(port_id)->untagged = i->id;
    return i->id;
}

// A list without rules, which permits everything: 0, or -errno.
static int empty_list_make(void)
{
    be(ROLE_ACL_MANAGER);
    struct acl_content *c = acl_content_new(NULL, 0);
    empty_list = c ? acl_list_new("empty") : 0;
    if (empty_list)
        (void)acl_publish(empty_list, c);
    return empty_list ? 0 : -ENOMEM;
}

void router_lists(bool bound)
{
    be(ROLE_CONTROL);
    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        iface_bind_acl(iface_get(iface_id[p]), bound ? empty_list : 0, 0);
}

int router_init(const int *port_id)
{
    be(ROLE_CONTROL);
    if (counter_init() || port_table_init() || iface_table_init() || nexthop_table_init() ||
        vr_table_init() || plan_init() || acl_table_init() || acl_log_init() ||
        exchange_init(2047, RTE_MBUF_DEFAULT_BUF_SIZE) || !vr_new("default"))
        return -ENOMEM;
    for (unsigned p = 0; p < SOURCE_PORTS; p++)
        iface_id[p] = iface_make(p, (uint16_t)port_id[p]);
    be(ROLE_RIB_MANAGER);
    for (unsigned k = 0; k < NEXT_HOPS; k++) {
        const uint8_t mac[6] = {2, 0, 0, 2, 0, (uint8_t)k};
        nexthop[k] = nexthop_new(NEXTHOP_HOLD, iface_id[k % SOURCE_PORTS]);
        nexthop_set_adjacency(nexthop[k], iface_id[k % SOURCE_PORTS], mac);
    }
    nexthop[BLACKHOLE] = nexthop_new(NEXTHOP_BLACKHOLE, 0);
    int r = empty_list_make();
    be(ROLE_CONTROL);
    return r;
}
