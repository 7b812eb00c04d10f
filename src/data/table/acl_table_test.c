// SPDX-License-Identifier: BSD-3-Clause
// acl_table_test.c - lists, contents and their counters; meters; the log ring
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_cycles.h>

#include "core/eal.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "table/acl.h"
#include "table/acl_log.h"
#include "table/acl_meter.h"
#include "table/counter.h"
#include "table/grace.h"
#include "table/iface.h"
#include "tests/unit.h"

int unit_begin(void **state)
{
    char err[128];

    if (eal_init(&(struct eal_config){.name = "acl_table_test", .memory_mib = 64, .no_huge = true},
                 err, sizeof err))
        return -1;
    rcu_init();
    rcu_thread_register();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return counter_init() || iface_table_init() || acl_table_init() || acl_log_init();
}

int unit_end(void **state)
{
    acl_log_fini();
    acl_table_fini();
    iface_table_fini();
    counter_fini();
    rcu_thread_unregister();
    rcu_fini();
    return 0;
}

unit_test(an_id_is_reused_after_a_grace_period_only)
{
    thread_adopt(ROLE_ACL_MANAGER, THREAD_SLOT_ACL_MANAGER);
    uint16_t a = acl_list_new("edge"), b = acl_list_new("core");
    assert_int_not_equal(a, 0);
    assert_int_not_equal(a, b);
    assert_string_equal(acl_table[a].name, "edge");
    acl_list_free(a);
    uint16_t c = acl_list_new("other");
    assert_int_not_equal(c, a);
    rcu_offline();
    grace_wait();
    rcu_barrier();
    rcu_online();
    assert_int_equal(acl_list_new("third"), a);
    acl_list_free(a);
    acl_list_free(b);
    acl_list_free(c);
}

unit_test(what_forwarders_count_is_read_and_cleared_without_a_write_to_theirs)
{
    thread_adopt(ROLE_ACL_MANAGER, THREAD_SLOT_ACL_MANAGER);
    struct acl_content *c = acl_content_new(NULL, 10);
    assert_non_null(c);
    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        assert_int_equal((uintptr_t)c->hits[f] % 128, 0); // forwarders share no line
        c->hits[f][3] = (struct acl_hits){f, 100 * f};
        c->hits[f][10].packets = 1;
    }
    uint64_t sum = FORWARDER_MAX * (FORWARDER_MAX - 1) / 2;
    assert_int_equal(acl_hits_read(c, 3).packets, sum);
    assert_int_equal(acl_hits_read(c, 3).bytes, 100 * sum);
    assert_int_equal(acl_hits_read(c, ACL_MISS).packets, FORWARDER_MAX);
    acl_hits_add(c, 3, (struct acl_hits){5, 7});
    assert_int_equal(acl_hits_read(c, 3).packets, sum + 5);
    acl_hits_clear(c, 3);
    assert_int_equal(acl_hits_read(c, 3).packets, 0);
    assert_int_equal(acl_hits_read(c, 3).bytes, 0);
    c->hits[7][3].packets++;
    assert_int_equal(acl_hits_read(c, 3).packets, 1);
    assert_int_equal(c->hits[7][3].packets, 8);
    acl_content_free(c);
}

unit_test(every_change_of_a_list_is_another_epoch)
{
    thread_adopt(ROLE_ACL_MANAGER, THREAD_SLOT_ACL_MANAGER);
    uint16_t id = acl_list_new("edge");
    struct acl_content *a = acl_content_new(NULL, 0), *b = acl_content_new(NULL, 5);

    assert_null(acl_publish(id, a));
    assert_ptr_equal(acl_content_of(id), a);
    uint32_t first = a->epoch;
    acl_changed(id);
    assert_int_equal(a->epoch, first + 1);
    assert_ptr_equal(acl_publish(id, b), a);
    assert_int_equal(b->epoch, first + 2);
    acl_content_set(b, 4, &(struct acl_action){.verb = ACL_DENY, .number = 40});
    acl_content_set(b, ACL_MISS, &(struct acl_action){.verb = ACL_REJECT, .extra = ACL_LOG});
    assert_int_equal(b->verb[4], ACL_DENY);
    assert_int_equal(b->verb[5], ACL_REJECT | ACL_MORE);
    assert_int_equal(b->action[acl_place(b, 4)].number, 40);
    assert_ptr_equal(acl_publish(id, NULL), b);
    acl_list_free(id);
    acl_content_free(a);
    acl_content_free(b);
}

unit_test(large_contents_take_the_memory_that_is_touched)
{
    thread_adopt(ROLE_ACL_MANAGER, THREAD_SLOT_ACL_MANAGER);
    static const uint32_t slots[] = {0, 1, 4000, 5000, 40000, 1u << 20};

    for (unsigned i = 0; i < sizeof slots / sizeof *slots; i++) {
        struct acl_content *c = acl_content_new(NULL, slots[i]);
        assert_non_null(c);
        c->hits[FORWARDER_MAX - 1][slots[i]].packets = 9;
        acl_content_set(c, ACL_MISS, &(struct acl_action){.verb = ACL_DENY});
        assert_int_equal(acl_hits_read(c, ACL_MISS).packets, 9);
        acl_content_free(c);
    }
}

