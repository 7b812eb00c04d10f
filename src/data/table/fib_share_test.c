// SPDX-License-Identifier: BSD-3-Clause
// fib_share_test.c - FIBs that share: each router has its own next hops, and equal parts exist once
//
// Next hop `way` of router k is the id IDS * (k + 1) + way, so every lookup result must be one of
// the router's own ids.
#include "table/fib_fixture.h"
#include <stdatomic.h>
#include <unistd.h>

#include "poptrie/poptrie.h"
#include "table/fib_engine.h"
#include "tests/unit.h"

#define ROUTERS 4
#define IDS 1000u
#define ROUTES 3000u
#define WAYS 40u

static struct fib *router[ROUTERS];
static struct fib_route route[ROUTES]; // nexthop: the way
static uint32_t now[ROUTERS][ROUTES];  // the router's id for it, 0 = none

static uint32_t id_of(unsigned k, uint32_t way)
{
    return IDS * (k + 1) + way;
}

static int open_routers(void **state)
{
    uint8_t family = *(uint8_t *)*state;

    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    srandom(7);
    for (unsigned i = 0; i < ROUTES; i++) { // all distinct, many adjacent
        struct prefix *p = &route[i].prefix;
        *p = (struct prefix){.family = family, .len = family == IP4 ? 24 : 48};
        p->b[0] = family == IP4 ? 10 : 0x20;
        p->b[1] = (uint8_t)(i >> 8);
        p->b[2] = (uint8_t)i;
        p->len = (uint8_t)(p->len + (i % 7 == 0 ? 2 : 0));
        route[i].nexthop = 1 + (uint32_t)random() % WAYS;
    }
    for (unsigned k = 0; k < ROUTERS; k++) {
        router[k] = fib_new(family, FIB_POPTRIE);
        if (!router[k])
            return 1;
    }
    memset(now, 0, sizeof now);
    return 0;
}

static int close_routers(void **state)
{
    rcu_barrier();
    for (unsigned k = 0; k < ROUTERS; k++)
        fib_free(router[k]);
    return 0;
}

static void put(unsigned k, unsigned i, uint32_t way)
{
    if (way)
        assert_int_equal(fib_set(router[k], &route[i].prefix, id_of(k, way)), 0);
    else
        assert_int_equal(fib_del(router[k], &route[i].prefix), now[k][i] ? 0 : -ENOENT);
    now[k][i] = way ? id_of(k, way) : 0;
}

static struct ip_addr address_in(unsigned i)
{
    struct ip_addr a = {.family = route[i].prefix.family};

    memcpy(a.b, route[i].prefix.b, 16);
    a.b[a.family == IP4 ? 3 : 15] |= 1;
    return a;
}

static void check_routers(void)
{
    const struct fib *of[FIB_EACH_MAX];
    uint16_t which[FIB_EACH_MAX];
    uint32_t want[FIB_EACH_MAX], got[FIB_EACH_MAX];
    ip4_t dst4[FIB_EACH_MAX];
    uint8_t dst6[FIB_EACH_MAX][16];
    struct prefix all = {.family = route[0].prefix.family};

    for (unsigned round = 0; round < 100; round++) {
        for (unsigned n = 0; n < FIB_EACH_MAX; n++) {
            unsigned k = (unsigned)random() % ROUTERS, i = (unsigned)random() % ROUTES;
            struct ip_addr a = address_in(i);
            which[n] = (uint16_t)(FIB_EACH_MAX - 1 - n);
            of[which[n]] = fib_near(router[k], n % mem_nodes());
            dst4[n] = a.ip4;
            memcpy(dst6[n], a.b, 16);
            want[n] = now[k][i] ? now[k][i] : fib_get(router[k], &all);
            assert_int_equal(fib_find(of[which[n]], &a), want[n]);
            assert_int_equal(fib_get(router[k], &route[i].prefix), now[k][i]);
        }
        if (route[0].prefix.family == IP4)
            fib_find4_each(of, which, dst4, got, FIB_EACH_MAX);
        else
            fib_find6_each(of, which, (const uint8_t(*)[16])dst6, got, FIB_EACH_MAX);
        assert_memory_equal(got, want, sizeof got);
    }
    for (unsigned k = 0; k < ROUTERS; k++) {
        char why[160] = "";
        if (fib_check(router[k], why, sizeof why))
            fail_msg("%s", why);
    }
}

