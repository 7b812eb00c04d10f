// SPDX-License-Identifier: BSD-3-Clause
// fib_dpdk.c - FIBs on DPDK's lookup structures, with features that they lack
//
//     rib      a poptrie for the writer only: all routes, and the reference for lookups
//     table    DPDK's structure, used by readers; rebuilt from `rib` when necessary
//
// Growing. DPDK's structures have a fixed size. When one is full, a larger one is filled from `rib`
// and published, and the old one is freed after a grace period. If DPDK has no memory for it, the
// change is refused, the log tells how much to configure, and there is no new attempt for RETRY_NS,
// because each costs as much as a load.
//
// Distrust. In DPDK 22.11, rte_fib6 miscounts its tbl8 groups under churn, until it refuses routes
// that would fit, and answers some addresses with a covering route or none (24.11.8 does not). So
// after each change, the first and last address of the prefix and a random one within are looked
// up and compared with `rib`; each commit checks some recently changed prefixes in the same way.
// Unjustified refusals and wrong answers are counted (engine_faults), logged with the remedy, and
// repaired by a new table. fib_check() compares at the borders of all routes.
//
// Readers. None of the four structures knows of our grace periods: a group freed by a withdrawn
// route is reused by the next route that needs one, while a reader may be on its way into it. So
// the first new route longer than 24 bits after a withdrawal waits for a grace period; in rte_fib
// and rte_fib6, where any change may free and take groups, every such change does. Not avoidable
// from outside: rte_fib and rte_fib6 zero a group, and rte_lpm its first word, when they free it,
// so that a lookup in that group may find no route at that moment. poptrie and rte_lpm6 have no
// such moment.
#include <errno.h>
#include <rte_errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "core/eal.h"
#include "core/rcu.h"
#include "poptrie/poptrie.h"
#include "table/fib_dpdk.h"
#include "table/fib_engine.h"
#include "table/grace.h"

#define FIRST_BITS 24     // covered by the first word of all four
#define MIN_ROUTES 16384
#define MIN_TBL8 4096     // 1 KiB each
#define MAX_TBL8 (1u << 22)
#define RETRY_NS (10 * NS_PER_SECOND)
#define RECENT 256        // recently changed prefixes; a commit checks COMMIT_SAMPLES of them
#define COMMIT_SAMPLES 4

struct fib_dpdk {
    struct fib fib;
    // readers
    void *table; // RCU
    uint32_t default_nexthop; // for 0.0.0.0/0 or ::/0, which rte_lpm cannot hold
    // writer only
    const struct fib_dpdk_kind *kind;
    struct poptrie *rib;
    struct fib_capacity capacity;
    void *retired; // the previous table, until `ticket` is over
    uint64_t ticket;
    bool gave_back; // groups may have been freed since the last grace period
    uint64_t retry_ns, faults, rebuilds, random;
    unsigned n_recent;
    struct prefix recent[RECENT];
};

static const struct fib_dpdk_kind *find_kind(enum fib_engine e, uint8_t family)
{
    if (e == FIB_DIR24_8)
        return family == IP4 ? &fib_dir24_8_kind4 : &fib_dir24_8_kind6;
    return family == IP4 ? &fib_lpm_kind4 : &fib_lpm_kind6;
}

static struct fib_dpdk *fib_dpdk_of(const struct fib *f)
{
    return (struct fib_dpdk *)f;
}

static const char *engine_name_of(const struct fib_dpdk *f)
{
    return fib_engine_name((enum fib_engine)f->fib.engine);
}

// --- size ---

static uint64_t words_bytes(const struct fib_capacity *c)
{
    return ((1ull << FIRST_BITS) + 256ull * c->tbl8) * 4;
}

static unsigned mib_of(const struct fib_dpdk_kind *k, const struct fib_capacity *c)
{
    return (unsigned)((words_bytes(c) + (uint64_t)c->routes * k->route_bytes) >> 20) + 1;
}