unit_test(a_meter_lets_its_rate_and_its_burst_pass)
{
    uint64_t hz = rte_get_tsc_hz(), now = 10 * hz, passed = 0;

    thread_adopt(ROLE_ACL_MANAGER, THREAD_SLOT_ACL_MANAGER);
    assert_int_equal(acl_meter_new(0, 1500), 0);
    uint16_t id = acl_meter_new(8000, 15000); // 1 MB/s
    assert_int_not_equal(id, 0);
    assert_true(acl_meter_passes(id, 1000, now, true));
    for (unsigned i = 0; i < 20; i++)
        passed += acl_meter_passes(id, 1000, now, false);
    assert_int_equal(passed, 15);
    assert_false(acl_meter_passes(id, 1000, now, true));
    assert_false(acl_meter_passes(id, 20000, now + 5 * hz, false)); // larger than the burst
    passed = 0;
    for (unsigned i = 0; i < 100000; i++) // ten times the rate, for one second
        passed += acl_meter_passes(id, 100, now + hz / 100000 * i, false);
    assert_in_range(passed, 9990, 10010);
    acl_meter_free(id);
    assert_int_equal(acl_meter_new_of_packets(100, 0), 0);
    id = acl_meter_new_of_packets(1000, 20);
    acl_meter_share(id);
    acl_meter_free(id); // by one of two holders
    passed = 0;
    for (unsigned i = 0; i < 100000; i++) // whatever the packets' sizes
        passed += acl_meter_passes(id, i & 1 ? 64 : 9000, now + hz / 100000 * i, false);
    assert_in_range(passed, 1015, 1025);
    acl_meter_free(id);
}

unit_test(what_does_not_fit_into_the_ring_is_counted)
{
    struct acl_log_entry e = {.rule = 1}, got[64];
    unsigned n = 0, k;

    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    for (unsigned i = 0; i < ACL_LOG_SIZE + 9; i++, e.rule++)
        acl_log_put(&e);
    while ((k = acl_log_take(got, 64)))
        for (unsigned i = 0; i < k; i++)
            assert_int_equal(got[i].rule, ++n);
    assert_int_equal(n + acl_log_lost, ACL_LOG_SIZE + 9);
    assert_in_range(acl_log_lost, 9, 10);
}

unit_test(all_interfaces_know_that_one_has_an_output_list)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    struct iface *a = iface_new("a"), *b = iface_new("b");

    iface_set_flags(b, IFACE_URPF4, IFACE_URPF4);
    iface_bind_acl(a, 1, 0);
    assert_int_equal(iface_flags(a), IFACE_ACL_IN);
    assert_int_equal(iface_flags(b), IFACE_CHECKS | IFACE_URPF4);
    iface_bind_acl(a, 1, 2);
    assert_int_equal(iface_flags(a), IFACE_ACL_IN | IFACE_ACL_OUT);
    assert_int_equal(iface_flags(b), IFACE_CHECKS | IFACE_URPF4 | IFACE_ACL_OUT);
    struct iface *c = iface_new("c");
    assert_int_equal(iface_flags(c), IFACE_ACL_OUT);
    iface_bind_acl(c, 0, 3);
    iface_bind_acl(a, 0, 0);
    assert_int_equal(iface_flags(a), IFACE_ACL_OUT);
    iface_free(c);
    assert_int_equal(iface_flags(a), 0);
    assert_int_equal(iface_flags(b), IFACE_CHECKS | IFACE_URPF4);
    iface_free(a);
    iface_free(b);
}

unit_test(one_output_list_of_all_interfaces_is_known_as_such)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    struct iface *a = iface_new("a"), *b = iface_new("b");

    assert_int_equal(iface_acl_out_of_all, 0);
    iface_bind_acl(a, 0, 2);
    assert_int_equal(iface_acl_out_of_all, 0);
    iface_bind_acl(b, 1, 2);
    assert_int_equal(iface_acl_out_of_all, 2);
    struct iface *c = iface_new("c");
    assert_int_equal(iface_acl_out_of_all, 0);
    iface_bind_acl(c, 0, 3);
    assert_int_equal(iface_acl_out_of_all, 0);
    iface_bind_acl(c, 0, 2);
    assert_int_equal(iface_acl_out_of_all, 2);
    iface_free(c);
    assert_int_equal(iface_acl_out_of_all, 2);
    iface_bind_acl(a, 0, 0);
    assert_int_equal(iface_acl_out_of_all, 0);
    iface_free(a);
    assert_int_equal(iface_acl_out_of_all, 2);
    iface_free(b);
    assert_int_equal(iface_acl_out_of_all, 0);
}