static uint64_t shared(unsigned k)
{
    struct fib_stats s;

    fib_stats(router[k], &s);
    return s.bytes_shared;
}

static void one_router_has_ids_for_values(void **state)
{
    for (unsigned i = 0; i < ROUTES; i++)
        put(0, i, route[i].nexthop);
    fib_commit(router[0]);
    assert_null(router[0]->hops);
    check_routers();
    assert_int_equal(shared(0), 0);
}

static void routers_with_equal_routes_share_them_whatever_their_next_hops(void **state)
{
    uint64_t all;

    for (unsigned k = 0; k < ROUTERS; k++) {
        for (unsigned i = 0; i < ROUTES; i++) { // each in a different order
            unsigned at = (i * (2 * k + 1) * 7 + k * 991) % ROUTES;
            put(k, at, route[at].nexthop);
        }
        for (unsigned at = 0; at < ROUTES; at++)
            if (!now[k][at])
                put(k, at, route[at].nexthop);
        fib_commit(router[k]);
    }
    check_routers();
    all = shared(0);
    assert_true(all > 0);
    for (unsigned k = 1; k < ROUTERS; k++)
        assert_int_equal(shared(k), all);
    for (unsigned i = 0; i < ROUTES; i += 5) // one router diverges and comes back
        put(2, i, WAYS + 1 + i % 3);
    fib_commit(router[2]);
    check_routers();
    assert_true(shared(2) < all);
    for (unsigned i = 0; i < ROUTES; i += 5)
        put(2, i, route[i].nexthop);
    fib_commit(router[2]);
    check_routers();
    assert_int_equal(shared(2), all);
}

// As at startup: the kernels of all routers report at the same time, neighbors first, and each
// router has different neighbors.
static void routers_share_what_they_are_told_of_at_the_same_time(void **state)
{
    const unsigned bits = ip_bits(route[0].prefix.family);

    for (unsigned k = 0; k < ROUTERS; k++)
        for (uint32_t way = 1; way <= WAYS; way++) {
            struct prefix host = {.family = route[0].prefix.family,
                                  .len = (uint8_t)bits,
                                  .b = {0x2a}},
                          net = {.family = host.family, .len = 2};
            host.b[bits / 8 - 1] = (uint8_t)way;
            net.b[0] = (uint8_t)(way << 6);
            assert_int_equal(fib_set(router[k], &host, id_of(k, 1 + (way + 7 * k) % WAYS)), 0);
            assert_int_equal(fib_set(router[k], &net, id_of(k, 1 + (way + 5 * k) % WAYS)), 0);
        }
    for (unsigned step = 0; step < ROUTES + 100 * ROUTERS;
         step++) // each a bit ahead of the next router, at times behind it
        for (unsigned k = 0; k < ROUTERS; k++) {
            unsigned at = step - 100 * (step / 500 % 2 ? k : ROUTERS - 1 - k), i = at * 7 % ROUTES;
            if (at < ROUTES && !now[k][i])
                put(k, i, route[i].nexthop);
            if (step % 64 == k)
                fib_commit(router[k]);
        }
    for (unsigned k = 0; k < ROUTERS; k++) {
        for (unsigned i = 0; i < ROUTES; i++)
            if (!now[k][i])
                put(k, i, route[i].nexthop);
        fib_commit(router[k]);
    }
    for (unsigned k = 0; k < ROUTERS; k++) {
        struct fib_stats s;
        fib_stats(router[k], &s);
        // directory pages, and a block or two with the hosts
        assert_in_range(s.bytes_used - s.bytes_shared, 0, 4 * 4096 + 2048);
    }
    check_routers();
}

static void loads_share_as_changes_do(void **state)
{
    static struct fib_route r[ROUTES];

    for (unsigned k = 0; k < ROUTERS; k++) {
        for (unsigned i = 0; i < ROUTES; i++) {
            r[i] = (struct fib_route){route[i].prefix, id_of(k, route[i].nexthop)};
            now[k][i] = r[i].nexthop;
        }
        assert_int_equal(fib_load(router[k], r, ROUTES), 0);
        fib_commit(router[k]);
    }
    check_routers();
    assert_true(shared(3) > 0);
    assert_int_equal(shared(0), shared(3));
}