static uint32_t with_room(uint64_t n, uint32_t least)
{
    n += n / 2;
    return n < least ? least : n > INT32_MAX ? INT32_MAX : (uint32_t)n;
}

unsigned fib_engine_mib(enum fib_engine e, uint8_t family, size_t routes)
{
    // As many groups as Internet tables need: few in IPv4, one for three routes in IPv6.
    struct fib_capacity c = {.routes = with_room(routes, MIN_ROUTES),
                             .tbl8 = with_room(family == IP4 ? routes / 16 : routes / 3, MIN_TBL8)};

    return e == FIB_POPTRIE ? 0 : mib_of(find_kind(e, family), &c);
}

struct counting { // groups that all routes together need
    uint64_t n;
    bool any[16];
    uint8_t last[16][16]; // by number of leading bytes
};

// In poptrie_walk's order, routes with equal leading bytes are adjacent.
static int count_groups(void *ctx, const uint8_t *key, unsigned len, uint32_t value)
{
    struct counting *c = ctx;

    for (unsigned b = FIRST_BITS / 8; len > FIRST_BITS && b <= (len - 1) / 8; b++) {
        if (c->any[b] && !memcmp(c->last[b], key, b))
            continue;
        c->any[b] = true;
        memcpy(c->last[b], key, b);
        c->n++;
    }
    return 0;
}

static struct fib_capacity needed_capacity(const struct fib_dpdk *f)
{
    struct counting c = {0};
    struct poptrie_stats s;

    poptrie_usage(f->rib, &s);
    poptrie_walk(f->rib, count_groups, &c);
    return (struct fib_capacity){.routes = (uint32_t)s.routes, .tbl8 = (uint32_t)c.n};
}

// --- making a table ---

static void *create_table(const struct fib_dpdk *f, const struct fib_capacity *c)
{
    static _Atomic unsigned number; // DPDK needs unique names
    char name[16];
    unsigned mib = mib_of(f->kind, c);

    snprintf(name, sizeof name, "fib%u", atomic_fetch_add(&number, 1));
    void *table = f->kind->create(name, c);
    if (!table)
        log_error("fib: no DPDK memory for a table: engine=%s family=ipv%u routes=%u groups=%u "
                  "needs_mib=%u "
                  "remedy=\"set memory %u and restart kamueed, or set fib-engine poptrie\"",
                  engine_name_of(f), f->fib.family, c->routes, c->tbl8, mib,
                  eal_memory_mib() + mib);
    return table;
}

struct filling {
    const struct fib_dpdk *f;
    void *table;
};

static int fill_one(void *ctx, const uint8_t *key, unsigned len, uint32_t value)
{
    const struct filling *g = ctx;
    struct prefix p = {.family = g->f->fib.family, .len = (uint8_t)len};

    if (!len)
        return 0;
    memcpy(p.b, key, ip_bits(p.family) / 8);
    return g->f->kind->add(g->table, &p, value);
}

static void publish_table(struct fib_dpdk *f, void *table)
{
    void *old = f->table;

    rcu_publish(&f->table, table);
    if (f->retired) { // two in a row are rare
        grace_wait();
        f->kind->destroy(f->retired);
    }
    f->retired = old;
    f->ticket = grace_ticket();
}

// Groups to request. After a fault, twice the previous number, within limits: leaks then take
// longer to fill the table.
static uint32_t groups_to_ask(const struct fib_dpdk *f, uint32_t need, bool after_fault)
{
    uint32_t n = with_room(need, MIN_TBL8), most = with_room(8ull * need, 8 * MIN_TBL8);

    if (!after_fault || n >= f->capacity.tbl8 * 2)
        return n;
    return f->capacity.tbl8 * 2 < most ? f->capacity.tbl8 * 2 : most;
}

