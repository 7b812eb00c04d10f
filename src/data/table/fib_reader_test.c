// SPDX-License-Identifier: BSD-3-Clause
// fib_reader_test.c - concurrent readers see old or new, nothing else, with any engine
#include "table/fib_fixture.h"
#include <stdatomic.h>

// A reader runs beside a writer. The writer keeps a default route, so "no route" must never appear;
// each /16 carries its own number or, while its more-specific exists, that number plus 1000.
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

// The same beyond the first 24 bits, where DPDK's structures reuse groups: 64 nets with four hosts
// each.
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
    if (engine == FIB_POPTRIE ||
        (engine == FIB_LPM && family == IP6)) // see the head of fib_dpdk.c for the others
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

int main(void)
{
    static const struct CMUnitTest of_all[] = {
        TEST(reader_beside_a_writer_sees_only_what_was_set, open4),
        TEST(reader_of_ipv4_hosts_never_gets_another_prefix_next_hop, open4),
        TEST(reader_of_ipv6_hosts_never_gets_another_prefix_next_hop, open6),
    };
    int failed = 0;

    fib_fixture_begin("fib_reader_test");
    for (enum fib_engine e = 0; e < FIB_ENGINES; e++)
        failed += run_with(e, TESTS(of_all));
    return fib_fixture_end(failed);
}
