// SPDX-License-Identifier: BSD-3-Clause
// prefix_count_test.c - slots have several holders, start at 0, are reused only when all have
// released them, and are bounded
#include <stdint.h>

#include "core/rcu.h"
#include "core/thread.h"
#include "table/nexthop_count.h"
#include "tests/unit.h"

static int open_table(void **state)
{
    return prefix_count_init();
}

static int close_table(void **state)
{
    rcu_barrier();
    prefix_count_fini();
    return 0;
}

static void count(uint16_t slot, unsigned forwarder, uint64_t packets)
{
    prefix_count_row(forwarder)[slot].packets += packets;
    prefix_count_row(forwarder)[slot].bytes += packets * 100;
}

#define count_test(name) unit_test_of(name, open_table, close_table)

count_test(rows_of_forwarders_are_added_and_a_dry_run_is_not)
{
    uint16_t a = prefix_count_new(), b = prefix_count_new();

    assert_true(a && b && a != b);
    count(a, 0, 3);
    count(a, FORWARDER_MAX - 1, 4);
    count(a, FORWARDER_MAX, 100);
    count(b, 0, 9);
    assert_int_equal(prefix_count_sum(a).packets, 7);
    assert_int_equal(prefix_count_sum(a).bytes, 700);
    assert_int_equal(prefix_count_sum(b).packets, 9);
}

count_test(a_slot_is_given_again_at_0_once_all_have_let_go)
{
    uint16_t slot[PREFIX_COUNT_MAX];

    for (unsigned i = 1; i < PREFIX_COUNT_MAX; i++) {
        slot[i] = prefix_count_new();
        assert_int_not_equal(slot[i], 0);
        count(slot[i], 1, i);
    }
    assert_int_equal(prefix_count_new(), 0); // none free
    prefix_count_hold(slot[7]);
    prefix_count_put(slot[7]);
    assert_int_equal(prefix_count_new(), 0); // one holder left
    prefix_count_put(slot[7]);
    assert_int_equal(prefix_count_new(), slot[7]);
    assert_int_equal(prefix_count_sum(slot[7]).packets, 0);
    assert_int_equal(prefix_count_sum(slot[8]).packets, 8);
    prefix_count_hold(0); // no slot
    prefix_count_put(0);
}

count_test(the_slot_that_has_been_free_for_longest_is_given_first)
{
    uint16_t a = prefix_count_new(), b = prefix_count_new();

    for (unsigned i = 0; i < PREFIX_COUNT_MAX - 3u; i++)
        assert_int_not_equal(prefix_count_new(), 0);
    prefix_count_put(b);
    prefix_count_put(a);
    assert_int_equal(prefix_count_new(), b);
    assert_int_equal(prefix_count_new(), a);
}

int main(void)
{
    rcu_init();
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    int r = unit_tests_run(NULL, NULL);
    rcu_fini();
    return r;
}