// Builds a large enough table from `rib` and switches readers to it.
static int rebuild_table(struct fib_dpdk *f, const char *why, bool after_fault)
{
    struct fib_capacity need = needed_capacity(f), c = {with_room(need.routes, MIN_ROUTES),
                                                        groups_to_ask(f, need.tbl8, after_fault)};
    uint64_t begin = clock_now_ns();

    for (;; c.tbl8 *= 2) { // rte_fib6 needs more groups than it uses
        void *table = create_table(f, &c);
        int r = table ? poptrie_walk(f->rib, fill_one, &(struct filling){f, table}) : -ENOMEM;

        if (!r) {
            publish_table(f, table);
            break;
        }
        if (table)
            f->kind->destroy(table);
        if (!table || r != -ENOSPC || c.tbl8 > MAX_TBL8) {
            f->retry_ns = clock_now_ns() + RETRY_NS;
            return r;
        }
    }
    f->capacity = c;
    f->rebuilds++;
    f->gave_back = false;
    log_info("fib: table rebuilt: engine=%s family=ipv%u why=\"%s\" routes=%u groups=%u ms=%llu",
             engine_name_of(f), f->fib.family, why, need.routes, need.tbl8,
             (unsigned long long)((clock_now_ns() - begin) / NS_PER_MS));
    return 0;
}

// --- distrust ---

static uint32_t table_answer(const struct fib_dpdk *f, const struct ip_addr *a)
{
    uint32_t found = 0;

    f->kind->find(f->table, a->b, &found, 1);
    return found ? found : f->default_nexthop;
}

static uint32_t right_answer(const struct fib_dpdk *f, const struct ip_addr *a)
{
    return f->fib.family == IP4 ? poptrie_find4(f->rib, a->ip4) : poptrie_find6(f->rib, a->b);
}

static bool is_right(const struct fib_dpdk *f, const struct ip_addr *a)
{
    return table_answer(f, a) == right_answer(f, a);
}

// Returns p's address with host bits from pattern[16].
static struct ip_addr address_in(const struct prefix *p, const uint8_t *pattern)
{
    struct ip_addr a = {.family = p->family};

    memcpy(a.b, p->b, sizeof a.b);
    for (unsigned i = p->len / 8; i < ip_bits(p->family) / 8; i++) {
        uint8_t host = i == p->len / 8u ? (uint8_t)(0xff >> p->len % 8) : 0xff;

        a.b[i] |= host & pattern[i];
    }
    return a;
}

static bool prefix_is_right(struct fib_dpdk *f, const struct prefix *p)
{
    static const uint8_t zeroes[16], ones[16] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                 255, 255, 255, 255, 255, 255, 255, 255};
    uint64_t within[2] = {hash_mix64(++f->random), hash_mix64(++f->random)};
    struct ip_addr first = address_in(p, zeroes), last = address_in(p, ones),
                   some = address_in(p, (const uint8_t *)within);

    return is_right(f, &first) && is_right(f, &last) && is_right(f, &some);
}

static void report_fault(struct fib_dpdk *f, const struct prefix *p, const char *what, int error)
{
    char text[PREFIX_TEXT_MAX];

    f->faults++;
    log_warning("fib: DPDK's table %s, rebuilding it: engine=%s family=ipv%u prefix=%s error=%d "
                "faults=%llu "
                "remedy=\"set fib-engine poptrie\"",
                what, engine_name_of(f), f->fib.family, prefix_format(p, text), error,
                (unsigned long long)f->faults);
}

// --- one change ---

