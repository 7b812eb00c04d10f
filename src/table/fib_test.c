// SPDX-License-Identifier: BSD-3-Clause
// fib_test.c - every engine answers alike; readers see old or new and nothing else
//
// The same tests run over each engine: random changes against a naive model,
// default and host routes, bulk load, a reader beside a writer. What only one
// engine has (poptrie's garbage, DPDK's tables that fill up) has tests of its own.
#include "table/fib.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <rte_fib.h>
#include <rte_version.h>

#include "core/eal.h"
#include "core/rcu.h"
#include "core/thread.h"

static struct fib *fib;
static enum fib_engine engine;

static int open_family(void **state, uint8_t family)
{
    engine = *(enum fib_engine *)*state;
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    fib = fib_new(family, engine);
    return !fib;
}

static int open4(void **state)
{
    return open_family(state, IP4);
}

static int open6(void **state)
{
    return open_family(state, IP6);
}

static int close_fib(void **state)
{
    rcu_barrier();
    fib_free(fib);
    return 0;
}

static struct prefix prefix_of(const char *text)
{
    struct prefix p;

    assert_int_equal(prefix_parse(text, &p, false), 0);
    return p;
}

static uint32_t find(const char *text)
{
    struct ip_addr a;

    assert_int_equal(ip_parse(text, &a), 0);
    return fib_find(fib, &a);
}

static void set(const char *text, uint32_t nexthop)
{
    struct prefix p = prefix_of(text);

    assert_int_equal(fib_set(fib, &p, nexthop), 0);
}

static void check(void)
{
    char why[160] = "";

    if (fib_check(fib, why, sizeof why))
        fail_msg("%s", why);
}

static void find_after_withdraw_returns_covering_route(void **state)
{
    struct prefix p = prefix_of("10.1.2.0/24");

    set("10.0.0.0/8", 1);
    set("10.1.2.0/24", 2);
    fib_commit(fib);
    assert_int_equal(find("10.1.2.3"), 2);
    assert_int_equal(find("10.9.9.9"), 1);
    assert_int_equal(fib_get(fib, &p), 2);
    assert_int_equal(fib_del(fib, &p), 0);
    assert_int_equal(fib_del(fib, &p), -ENOENT);
    fib_commit(fib);
    assert_int_equal(find("10.1.2.3"), 1);
    assert_int_equal(find("11.0.0.1"), 0);
    check();
}

static void family_6_finds_longest_match_one_by_one_and_in_bulk(void **state)
{
    uint8_t dst[3][16];
    uint32_t nh[3];

    set("2001:db8::/32", 7);
    set("2001:db8:1::/48", 8);
    fib_commit(fib);
    assert_int_equal(find("2001:db8:1::5"), 8);
    inet_pton(AF_INET6, "2001:db8:1::5", dst[0]);
    inet_pton(AF_INET6, "2001:db8:2::5", dst[1]);
    inet_pton(AF_INET6, "2001:db9::", dst[2]);
    fib_find6_bulk(fib, (const uint8_t(*)[16])dst, nh, 3);
    assert_int_equal(nh[0], 8);
    assert_int_equal(nh[1], 7);
    assert_int_equal(nh[2], 0);
    check();
}

static void impossible_next_hop_is_refused_and_nothing_changes(void **state)
{
    struct prefix p = prefix_of("10.0.0.0/8");

    set("10.0.0.0/8", 5);
    assert_int_equal(fib_set(fib, &p, 0), -ERANGE);
    assert_int_equal(fib_set(fib, &p, 65536), -ERANGE);
    assert_int_equal(find("10.0.0.1"), 5);
}

