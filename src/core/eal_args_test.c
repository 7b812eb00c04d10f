// SPDX-License-Identifier: BSD-3-Clause
// eal_args_test.c - DPDK's arguments on different machines
#include "core/eal_args.h"
#include "tests/unit.h"

#include <errno.h>
#include <string.h>

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

unit_test(machine_without_huge_pages_gets_ordinary_ones)
{
    assert_int_equal(choose(&(struct eal_config){.name = "k1"}, &small), 0);
    assert_false(a.huge);
    assert_int_equal(a.memory_mib, 128);
    assert_true(has("--no-huge") && has("--no-shconf") && has("--file-prefix=kamuee-k1"));
    assert_false(has("--in-memory"));
    assert_true(has("--no-pci") && has("--lcores=0@(0,1)") && has("--no-telemetry"));
}

unit_test(machine_with_enough_huge_pages_uses_them)
{
    assert_int_equal(choose(&(struct eal_config){.name = "k1"}, &big), 0);
    assert_true(a.huge);
    assert_int_equal(a.memory_mib, 1024);
    assert_true(has("--in-memory") && has("--single-file-segments"));
    assert_false(has("--no-huge"));
}

unit_test(huge_pages_are_left_alone_when_forbidden_or_too_few)
{
    assert_int_equal(choose(&(struct eal_config){.name = "k", .no_huge = true}, &big), 0);
    assert_false(a.huge);
    assert_int_equal(choose(&(struct eal_config){.name = "k", .memory_mib = 4097}, &big), 0);
    assert_false(a.huge);
    assert_int_equal(choose(&(struct eal_config){.name = "k", .memory_mib = 4096}, &big), 0);
    assert_true(a.huge);
}

unit_test(no_pci_device_is_probed_at_start)
{
    assert_int_equal(choose(&(struct eal_config){.name = "k"}, &big), 0);
    assert_true(has("-a")); // an allow list with an address that no device has
    assert_false(has("--no-pci"));
}

unit_test(impossible_memory_is_refused_with_the_remedy)
{
    assert_int_equal(choose(&(struct eal_config){.name = "k", .memory_mib = 16}, &small), -EINVAL);
    assert_non_null(strstr(err, "set memory"));
    assert_int_equal(choose(&(struct eal_config){.name = "k", .memory_mib = 9999}, &small),
                     -ENOMEM);
    assert_non_null(strstr(err, "set memory"));
}

unit_test(vectors_are_as_wide_as_the_process_may_use)
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

unit_test(extra_arguments_come_last_and_are_bounded)
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

unit_test(this_machine_has_memory_and_cores)
{
    struct eal_machine m;

    eal_machine_read(&m);
    assert_true(m.ram_mib > 0);
    assert_true(m.cpus[0] >= '0' && m.cpus[0] <= '9');
}