// Brings the table in line with `rib` for p.
static int update_table(struct fib_dpdk *f, const struct prefix *p, uint32_t nexthop)
{
    poptrie_reclaim(f->rib, poptrie_epoch(f->rib)); // the writer is its only reader
    if (!p->len) {
        // A separate word: no ordering needed.
        __atomic_store_n(&f->default_nexthop, nexthop, __ATOMIC_RELAXED);
        return 0;
    }
    bool groups_move = p->len > FIRST_BITS;
    if (groups_move && (nexthop || f->kind->any_change_moves) && f->gave_back) {
        grace_wait();
        f->gave_back = false;
    }
    int r = nexthop ? f->kind->add(f->table, p, nexthop) : f->kind->del(f->table, p);
    f->gave_back |= groups_move && (!nexthop || f->kind->any_change_moves);
    f->recent[f->n_recent++ % RECENT] = *p;
    if (!r && prefix_is_right(f, p))
        return 0;
    if (clock_now_ns() < f->retry_ns) // memory ran out a moment ago
        return r ? r : -EIO;
    struct fib_capacity need = needed_capacity(f);
    bool full = r && (need.routes > f->capacity.routes || need.tbl8 > f->capacity.tbl8);
    if (!full)
        report_fault(f, p, r ? "refused a change although it had room" : "returned a wrong result",
                     r);
    r = rebuild_table(f, full ? "full" : "fault", !full);
    return r ? r : prefix_is_right(f, p) ? 0 : -EIO;
}

// Restores the previous route, so that a failed change leaves no trace.
static void restore_route(struct fib_dpdk *f, const struct prefix *p, uint32_t was)
{
    uint32_t now;

    poptrie_swap(f->rib, p->b, p->len, was, &now);
    if (was)
        f->kind->add(f->table, p, was);
    else
        f->kind->del(f->table, p);
}

static bool too_many(const struct fib_dpdk *f, uint64_t routes)
{
    return f->kind->max_routes && routes > f->kind->max_routes;
}

static int fib_dpdk_set(struct fib *fib, const struct prefix *p, uint32_t nexthop)
{
    struct fib_dpdk *f = fib_dpdk_of(fib);
    struct poptrie_stats s;
    uint32_t was;

    poptrie_usage(f->rib, &s);
    if (nexthop && too_many(f, s.routes + 1) && !poptrie_get(f->rib, p->b, p->len))
        return -E2BIG;
    int r = poptrie_swap(f->rib, p->b, p->len, nexthop, &was);
    if (r)
        return r;
    r = update_table(f, p, nexthop);
    if (r)
        restore_route(f, p, was);
    return r;
}

static uint32_t fib_dpdk_get(const struct fib *fib, const struct prefix *p)
{
    return poptrie_get(fib_dpdk_of(fib)->rib, p->b, p->len);
}

static const struct poptrie *fib_dpdk_routes(const struct fib *fib)
{
    return fib_dpdk_of(fib)->rib;
}

static int fib_dpdk_load(struct fib *fib, const struct fib_route *r, size_t n)
{
    struct fib_dpdk *f = fib_dpdk_of(fib);
    struct poptrie_route *route = fib_poptrie_routes(r, n);
    const struct prefix all = {.family = f->fib.family};
    int e = !route ? -ENOMEM : too_many(f, n) ? -E2BIG : poptrie_load(f->rib, route, n);

    free(route);
    if (!e && n)
        e = rebuild_table(f, "load", false);
    if (e)
        poptrie_load(f->rib, NULL, 0);
    else
        __atomic_store_n(&f->default_nexthop, poptrie_get(f->rib, all.b, 0), __ATOMIC_RELAXED);
    return e;
}

static void fib_dpdk_commit(struct fib *fib, bool changed)
{
    struct fib_dpdk *f = fib_dpdk_of(fib);
    unsigned known = f->n_recent < RECENT ? f->n_recent : RECENT;

    if (f->retired && grace_over(f->ticket)) {
        f->kind->destroy(f->retired);
        f->retired = NULL;
    }
    for (unsigned i = 0; changed && known && i < COMMIT_SAMPLES; i++) {
        const struct prefix *p = &f->recent[hash_mix64(++f->random) % known];

        if (prefix_is_right(f, p))
            continue;
        report_fault(f, p, "returned a wrong result", 0);
        rebuild_table(f, "fault", true);
        return;
    }
}

// --- showing, checking ---

