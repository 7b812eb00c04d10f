// SPDX-License-Identifier: BSD-3-Clause
// eal_args_test.c - DPDK's arguments on different machines
#include "core/eal_args.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct eal_args a;
static char err[200];

static const struct eal_machine small = {
    .ram_mib = 2048, .has_pci = false, .simd_bits = 512, .log_level = 5, .cpus = "0,1"};
static const struct eal_machine big = {.ram_mib = 65536,
                                       .huge_free_mib = 4096,
                                       .has_pci = true,
                                       .simd_bits = 512,
                                       .log_level = 5,
                                       .cpus = "0,1,2,3"};

static bool has(const char *arg)
{
    for (int i = 0; i < a.argc; i++)
        if (!strcmp(a.argv[i], arg))
            return true;
    return false;
}

static int choose(const struct eal_config *cfg, const struct eal_machine *m)
{
    int r = eal_args_choose(cfg, m, &a, err, sizeof err);

    if (!r)
        assert_null(a.argv[a.argc]);
    return r;
}

static void machine_without_huge_pages_gets_ordinary_ones(void **state)
{
    assert_int_equal(choose(&(struct eal_config){.name = "k1"}, &small), 0);
    assert_false(a.huge);
    assert_int_equal(a.memory_mib, 128);
    assert_true(has("--no-huge") && has("--no-shconf") && has("--file-prefix=kamuee-k1"));
    assert_false(has("--in-memory"));
    assert_true(has("--no-pci") && has("--lcores=0@(0,1)") && has("--no-telemetry"));
}

static void machine_with_enough_huge_pages_uses_them(void **state)
{
    assert_int_equal(choose(&(struct eal_config){.name = "k1"}, &big), 0);
    assert_true(a.huge);
    assert_int_equal(a.memory_mib, 1024);
    assert_true(has("--in-memory") && has("--single-file-segments"));
    assert_false(has("--no-huge"));
}

static void huge_pages_are_left_alone_when_forbidden_or_too_few(void **state)
{
    assert_int_equal(choose(&(struct eal_config){.name = "k", .no_huge = true}, &big), 0);
    assert_false(a.huge);
    assert_int_equal(choose(&(struct eal_config){.name = "k", .memory_mib = 4097}, &big), 0);
    assert_false(a.huge);
    assert_int_equal(choose(&(struct eal_config){.name = "k", .memory_mib = 4096}, &big), 0);
    assert_true(a.huge);
}

static void no_pci_device_is_probed_at_start(void **state)
{
    assert_int_equal(choose(&(struct eal_config){.name = "k"}, &big), 0);
    assert_true(has("-a")); // an allow list with an address that no device has
    assert_false(has("--no-pci"));
}

static void impossible_memory_is_refused_with_the_remedy(void **state)
{
    assert_int_equal(choose(&(struct eal_config){.name = "k", .memory_mib = 16}, &small), -EINVAL);
    assert_non_null(strstr(err, "set memory"));
    assert_int_equal(choose(&(struct eal_config){.name = "k", .memory_mib = 9999}, &small),
                     -ENOMEM);
    assert_non_null(strstr(err, "set memory"));
}

static void vectors_are_as_wide_as_the_process_may_use(void **state)
{
    struct eal_machine narrow = small;
    const char *own[] = {"--force-max-simd-bitwidth=128", NULL};

    assert_int_equal(choose(&(struct eal_config){.name = "k"}, &small), 0);
    assert_true(has("--force-max-simd-bitwidth=512"));
    narrow.simd_bits = 256;
    assert_int_equal(choose(&(struct eal_config){.name = "k"}, &narrow), 0);
    assert_true(has("--force-max-simd-bitwidth=256"));
    assert_int_equal(choose(&(struct eal_config){.name = "k", .extra = own}, &narrow), 0);
    assert_true(has(own[0]));
    assert_false(has("--force-max-simd-bitwidth=256"));
}

static void extra_arguments_come_last_and_are_bounded(void **state)
{
    const char *two[] = {"--legacy-mem", "--foo=bar", NULL};
    const char *many[EAL_ARGS_MAX + 1];

    assert_int_equal(choose(&(struct eal_config){.name = "k", .extra = two}, &small), 0);
    assert_string_equal(a.argv[a.argc - 1], "--foo=bar");
    for (int i = 0; i < EAL_ARGS_MAX; i++)
        many[i] = "-x";
    many[EAL_ARGS_MAX] = NULL;
    assert_int_equal(choose(&(struct eal_config){.name = "k", .extra = many}, &small), -E2BIG);
}

static void this_machine_has_memory_and_cores(void **state)
{
    struct eal_machine m;

    eal_machine_read(&m);
    assert_true(m.ram_mib > 0);
    assert_true(m.cpus[0] >= '0' && m.cpus[0] <= '9');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_without_huge_pages_gets_ordinary_ones),
        cmocka_unit_test(machine_with_enough_huge_pages_uses_them),
        cmocka_unit_test(huge_pages_are_left_alone_when_forbidden_or_too_few),
        cmocka_unit_test(no_pci_device_is_probed_at_start),
        cmocka_unit_test(impossible_memory_is_refused_with_the_remedy),
        cmocka_unit_test(vectors_are_as_wide_as_the_process_may_use),
        cmocka_unit_test(extra_arguments_come_last_and_are_bounded),
        cmocka_unit_test(this_machine_has_memory_and_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