// Routes over one next hop in one router use two in another: both are offered the same number.
static void loads_with_other_groupings_keep_routes_apart(void **state)
{
    static struct fib_route r[ROUTES];

    for (unsigned k = 0; k < ROUTERS; k++) {
        for (unsigned i = 0; i < ROUTES; i++) {
            now[k][i] = id_of(k, k == 0 ? 1 : 1 + (route[i].nexthop + i) % (WAYS * k));
            r[i] = (struct fib_route){route[i].prefix, now[k][i]};
        }
        assert_int_equal(fib_load(router[k], r, ROUTES), 0);
        fib_commit(router[k]);
        check_routers();
    }
}

static void random_changes_of_all_equal_what_was_set(void **state)
{
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned n = 0; n < 400; n++) {
            unsigned i = (unsigned)random() % ROUTES;
            uint32_t way =
                random() % 3 ? route[i].nexthop + (random() % 5 ? 0 : (uint32_t)random() % 900) : 0;
            if (way >= IDS)
                way = 1;
            for (unsigned k = 0; k < ROUTERS; k++)
                if (random() % 8) // most get the same
                    put(k, i, way);
        }
        for (unsigned k = 0; k < ROUTERS; k++)
            if (random() % 3)
                fib_commit(router[k]);
        if (round % 10 == 5) { // free numbers are reassigned
            rcu_barrier();
            for (unsigned i = 0; i < ROUTES; i++)
                if (now[round / 10 % ROUTERS][i])
                    put(round / 10 % ROUTERS, i, 0);
            fib_commit(router[round / 10 % ROUTERS]);
        }
        if (round % 5 == 0)
            check_routers();
    }
    check_routers();
}

// --- more routers than an estate has places ---

#define CROWD (POPTRIE_TABLES_MAX + 3u)
#define CROWD_ROUTES 200u

static struct fib *crowd[CROWD];

static uint32_t crowd_id(unsigned k, unsigned i) // unique to router k
{
    return 1 + 100 * k + route[i].nexthop;
}

static void crowd_join(unsigned k, uint8_t family)
{
    crowd[k] = fib_new(family, FIB_POPTRIE);
    assert_non_null(crowd[k]);
    for (unsigned i = 0; i < CROWD_ROUTES; i++)
        assert_int_equal(fib_set(crowd[k], &route[i].prefix, crowd_id(k, i)), 0);
    fib_commit(crowd[k]);
}

static uint64_t crowd_shared(unsigned k)
{
    struct fib_stats s;

    fib_stats(crowd[k], &s);
    return s.bytes_shared;
}

// Bursts over all FIBs, and bursts of one estate with a single packet of another.
static void check_crowd(uint8_t family)
{
    const struct fib *of[FIB_EACH_MAX];
    uint16_t which[FIB_EACH_MAX];
    uint32_t want[FIB_EACH_MAX], got[FIB_EACH_MAX];
    ip4_t dst4[FIB_EACH_MAX];
    uint8_t dst6[FIB_EACH_MAX][16];

    for (unsigned round = 0; round < 300; round++) {
        unsigned n = 1 + (unsigned)random() % FIB_EACH_MAX, stray = (unsigned)random() % n;
        for (unsigned at = 0; at < n; at++) {
            unsigned k = (unsigned)random() % CROWD, i = (unsigned)random() % CROWD_ROUTES;
            if (round % 3)
                k = (at == stray) == (round % 3 == 1) ? CROWD - 1 - k % 3 : k % (CROWD - 3);
            struct ip_addr a = address_in(i);
            which[at] = (uint16_t)(n - 1 - at);
            of[which[at]] = fib_near(crowd[k], round % mem_nodes());
            dst4[at] = a.ip4;
            memcpy(dst6[at], a.b, 16);
            want[at] = crowd_id(k, i);
        }
        if (family == IP4)
            fib_find4_each(of, which, dst4, got, n);
        else
            fib_find6_each(of, which, (const uint8_t(*)[16])dst6, got, n);
        assert_memory_equal(got, want, n * sizeof *got);
    }
}

