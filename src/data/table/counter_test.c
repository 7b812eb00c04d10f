// SPDX-License-Identifier: BSD-3-Clause
// counter_test.c - sums over threads, the ledger, interface ids
#include "table/counter.h"

#include <ctype.h>
#include <string.h>

#include "core/rcu.h"
#include "table/iface.h"
#include "tests/unit.h"

static int open_tables(void **state)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return counter_init() || iface_table_init();
}

static int close_tables(void **state)
{
    rcu_barrier();
    iface_table_fini();
    counter_fini();
    return 0;
}

static struct counter_block *block_of(unsigned slot)
{
    thread_adopt(ROLE_FORWARDER, slot);
    struct counter_block *b = counter_mine();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return b;
}

#define table_test(name) unit_test_of(name, open_tables, close_tables)

table_test(every_reason_has_a_lower_case_name_and_a_sentence)
{
    for (unsigned i = DROP_NONE + 1; i < DROP_N; i++) {
        for (const char *c = drop_info[i].name; *c; c++)
            assert_false(isupper((unsigned char)*c));
        assert_true(strlen(drop_info[i].sentence) > 10);
        assert_non_null(strstr("normal config loss attack", drop_info[i].severity));
    }
    assert_string_equal(drop_info[DROP_IP4_NO_ROUTE].name, "ip4_no_route");
    assert_string_equal(drop_info[DROP_IP4_CHECKSUM].severity, "loss");
}

table_test(sums_add_up_over_the_threads)
{
    struct counter_iface sum;

    block_of(3)->iface[5].rx_packets = 10;
    block_of(4)->iface[5].rx_packets = 20;
    block_of(2)->iface[5].punt_packets = 3;
    block_of(3)->drop[DROP_TX_FULL] = 7;
    block_of(5)->drop[DROP_TX_FULL] = 1;
    counter_sum_iface(5, &sum);
    assert_int_equal(sum.rx_packets, 30);
    assert_int_equal(sum.punt_packets, 3);
    assert_int_equal(counter_sum_drop(DROP_TX_FULL), 8);
    counter_sum_iface(6, &sum);
    assert_int_equal(sum.rx_packets, 0);
}

table_test(ledger_balances_when_every_packet_has_an_end)
{
    struct ledger l;

    block_of(3)->rx = 100;
    block_of(2)->inject = 10;
    block_of(3)->tx = 80;
    block_of(2)->punt = 15;
    block_of(3)->held = 4;
    block_of(3)->drop[DROP_IP4_NO_ROUTE] = 11;
    ledger_read(&l, 10);
    assert_int_equal(l.imbalance, 0);
    assert_int_equal(l.drops, 11);
    block_of(3)->tx--; // one packet unaccounted for
    ledger_read(&l, 10);
    assert_int_equal(l.imbalance, 1);
}

table_test(interface_is_found_by_name_and_by_index_in_its_router)
{
    struct iface *a = iface_new("p0"), *b = iface_new("p1");

    a->ifindex = b->ifindex = 7; // the same index in two namespaces
    b->vr = 2;
    assert_int_equal(a->id, 1);
    assert_ptr_equal(iface_find_name("p1"), b);
    assert_null(iface_find_name("p2"));
    assert_ptr_equal(iface_find_ifindex(0, 7), a);
    assert_ptr_equal(iface_find_ifindex(2, 7), b);
    assert_null(iface_find_ifindex(1, 7));
    assert_null(iface_find_ifindex(0, 0));
    iface_free(a);
    assert_null(iface_find_name("p0"));
    assert_null(iface_find_ifindex(0, 7));
}

table_test(interface_id_comes_back_clean_after_a_grace_period)
{
    struct iface *a = iface_new("p0");
    struct counter_iface sum;

    block_of(3)->iface[a->id].rx_packets = 5;
    a->mtu = 9000;
    rcu_thread_register(); // an online reader that delays the grace period
    iface_free(a);
    struct iface *b = iface_new("p1");
    assert_int_not_equal(b->id, a->id);
    rcu_thread_unregister();
    rcu_barrier();
    struct iface *c = iface_new("p2");
    assert_int_equal(c->id, a->id);
    assert_int_equal(c->mtu, 0);
    counter_sum_iface(c->id, &sum);
    assert_int_equal(sum.rx_packets, 0);
}

table_test(cleared_counters_go_on_and_are_forgotten_with_their_interface)
{
    struct iface *i = iface_new("p0");
    uint16_t id = i->id;
    struct counter_iface sum;

    assert_int_equal(counter_cleared_iface(id)->wall_ns, 0);
    assert_true(counter_since_iface(id) > 0);
    block_of(3)->iface[id].rx_packets = 5;
    block_of(4)->iface[id].drop_packets = 2;
    counter_clear_iface(id);
    block_of(3)->iface[id].rx_packets = 12;
    counter_sum_iface(id, &sum);
    assert_int_equal(sum.rx_packets, 12);
    assert_true(counter_cleared_iface(id)->wall_ns >= counter_since_iface(id));
    assert_int_equal(counter_cleared_iface(id)->at.rx_packets, 5);
    assert_int_equal(counter_cleared_iface(id)->at.drop_packets, 2);
    iface_free(i);
    rcu_barrier();
    assert_int_equal(iface_new("p1")->id, id);
    assert_int_equal(counter_cleared_iface(id)->wall_ns, 0);
}

table_test(full_table_of_interfaces_refuses)
{
    for (unsigned i = 1; i < IFACE_TRIAL; i++)
        assert_non_null(iface_new("x"));
    assert_null(iface_new("one too many"));
}
