// SPDX-License-Identifier: BSD-3-Clause
// thread_test.c - roles, slots, pinning
#include "core/thread.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "core/rcu.h"
#include "tests/unit.h"

static struct {
    enum thread_role role;
    unsigned slot;
    cpu_set_t cpus;
    const struct thread *listed;
} seen;

static void look(void *arg)
{
    seen.role = thread_role();
    seen.slot = thread_slot();
    seen.listed = thread_of_slot(seen.slot);
    sched_getaffinity(0, sizeof seen.cpus, &seen.cpus);
    *(int *)arg = 7;
    for (volatile unsigned i = 0; i < 2000000; i++)
        ;
}

static int first_core(void)
{
    int cpu = 0;

    while (!thread_core_exists(cpu))
        cpu++;
    return cpu;
}

unit_test(thread_has_its_role_slot_and_core)
{
    struct thread *t;
    int cpu = first_core(), ran = 0;

    assert_int_equal(
        thread_start(&t, ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER, "rib", cpu, look, &ran), 0);
    assert_int_equal(thread_cpu(t), cpu);
    assert_string_equal(thread_name(t), "rib");
    thread_join(t);
    assert_int_equal(ran, 7);
    assert_int_equal(seen.role, ROLE_RIB_MANAGER);
    assert_int_equal(seen.slot, THREAD_SLOT_RIB_MANAGER);
    assert_ptr_equal(seen.listed, t);
    assert_int_equal(CPU_COUNT(&seen.cpus), 1);
    assert_true(CPU_ISSET(cpu, &seen.cpus));
    assert_null(thread_of_slot(THREAD_SLOT_RIB_MANAGER));
}

unit_test(thread_on_a_core_that_does_not_exist_is_refused)
{
    struct thread *t = NULL;

    assert_false(thread_core_exists(1023));
    assert_false(thread_core_exists(-1));
    assert_int_equal(thread_start(&t, ROLE_RIB_MANAGER, 1, "rib", 1023, look, NULL), -EINVAL);
    assert_null(t);
    assert_null(thread_of_slot(1));
}

// A forwarder needs a running DPDK, which this test does not start.
unit_test(forwarder_without_dpdk_is_refused)
{
    struct thread *t = NULL;
    int ran = 0;

    assert_true(thread_start(&t, ROLE_FORWARDER, THREAD_SLOT_FORWARDER, "fwd", -1, look, &ran) < 0);
    assert_int_equal(ran, 0);
    assert_null(thread_of_slot(THREAD_SLOT_FORWARDER));
}

unit_test(managers_float_over_the_slow_cores)
{
    struct thread *t;
    int cpu = first_core(), ran = 0;
    cpu_set_t mine;

    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    thread_set_slow_cores(&cpu, 1);
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    assert_int_equal(CPU_COUNT(&mine), 1);
    assert_int_equal(thread_start(&t, ROLE_TAP_MANAGER, 2, "tap", -1, look, &ran), 0);
    thread_join(t);
    assert_int_equal(CPU_COUNT(&seen.cpus), 1);
    assert_true(CPU_ISSET(cpu, &seen.cpus));
    thread_set_slow_cores(NULL, 0);
}

unit_test(cpu_time_of_a_thread_grows)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    const struct thread *me = thread_of_slot(THREAD_SLOT_CONTROL);
    uint64_t before = thread_cpu_time_ns(me);

    assert_string_equal(thread_name(me), "control");
    for (volatile unsigned i = 0; i < 5000000; i++)
        ;
    assert_true(thread_cpu_time_ns(me) > before);
}