// The estate that open_routers created has places for all but the last few routers: those share
// with each other, but not with the first estate.
static void routers_beyond_an_estate_have_another_one(void **state)
{
    const uint8_t family = *(uint8_t *)*state;

    for (unsigned k = 0; k < ROUTERS; k++)
        fib_free(router[k]);
    for (unsigned k = 0; k < CROWD - 2; k++)
        crowd_join(k, family);
    assert_int_equal(crowd_shared(CROWD - 3), 0);
    assert_true(crowd_shared(CROWD - 4) > 0);
    for (unsigned k = CROWD - 2; k < CROWD; k++)
        crowd_join(k, family);
    assert_true(crowd_shared(CROWD - 3) > 0);
    check_crowd(family);
    for (unsigned k = 3; k < CROWD;
         k += 31) { // some leave; others join and take their places, in any estate
        rcu_barrier();
        fib_free(crowd[k]);
        crowd_join(k, family);
        assert_true(crowd_shared(k) > 0);
        check_crowd(family);
    }
    rcu_barrier();
    for (unsigned k = 0; k < CROWD; k++) {
        char why[160] = "";
        if (k + 3 >= CROWD && fib_check(crowd[k], why, sizeof why))
            fail_msg("%s", why);
        fib_free(crowd[k]);
    }
    for (unsigned k = 0; k < ROUTERS; k++)
        router[k] = fib_new(family, FIB_POPTRIE);
}

static size_t bytes_in_memory(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    unsigned long all, resident;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &all, &resident), 2);
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

#define MANY 300u

static void many_small_ones_cost_little(void **state)
{
    static struct fib *many[MANY];
    size_t before = bytes_in_memory();

#ifdef __SANITIZE_ADDRESS__
    skip(); // it uses extra memory for ours
#endif
    for (unsigned k = 0; k < MANY; k++) {
        many[k] = fib_new(*(uint8_t *)*state, FIB_POPTRIE);
        assert_non_null(many[k]);
        assert_int_equal(fib_load(many[k], NULL, 0), 0);
        fib_commit(many[k]);
    }
    assert_true(bytes_in_memory() < before + MANY * (16 << 10));
    for (unsigned k = 0; k < MANY; k++) {
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(fib_set(many[k], &route[i].prefix, crowd_id(k, i)), 0);
        fib_commit(many[k]);
    }
    assert_true(bytes_in_memory() < before + MANY * (160 << 10));
    rcu_barrier();
    for (unsigned k = 0; k < MANY; k++)
        fib_free(many[k]);
    assert_true(bytes_in_memory() < before + MANY * (16 << 10));
}

// Route i (at most 2048), which no other router has; routes of one router are mostly far apart.
static struct prefix lonely(unsigned k, unsigned i, uint8_t family)
{
    struct prefix p = {.family = family, .len = family == IP4 ? 24 : 48};
    unsigned where = i * 1237 % 2048;
    uint8_t v4[] = {(uint8_t)(10 + (where >> 8)), (uint8_t)where, (uint8_t)k},
            v6[] = {0x20, (uint8_t)where, (uint8_t)(where >> 3), (uint8_t)(k >> 8), (uint8_t)k};

    if (family == IP4)
        memcpy(p.b, v4, sizeof v4);
    else
        memcpy(p.b, v6, sizeof v6);
    return p;
}

static uint64_t told_bytes(struct fib *const *f, unsigned n)
{
    uint64_t sum = 0;

    for (unsigned k = 0; k < n; k++) {
        struct fib_stats s;

        fib_stats(f[k], &s);
        sum += s.bytes_used * (s.copies ? s.copies : 1) + s.control_bytes;
    }
    return sum;
}

static struct fib *lonely_router(unsigned k, uint8_t family, unsigned routes)
{
    struct fib *f = fib_new(family, FIB_POPTRIE);

    assert_non_null(f);
    for (unsigned i = 0; i < routes; i++) {
        struct prefix p = lonely(k, i, family);

        assert_int_equal(fib_set(f, &p, 1 + i % WAYS), 0);
    }
    fib_commit(f);
    return f;
}