static void bulk_load_equals_single_inserts(void **state)
{
    enum { N = 2000 };
    struct fib_route *r = calloc(N, sizeof *r);
    struct fib *other = fib_new(IP4, engine);

    srandom(3);
    for (unsigned i = 0; i < N; i++) { // of equal prefixes the last one wins
        r[i].prefix = (struct prefix){.family = IP4, .len = (uint8_t)(8 + random() % 25)};
        r[i].prefix.ip4 = htonl(0x0a000000u | ((uint32_t)random() & 0xffffff));
        prefix_canon(&r[i].prefix);
        r[i].nexthop = 1 + (uint32_t)random() % 60000;
        assert_int_equal(fib_set(other, &r[i].prefix, r[i].nexthop), 0);
    }
    assert_int_equal(fib_load(fib, r, N), 0);
    fib_commit(fib);
    for (unsigned i = 0; i < 50000; i++) {
        struct ip_addr a = {.family = IP4, .ip4 = htonl(0x0a000000u | ((uint32_t)random() & 0xffffff))};
        assert_int_equal(fib_find(fib, &a), fib_find(other, &a));
    }
    check();
    fib_free(other);
    free(r);
}

static void garbage_comes_back_after_grace_periods(void **state)
{
    struct fib_stats s;
    uint64_t most = 0;

    srandom(4);
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 100; i++) {
            struct prefix p = {.family = IP4, .len = (uint8_t)(9 + random() % 24)};
            p.ip4 = htonl((uint32_t)random());
            prefix_canon(&p);
            if (random() % 2)
                fib_set(fib, &p, 1 + (uint32_t)random() % 100);
            else
                fib_del(fib, &p);
        }
        fib_commit(fib);
        fib_stats(fib, &s);
        most = s.garbage_bytes > most ? s.garbage_bytes : most;
    }
    assert_true(most > 0);
    rcu_barrier();
    set("192.0.2.0/24", 9);
    fib_commit(fib); // gives back what was waiting
    rcu_barrier();
    set("192.0.2.0/24", 10);
    fib_commit(fib);
    fib_stats(fib, &s);
    assert_true(s.garbage_bytes < most / 2);
    assert_int_equal(s.commits, 202);
    check();
}

// --- against a naive model ---

enum { MODEL = 400 };
static struct fib_route model[MODEL]; // nexthop 0 = not there

static uint32_t model_find(const struct ip_addr *a)
{
    const struct fib_route *best = NULL;

    for (unsigned i = 0; i < MODEL; i++)
        if (model[i].nexthop && prefix_has(&model[i].prefix, a) && (!best || model[i].prefix.len > best->prefix.len))
            best = &model[i];
    return best ? best->nexthop : 0;
}

// Close together, so that prefixes cover each other; the default route and host routes among them.
static struct ip_addr some_address(uint8_t family)
{
    struct ip_addr a = {.family = family};

    if (family == IP4)
        a.ip4 = htonl(0x0a000000u | ((uint32_t)random() & 0x00f0f0f3));
    else
        for (unsigned i = 0; i < 16; i++)
            a.b[i] = i ? (uint8_t)(random() & (i % 3 ? 0x81 : 0x11)) : 0x20;
    return a;
}

static void make_model(uint8_t family)
{
    for (unsigned i = 0; i < MODEL; i++) {
        struct ip_addr a = some_address(family);
        struct prefix *p = &model[i].prefix;

        do {
            *p = (struct prefix){.family = family};
            p->len = (uint8_t)(i == 0 ? 0 : i % 5 == 0 ? ip_bits(family) : 1 + (unsigned)random() % ip_bits(family));
            memcpy(p->b, a.b, 16);
            prefix_canon(p);
            a = some_address(family);
            for (unsigned k = 0; k < i; k++)
                if (prefix_equal(p, &model[k].prefix))
                    p->family = IP_NONE;
        } while (!p->family);
        model[i].nexthop = 0;
    }
}

