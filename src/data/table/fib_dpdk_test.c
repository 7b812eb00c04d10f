// SPDX-License-Identifier: BSD-3-Clause
// fib_dpdk_test.c - DPDK's tables fill up, run out of memory and lose routes: detected and repaired
#include "table/fib_fixture.h"
#include <rte_fib.h>
#include <rte_version.h>

static void full_table_gives_way_to_a_larger_one(void **state)
{
    enum { N = 7000 };
    struct fib_stats s;
    struct ip_addr a = {.family = IP4};

    for (uint32_t i = 0; i < N; i++) { // more groups than fit into an empty table
        struct prefix p = {.family = IP4, .len = 32, .ip4 = htonl(0x0b000000u | i << 8 | 1)};
        assert_int_equal(fib_set(fib, &p, 1 + i), 0);
    }
    fib_commit(fib);
    fib_stats(fib, &s);
    assert_int_equal(s.routes, N);
    assert_true(s.engine_rebuilds > 0);
    assert_int_equal(s.engine_faults, 0);
    for (uint32_t i = 0; i < N; i++) {
        a.ip4 = htonl(0x0b000000u | i << 8 | 1);
        assert_int_equal(fib_find(fib, &a), 1 + i);
    }
    check();
}

static void no_memory_refuses_the_change_and_keeps_the_table(void **state)
{
    struct fib *hog[64];
    unsigned n = 0;
    uint32_t i = 0;
    int r = 0;

    while (n < 64 && (hog[n] = fib_new(IP4, engine)))
        n++;
    assert_int_equal(errno, ENOMEM);
    assert_true(n < 64);
    assert_true(fib_engine_mib(engine, IP4, 0) >= 64);
    for (; i < 20000 && !r; i++) {
        struct prefix p = {.family = IP4, .len = 32, .ip4 = htonl(0x0b000000u | i << 8 | 1)};
        r = fib_set(fib, &p, 1 + i);
    }
    assert_true(r == -ENOMEM || r == -ENOSPC);
    assert_int_equal(find("11.0.0.1"), 1);
    struct ip_addr refused = {.family = IP4, .ip4 = htonl(0x0b000000u | (i - 1) << 8 | 1)};
    assert_int_equal(fib_find(fib, &refused), 0);
    check();
    while (n)
        fib_free(hog[--n]);
}

static void lpm_refuses_more_routes_than_it_takes_and_stays_usable(void **state)
{
    enum { N = 150001 };
    struct fib_route *r = calloc(N, sizeof *r);
    struct fib_stats s;

    for (uint32_t i = 0; i < N; i++) {
        r[i].prefix =
            (struct prefix){.family = IP4, .len = 24, .ip4 = htonl(0x14000000u + (i << 8))};
        r[i].nexthop = 1 + i % 60000;
    }
    assert_int_equal(fib_load(fib, r, N), -E2BIG);
    fib_stats(fib, &s);
    assert_int_equal(s.routes, 0);
    assert_int_equal(find("20.0.0.1"), 0);
    assert_int_equal(fib_load(fib, r, 20000), 0);
    fib_commit(fib);
    assert_int_equal(find("20.0.1.1"), 2);
    check();
    free(r);
}

// DPDK 22.11's rte_fib6 miscounts and loses routes here; users must not notice.
static void churn_of_ipv6_loses_nothing_and_faults_are_counted(void **state)
{
    enum { N = 3000 };
    struct fib_route *r = calloc(N, sizeof *r);
    struct fib_stats s;

    srandom(8);
    for (unsigned i = 0; i < N; i++) {
        r[i].prefix = (struct prefix){.family = IP6, .len = (uint8_t)(24 + random() % 41)};
        for (unsigned k = 0; k < 8; k++)
            r[i].prefix.b[k] = k ? (uint8_t)(random() & 0x0f) : 0x20;
        prefix_canon(&r[i].prefix);
    }
    for (unsigned n = 0; n < 60000; n++) {
        struct fib_route *x = &r[(unsigned)random() % N];
        bool there = fib_get(fib, &x->prefix);

        if (there)
            assert_int_equal(fib_del(fib, &x->prefix), 0);
        else
            assert_int_equal(fib_set(fib, &x->prefix, 1 + n % 60000), 0);
        if (n % 100 == 0)
            fib_commit(fib);
    }
    check();
    fib_stats(fib, &s);
    print_message("faults repaired: %llu, tables made anew: %llu\n",
                  (unsigned long long)s.engine_faults, (unsigned long long)s.engine_rebuilds);
    assert_true(s.engine_rebuilds >= s.engine_faults);
    if (engine == FIB_DIR24_8 && RTE_VER_YEAR == 22)
        assert_true(s.engine_faults > 0);
    free(r);
}

// Simulates a route lost inside DPDK's table by deleting it behind our back.
static void lost_route_is_found_by_check_and_healed_by_commits(void **state)
{
    struct rte_fib *table = NULL;
    struct fib_stats s;
    char name[16], why[160];

    for (unsigned i = 0; !table && i < 10000; i++) {
        snprintf(name, sizeof name, "fib%u", i);
        table = rte_fib_find_existing(name);
    }
    assert_non_null(table);
    set("10.0.0.0/8", 1);
    set("10.1.0.0/16", 2);
    fib_commit(fib);
    assert_int_equal(rte_fib_delete(table, 0x0a010000, 16), 0);
    assert_int_equal(find("10.1.2.3"), 1);
    assert_int_equal(fib_check(fib, why, sizeof why), -EINVAL);
    for (unsigned i = 0; i < 100; i++) {
        set("192.0.2.0/24", 3 + i);
        fib_commit(fib);
    }
    assert_int_equal(find("10.1.2.3"), 2);
    fib_stats(fib, &s);
    assert_int_equal(s.engine_faults, 1);
    check();
}

int main(void)
{
    static const struct CMUnitTest of_both[] = {
        TEST(full_table_gives_way_to_a_larger_one, open4),
        TEST(no_memory_refuses_the_change_and_keeps_the_table, open4),
        TEST(churn_of_ipv6_loses_nothing_and_faults_are_counted, open6),
    }, of_dir24_8[] = {
        TEST(lost_route_is_found_by_check_and_healed_by_commits, open4),
    }, of_lpm[] = {
        TEST(lpm_refuses_more_routes_than_it_takes_and_stays_usable, open4),
    };
    int failed = 0;

    fib_fixture_begin("fib_dpdk_test");
    failed += run_with(FIB_DIR24_8, TESTS(of_both));
    failed += run_with(FIB_DIR24_8, TESTS(of_dir24_8));
    failed += run_with(FIB_LPM, TESTS(of_both));
    failed += run_with(FIB_LPM, TESTS(of_lpm));
    return fib_fixture_end(failed);
}