// The reported memory matches the growth of the process within a third.
static void they_say_what_memory_they_have(void **state)
{
    static const unsigned sizes[] = {0, 10, 300, 2000};
    const uint8_t family = *(uint8_t *)*state;
    static struct fib *many[MANY];

#ifdef __SANITIZE_ADDRESS__
    skip(); // it uses extra memory for ours
#endif
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const unsigned n = sizes[s] < 1000 ? MANY : 30;
        size_t before = bytes_in_memory();

        for (unsigned k = 0; k < n; k++)
            many[k] = lonely_router(k, family, sizes[s]);
        double told = (double)told_bytes(many, n) / n,
               has = ((double)bytes_in_memory() - (double)before) / n;
        print_message("%u routes: %.0f bytes told, %.0f in memory\n", sizes[s], told, has);
        if (told > has * 4 / 3 + 8192 || told < has * 2 / 3 - 8192)
            fail_msg("%u routes: %.0f bytes told, %.0f in memory", sizes[s], told, has);
        rcu_barrier();
        for (unsigned k = 0; k < n; k++)
            fib_free(many[k]);
    }
}

// Scattered routes, one router after the other, leave pages that are given back on demand.
static void memory_that_routes_have_left_is_given_back(void **state)
{
    const uint8_t family = *(uint8_t *)*state;
    struct fib *empty = lonely_router(0, family, 0), *f = lonely_router(1, family, 300);
    struct fib *const one[] = {empty}, *const other[] = {f};
    uint64_t full;

    for (unsigned i = 0; i < 10 * 2048; i++) { // enough to put the directory on huge pages
        struct prefix p = lonely(2 + i / 2048, i % 2048, family);

        assert_int_equal(fib_set(f, &p, 1 + i % WAYS), 0);
    }
    fib_commit(f);
    full = told_bytes(other, 1);
    assert_true(full > 1 << 20);
    for (unsigned i = 0; i < 300 + 10 * 2048; i++) {
        struct prefix p = i < 300 ? lonely(1, i, family)
                                  : lonely(2 + (i - 300) / 2048, (i - 300) % 2048, family);

        assert_int_equal(fib_del(f, &p), 0);
    }
    fib_commit(f);
    rcu_barrier();
    fib_commit(f);
    fib_trim(f);
    assert_true(told_bytes(other, 1) < told_bytes(one, 1) + 64 * 1024);
    assert_true(told_bytes(other, 1) < full);
    for (unsigned i = 0; i < 300; i++) {
        struct prefix p = lonely(1, i, family);

        assert_int_equal(fib_get(f, &p), 0);
        assert_int_equal(fib_set(f, &p, 1 + i % WAYS), 0);
    }
    fib_commit(f);
    char why[160] = "";
    if (fib_check(f, why, sizeof why))
        fail_msg("%s", why);
    fib_free(empty);
    fib_free(f);
}

// Lookups while a virtual router is being created or removed.
static void a_burst_with_a_router_that_is_none_finds_the_others_routes(void **state)
{
    const uint8_t family = route[0].prefix.family;
    const struct fib *of[2] = {router[1], fib_none(family)};
    uint16_t which[FIB_EACH_MAX];
    uint32_t got[FIB_EACH_MAX];
    ip4_t dst4[FIB_EACH_MAX];
    uint8_t dst6[FIB_EACH_MAX][16];
    struct ip_addr a;

    for (unsigned i = 0; i < FIB_EACH_MAX; i++) {
        put(1, i, 1 + i % WAYS);
        a = address_in(i);
        which[i] = i % 3 == 1;
        dst4[i] = a.ip4;
        memcpy(dst6[i], a.b, 16);
    }
    fib_commit(router[1]);
    if (family == IP4)
        fib_find4_each(of, which, dst4, got, FIB_EACH_MAX);
    else
        fib_find6_each(of, which, (const uint8_t(*)[16])dst6, got, FIB_EACH_MAX);
    for (unsigned i = 0; i < FIB_EACH_MAX; i++)
        assert_int_equal(got[i], which[i] ? 0 : id_of(1, 1 + i % WAYS));
    assert_int_equal(fib_find(fib_none(family), &a), 0);
    assert_int_equal(fib_path(fib_none(family), &a, NULL, 0), 0);
}

// --- readers ---

static _Atomic bool stop;
static _Atomic uint64_t n_wrong, n_read;