static void compare_with_model(uint8_t family)
{
    struct ip_addr a[150];
    ip4_t dst4[150];
    uint8_t dst6[150][16];
    uint32_t nh[150];

    for (unsigned i = 0; i < 150; i++) {
        a[i] = some_address(family);
        dst4[i] = a[i].ip4;
        memcpy(dst6[i], a[i].b, 16);
    }
    if (family == IP4)
        fib_find4_bulk(fib, dst4, nh, 150);
    else
        fib_find6_bulk(fib, (const uint8_t(*)[16])dst6, nh, 150);
    for (unsigned i = 0; i < 150; i++) {
        assert_int_equal(nh[i], model_find(&a[i]));
        assert_int_equal(fib_find(fib, &a[i]), nh[i]);
    }
}

static void changes_equal_model(uint8_t family)
{
    srandom(6);
    make_model(family);
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned k = 0; k < 50; k++) {
            struct fib_route *r = &model[(unsigned)random() % MODEL];

            assert_int_equal(fib_get(fib, &r->prefix), r->nexthop);
            if (random() % 5 < 2) {
                assert_int_equal(fib_del(fib, &r->prefix), r->nexthop ? 0 : -ENOENT);
                r->nexthop = 0;
            } else {
                r->nexthop = 1 + (uint32_t)random() % 65535;
                assert_int_equal(fib_set(fib, &r->prefix, r->nexthop), 0);
            }
        }
        fib_commit(fib);
        compare_with_model(family);
        if (round % 20 == 0)
            check();
    }
}

static void random_changes_of_ipv4_equal_a_naive_model(void **state)
{
    changes_equal_model(IP4);
}

static void random_changes_of_ipv6_equal_a_naive_model(void **state)
{
    changes_equal_model(IP6);
}

static void loaded_default_and_host_routes_are_found_and_withdrawn(void **state)
{
    struct fib_route r[] = {{prefix_of("::/0"), 65535}, {prefix_of("2001:db8::1/128"), 2}, {prefix_of("2001:db8::/32"), 3}};

    assert_int_equal(fib_load(fib, r, 3), 0);
    fib_commit(fib);
    assert_int_equal(find("2001:db8::1"), 2);
    assert_int_equal(find("2001:db8::2"), 3);
    assert_int_equal(find("ffff::"), 65535);
    assert_int_equal(fib_del(fib, &r[1].prefix), 0);
    assert_int_equal(fib_del(fib, &r[0].prefix), 0);
    fib_commit(fib);
    assert_int_equal(find("2001:db8::1"), 3);
    assert_int_equal(find("ffff::"), 0);
    check();
}

// A reader beside a writer. The writer keeps a default route, so "no route" must never be seen; each /16
// carries its own number or, while its more specific is there, that number plus 1000.
static _Atomic bool stop;
static _Atomic uint64_t n_wrong, n_read;

static void read_all(void *arg)
{
    ip4_t dst[64];
    uint32_t nh[64], x = 12345;

    rcu_online();
    while (!stop) {
        for (unsigned i = 0; i < 64; i++) {
            x = x * 1103515245 + 12345;
            dst[i] = htonl((x >> 8 & 0xff) << 16 | 0x0a000000u | (x >> 16 & 0xff) << 8 | 1);
        }
        fib_find4_bulk(fib, dst, nh, 64);
        for (unsigned i = 0; i < 64; i++) {
            uint32_t net = ntohl(dst[i]) >> 16 & 0xff;
            n_wrong += nh[i] != 1 + net && nh[i] != 1001 + net && nh[i] != 60000;
        }
        n_read += 64;
        rcu_quiescent();
    }
    rcu_offline();
}

static void reader_beside_a_writer_sees_only_what_was_set(void **state)
{
    struct thread *t;

    set("0.0.0.0/0", 60000);
    fib_commit(fib);
    stop = false;
    n_wrong = n_read = 0;
    assert_int_equal(thread_start(&t, ROLE_TAP_MANAGER, 2, "reader", -1, read_all, NULL), 0);
    srandom(5);
    for (unsigned i = 0; i < 60000 || n_read < 100000; i++) {
        uint32_t net = (uint32_t)random() & 0xff, sub = (uint32_t)random() & 0xff;
        bool whole = random() % 4 == 0;
        struct prefix p = {.family = IP4, .len = whole ? 16 : 24};
        p.ip4 = htonl(0x0a000000u | net << 16 | (whole ? 0 : sub << 8));
        if (random() % 2)
            assert_int_equal(fib_set(fib, &p, (whole ? 1 : 1001) + net), 0);
        else
            fib_del(fib, &p);
        if (i % 50 == 0)
            fib_commit(fib);
    }
    stop = true;
    thread_join(t);
    assert_int_equal(n_wrong, 0);
    check();
}

