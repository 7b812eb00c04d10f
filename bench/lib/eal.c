// SPDX-License-Identifier: BSD-3-Clause
// eal.c - see eal.h
#include "lib/eal.h"

#include <errno.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/log.h"
#include "core/eal.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "lib/bench.h"

// A benchmark exits with its tables, and the sanitizer does not search their memory for pointers.
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

void bench_eal_router(unsigned memory_mib, bool no_huge, const char *const *extra)
{
    char name[48], err[256];
    const struct eal_config cfg = {
        .name = name, .memory_mib = memory_mib, .no_huge = no_huge, .extra = extra};

    log_set_level(LOG_LEVEL_WARNING);
    snprintf(name, sizeof name, "%.32s-%d", program_invocation_short_name, getpid());
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    rcu_init();
    rcu_thread_register();
    bench_check(!eal_init(&cfg, err, sizeof err), "%s", err);
}

int bench_eal_heap(unsigned memory_mib, unsigned long heap_bytes)
{
    char core[16] = "0", mib[16], simd[48];
    const char *args[] = {program_invocation_short_name, "--no-huge", "-m", mib, "--no-pci",
                          "--no-telemetry", "--no-shconf", "-l", core, simd,
                          "--log-level=critical", NULL};
    cpu_set_t cores;

    snprintf(simd, sizeof simd, "--force-max-simd-bitwidth=%u", cpu_simd_bits());
    snprintf(mib, sizeof mib, "%u", memory_mib);
    sched_getaffinity(0, sizeof cores, &cores);
    for (unsigned i = CPU_SETSIZE; i-- > 0;)
        if (CPU_ISSET(i, &cores))
            snprintf(core, sizeof core, "%u", i);
    bench_check(rte_eal_init(sizeof args / sizeof *args - 1, (char **)args) >= 0,
                "cannot start DPDK");
    sched_setaffinity(0, sizeof cores, &cores);
    void *heap = memory_huge(heap_bytes);
    bench_check(!rte_malloc_heap_create("bench") &&
                    !rte_malloc_heap_memory_add("bench", heap, heap_bytes, NULL, 0, 2u << 20),
                "cannot give DPDK a heap");
    return rte_malloc_heap_get_socket("bench");
}
