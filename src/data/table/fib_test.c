// SPDX-License-Identifier: BSD-3-Clause
// fib_test.c - all engines give equal answers
//
// Runs the same tests over each engine: random changes against a naive model, default and host
// routes, bulk load; and again as on a machine with three memory nodes. fib_reader_test.c tests
// concurrent readers, fib_dpdk_test.c features of DPDK's tables only.
#include "table/fib_fixture.h"

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
    for (unsigned i = 0; i < N; i++) { // of equal prefixes, the last one wins
        r[i].prefix = (struct prefix){.family = IP4, .len = (uint8_t)(8 + random() % 25)};
        r[i].prefix.ip4 = htonl(0x0a000000u | ((uint32_t)random() & 0xffffff));
        prefix_canon(&r[i].prefix);
        r[i].nexthop = 1 + (uint32_t)random() % 60000;
        assert_int_equal(fib_set(other, &r[i].prefix, r[i].nexthop), 0);
    }
    assert_int_equal(fib_load(fib, r, N), 0);
    fib_commit(fib);
    for (unsigned i = 0; i < 50000; i++) {
        struct ip_addr a = {.family = IP4,
                            .ip4 = htonl(0x0a000000u | ((uint32_t)random() & 0xffffff))};
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
    fib_commit(fib); // reclaims pending memory
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
        if (model[i].nexthop && prefix_has(&model[i].prefix, a) &&
            (!best || model[i].prefix.len > best->prefix.len))
            best = &model[i];
    return best ? best->nexthop : 0;
}

// Close together, so that prefixes overlap; includes the default route and host routes.
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
            p->len = (uint8_t)(i == 0       ? 0
                               : i % 5 == 0 ? ip_bits(family)
                                            : 1 + (unsigned)random() % ip_bits(family));
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
    struct fib_route r[] = {{prefix_of("::/0"), 65535},
                            {prefix_of("2001:db8::1/128"), 2},
                            {prefix_of("2001:db8::/32"), 3}};

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

static void three_memory_nodes_have_three_copies(void **state)
{
    struct fib_stats s;

    fib_stats(fib, &s);
    assert_int_equal(s.copies, 3);
}

int main(void)
{
    static const struct CMUnitTest of_all[] = {
        TEST(find_after_withdraw_returns_covering_route, open4),
        TEST(family_6_finds_longest_match_one_by_one_and_in_bulk, open6),
        TEST(impossible_next_hop_is_refused_and_nothing_changes, open4),
        TEST(bulk_load_equals_single_inserts, open4),
        TEST(random_changes_of_ipv4_equal_a_naive_model, open4),
        TEST(random_changes_of_ipv6_equal_a_naive_model, open6),
        TEST(loaded_default_and_host_routes_are_found_and_withdrawn, open6),
    }, of_three_nodes[] = {
        TEST(three_memory_nodes_have_three_copies, open6),
    }, of_poptrie[] = {
        TEST(garbage_comes_back_after_grace_periods, open4),
    };
    int failed = 0;

    fib_fixture_begin("fib_test");
    for (enum fib_engine e = 0; e < FIB_ENGINES; e++)
        failed += run_with(e, TESTS(of_all));
    failed += run_with(FIB_POPTRIE, TESTS(of_poptrie));
    mem_nodes_set(3);
    failed += run_with(FIB_POPTRIE, TESTS(of_three_nodes));
    for (enum fib_engine e = 0; e < FIB_ENGINES; e++)
        failed += run_with(e, TESTS(of_all));
    return fib_fixture_end(failed);
}