// The same below the first 24 bits, where DPDK's structures use groups again: 64 nets, four hosts in each.
static _Atomic uint64_t n_none;

static struct prefix net_or_host(uint8_t family, uint32_t net, int host) // host -1: the net
{
    struct prefix p = {.family = family, .len = 24, .b = {0x20, 0x01, (uint8_t)net}};

    if (host >= 0) {
        p.len = family == IP4 ? 32 : 64;
        p.b[p.len / 8 - 1] = (uint8_t)host;
    }
    return p;
}

static void look_up(uint8_t family, struct ip_addr a[64], uint32_t nh[64])
{
    ip4_t dst4[64];
    uint8_t dst6[64][16];

    for (unsigned i = 0; i < 64; i++) {
        dst4[i] = a[i].ip4;
        memcpy(dst6[i], a[i].b, 16);
    }
    if (family == IP4)
        fib_find4_bulk(fib, dst4, nh, 64);
    else
        fib_find6_bulk(fib, (const uint8_t(*)[16])dst6, nh, 64);
}

static void read_hosts(void *arg)
{
    uint8_t family = *(uint8_t *)arg;
    struct ip_addr a[64];
    uint32_t nh[64], x = 54321;

    rcu_online();
    while (!stop) {
        for (unsigned i = 0; i < 64; i++) {
            x = x * 1103515245 + 12345;
            struct prefix p = net_or_host(family, x >> 8 & 0x3f, x >> 16 & 7);
            a[i].family = family;
            memcpy(a[i].b, p.b, 16);
        }
        look_up(family, a, nh);
        for (unsigned i = 0; i < 64; i++) {
            n_none += !nh[i];
            n_wrong += nh[i] && nh[i] != 1u + a[i].b[2] && nh[i] != 1001u + a[i].b[2];
        }
        n_read += 64;
        rcu_quiescent();
    }
    rcu_offline();
}

static void hosts_come_and_go_beside_a_reader(uint8_t family)
{
    struct thread *t;

    for (uint32_t net = 0; net < 64; net++) {
        struct prefix p = net_or_host(family, net, -1);
        assert_int_equal(fib_set(fib, &p, 1 + net), 0);
    }
    fib_commit(fib);
    stop = false;
    n_wrong = n_none = n_read = 0;
    assert_int_equal(thread_start(&t, ROLE_TAP_MANAGER, 2, "reader", -1, read_hosts, &family), 0);
    srandom(7);
    for (unsigned i = 0; i < 20000 || n_read < 100000; i++) {
        uint32_t net = (uint32_t)random() & 0x3f;
        struct prefix p = net_or_host(family, net, random() & 3);

        if (random() % 2)
            assert_int_equal(fib_set(fib, &p, 1001 + net), 0);
        else
            fib_del(fib, &p);
        if (i % 50 == 0)
            fib_commit(fib);
    }
    stop = true;
    thread_join(t);
    assert_int_equal(n_wrong, 0);
    if (engine == FIB_POPTRIE || (engine == FIB_LPM && family == IP6)) // the head of fib_dpdk.c tells about the others
        assert_int_equal(n_none, 0);
    check();
}

static void reader_of_ipv4_hosts_never_gets_another_prefix_next_hop(void **state)
{
    hosts_come_and_go_beside_a_reader(IP4);
}

static void reader_of_ipv6_hosts_never_gets_another_prefix_next_hop(void **state)
{
    hosts_come_and_go_beside_a_reader(IP6);
}