static void read_all(void *arg)
{
    const struct fib *const *of = (const struct fib *const *)router;
    uint16_t which[FIB_EACH_MAX];
    uint32_t got[FIB_EACH_MAX], x = 12345;
    ip4_t dst4[FIB_EACH_MAX];
    uint8_t dst6[FIB_EACH_MAX][16];

    rcu_online();
    while (!stop) {
        for (unsigned n = 0; n < FIB_EACH_MAX; n++) {
            x = x * 1103515245 + 12345;
            struct ip_addr a = address_in(x / 65536 % ROUTES);
            dst4[n] = a.ip4;
            memcpy(dst6[n], a.b, 16);
            which[n] = (uint16_t)((x >> 8) % ROUTERS);
        }
        if (route[0].prefix.family == IP4)
            fib_find4_each(of, which, dst4, got, FIB_EACH_MAX);
        else
            fib_find6_each(of, which, (const uint8_t(*)[16])dst6, got, FIB_EACH_MAX);
        for (unsigned n = 0; n < FIB_EACH_MAX; n++) {
            unsigned k = which[n];
            // There is always a route, over a next hop of the router.
            n_wrong += got[n] <= IDS * (k + 1) || got[n] >= IDS * (k + 2);
        }
        if (route[0].prefix.family == IP4) {
            fib_find4_bulk(router[1], dst4, got, FIB_EACH_MAX);
            for (unsigned n = 0; n < FIB_EACH_MAX; n++)
                n_wrong += got[n] <= IDS * 2 || got[n] >= IDS * 3;
        }
        n_read += FIB_EACH_MAX;
        rcu_quiescent();
    }
    rcu_offline();
}

static void readers_never_find_what_another_router_has(void **state)
{
    struct prefix all = {.family = route[0].prefix.family};
    struct thread *t;

    for (unsigned k = 0; k < ROUTERS; k++) {
        assert_int_equal(fib_set(router[k], &all, id_of(k, 999)), 0);
        fib_commit(router[k]);
    }
    stop = false;
    n_wrong = n_read = 0;
    assert_int_equal(thread_start(&t, ROLE_TAP_MANAGER, 2, "reader", -1, read_all, NULL), 0);
    for (unsigned step = 0; step < 1500 || n_read < 200000; step++) {
        unsigned i = (unsigned)random() % ROUTES;
        // Many ways, so that numbers change owners.
        uint32_t way = random() % 4 ? 1 + (uint32_t)random() % 900 : 0;
        for (unsigned n = 0; n < 20; n++, i = (i + 1) % ROUTES)
            for (unsigned k = 0; k < ROUTERS; k++)
                put(k, i, n % 5 || k != step % ROUTERS ? way : 1 + step % 900);
        for (unsigned k = 0; k < ROUTERS; k++)
            fib_commit(router[k]);
    }
    stop = true;
    thread_join(t);
    assert_int_equal(n_wrong, 0);
    check_routers();
}

#define SHARE_TEST(f) {#f, f, open_routers, close_routers, NULL}

int main(void)
{
    static uint8_t family[] = {IP4, IP6};
    struct CMUnitTest tests[] = {
        SHARE_TEST(one_router_has_ids_for_values),
        SHARE_TEST(routers_with_equal_routes_share_them_whatever_their_next_hops),
        SHARE_TEST(routers_share_what_they_are_told_of_at_the_same_time),
        SHARE_TEST(loads_share_as_changes_do),
        SHARE_TEST(loads_with_other_groupings_keep_routes_apart),
        SHARE_TEST(random_changes_of_all_equal_what_was_set),
        SHARE_TEST(routers_beyond_an_estate_have_another_one),
        SHARE_TEST(many_small_ones_cost_little),
        SHARE_TEST(they_say_what_memory_they_have),
        SHARE_TEST(memory_that_routes_have_left_is_given_back),
        SHARE_TEST(a_burst_with_a_router_that_is_none_finds_the_others_routes),
        SHARE_TEST(readers_never_find_what_another_router_has),
    };
    int failed = 0;

    fib_fixture_begin("fib_share_test");
    for (unsigned nodes = 1; nodes <= 2; nodes++) {
        mem_nodes_set(nodes);
        for (unsigned f = 0; f < 2; f++) {
            for (unsigned i = 0; i < sizeof tests / sizeof *tests; i++)
                tests[i].initial_state = &family[f];
            failed +=
                unit_group_run("fib_share", tests, sizeof tests / sizeof *tests, NULL, NULL);
        }
    }
    return fib_fixture_end(failed);
}