static void fib_dpdk_stats(const struct fib *fib, struct fib_stats *s)
{
    const struct fib_dpdk *f = fib_dpdk_of(fib);
    struct poptrie_stats p;

    poptrie_usage(f->rib, &p);
    *s = (struct fib_stats){
        .routes = p.routes,
        .bytes_used = words_bytes(&f->capacity),
        .bytes_reserved = words_bytes(&f->capacity),
        .garbage_bytes = f->retired ? words_bytes(&f->capacity) : 0,
        .control_bytes =
            p.bytes_used + p.writer_bytes + (uint64_t)f->capacity.routes * f->kind->route_bytes,
        .updates = p.updates,
        .engine_faults = f->faults,
        .engine_rebuilds = f->rebuilds,
    };
}

struct checking {
    struct fib_dpdk *f;
    char *why;
    size_t n;
};

static int check_route(void *ctx, const uint8_t *key, unsigned len, uint32_t value)
{
    const struct checking *c = ctx;
    struct prefix p = {.family = c->f->fib.family, .len = (uint8_t)len};
    char text[PREFIX_TEXT_MAX];

    memcpy(p.b, key, ip_bits(p.family) / 8);
    if (prefix_is_right(c->f, &p))
        return 0;
    snprintf(
        c->why, c->n,
        "engine %s returns wrong results within %s: set fib-engine poptrie, or restart kamueed",
        engine_name_of(c->f), prefix_format(&p, text));
    return -EINVAL;
}

static int fib_dpdk_check(const struct fib *fib, char *why, size_t n)
{
    struct fib_dpdk *f = fib_dpdk_of(fib);
    int r = poptrie_check(f->rib, why, n);

    return r ? r : poptrie_walk(f->rib, check_route, &(struct checking){f, why, n});
}

// --- reader ---

static inline void fill_default(const struct fib_dpdk *f, uint32_t *nexthop, unsigned n)
{
    uint32_t other = __atomic_load_n(&f->default_nexthop, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < n; i++)
        nexthop[i] = nexthop[i] ? nexthop[i] : other;
}

static void fib_dpdk_find_bulk(const struct fib *fib, const void *dst, uint32_t *nexthop,
                               unsigned n)
{
    const struct fib_dpdk *f = fib_dpdk_of(fib);
    const size_t bytes = f->fib.family == IP4 ? 4 : 16;
    void *table = rcu_load(&f->table);

    for (unsigned k; n; dst = (const char *)dst + k * bytes, nexthop += k, n -= k) {
        k = n < FIB_DPDK_BURST ? n : FIB_DPDK_BURST;
        f->kind->find(table, dst, nexthop, k);
        fill_default(f, nexthop, k);
    }
}

// --- life ---

static void fib_dpdk_free(struct fib *fib)
{
    struct fib_dpdk *f = fib_dpdk_of(fib);

    if (f->retired)
        f->kind->destroy(f->retired);
    if (f->table)
        f->kind->destroy(f->table);
    poptrie_free(f->rib);
    free(f);
}

static const struct fib_ops ops = {
    .free = fib_dpdk_free,
    .set = fib_dpdk_set,
    .get = fib_dpdk_get,
    .routes = fib_dpdk_routes,
    .load = fib_dpdk_load,
    .publish = fib_dpdk_commit,
    .stats = fib_dpdk_stats,
    .check = fib_dpdk_check,
    .find_bulk = fib_dpdk_find_bulk,
};

struct fib *fib_dpdk_new(uint8_t family, enum fib_engine engine)
{
    struct poptrie_config cfg = {.key_bits = ip_bits(family)};
    struct fib_dpdk *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->fib.ops = &ops;
    f->kind = find_kind(engine, family);
    f->fib.family = family;
    f->fib.engine = (uint8_t)engine;
    f->capacity = (struct fib_capacity){MIN_ROUTES, MIN_TBL8};
    f->rib = poptrie_new(&cfg);
    f->table = f->rib ? create_table(f, &f->capacity) : NULL;
    if (!f->table) {
        fib_dpdk_free(&f->fib);
        errno = ENOMEM;
        return NULL;
    }
    return &f->fib;
}