// --- DPDK's tables ---

static void full_table_gives_way_to_a_larger_one(void **state)
{
    enum { N = 7000 };
    struct fib_stats s;
    struct ip_addr a = {.family = IP4};

    for (uint32_t i = 0; i < N; i++) { // more groups than an empty table has room for
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
        r[i].prefix = (struct prefix){.family = IP4, .len = 24, .ip4 = htonl(0x14000000u + (i << 8))};
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

// DPDK 22.11's rte_fib6 miscounts and loses routes here; it must not be seen from outside.
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
    print_message("faults healed: %llu, tables made anew: %llu\n", (unsigned long long)s.engine_faults,
                  (unsigned long long)s.engine_rebuilds);
    assert_true(s.engine_rebuilds >= s.engine_faults);
    if (engine == FIB_DIR24_8 && RTE_VER_YEAR == 22)
        assert_true(s.engine_faults > 0);
    free(r);
}

// What a route lost inside DPDK's table looks like: taken away behind our back.
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

#define TEST(f, open) {#f, f, open, close_fib, NULL}

int main(void)
{
    static enum fib_engine engines[FIB_ENGINES] = {FIB_POPTRIE, FIB_DIR24_8, FIB_LPM};
    static const struct CMUnitTest of_all[] = {
        TEST(find_after_withdraw_returns_covering_route, open4),
        TEST(family_6_finds_longest_match_one_by_one_and_in_bulk, open6),
        TEST(impossible_next_hop_is_refused_and_nothing_changes, open4),
        TEST(bulk_load_equals_single_inserts, open4),
        TEST(random_changes_of_ipv4_equal_a_naive_model, open4),
        TEST(random_changes_of_ipv6_equal_a_naive_model, open6),
        TEST(loaded_default_and_host_routes_are_found_and_withdrawn, open6),
        TEST(reader_beside_a_writer_sees_only_what_was_set, open4),
        TEST(reader_of_ipv4_hosts_never_gets_another_prefix_next_hop, open4),
        TEST(reader_of_ipv6_hosts_never_gets_another_prefix_next_hop, open6),
    }, of_dpdk[] = {
        TEST(full_table_gives_way_to_a_larger_one, open4),
        TEST(no_memory_refuses_the_change_and_keeps_the_table, open4),
        TEST(churn_of_ipv6_loses_nothing_and_faults_are_counted, open6),
    }, of_one[FIB_ENGINES][1] = {
        [FIB_POPTRIE] = {TEST(garbage_comes_back_after_grace_periods, open4)},
        [FIB_DIR24_8] = {TEST(lost_route_is_found_by_check_and_healed_by_commits, open4)},
        [FIB_LPM] = {TEST(lpm_refuses_more_routes_than_it_takes_and_stays_usable, open4)},
    };
    enum { ALL = sizeof of_all / sizeof *of_all, DPDK = sizeof of_dpdk / sizeof *of_dpdk };
    char err[200];
    int failed = 0;

    rcu_init();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    if (eal_init(&(struct eal_config){.name = "fib_test", .memory_mib = 768, .no_huge = true}, err, sizeof err)) {
        fprintf(stderr, "fib_test: %s\n", err);
        return 1;
    }
    for (unsigned e = 0; e < FIB_ENGINES; e++) {
        struct CMUnitTest test[ALL + DPDK + 1];
        unsigned n = ALL;

        memcpy(test, of_all, sizeof of_all);
        if (e != FIB_POPTRIE) {
            memcpy(test + n, of_dpdk, sizeof of_dpdk);
            n += DPDK;
        }
        test[n++] = of_one[e][0];
        for (unsigned i = 0; i < n; i++)
            test[i].initial_state = &engines[e];
        failed += _cmocka_run_group_tests(fib_engine_name(e), test, n, NULL, NULL);
    }
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    eal_fini();
    rcu_fini();
    return failed;
}
