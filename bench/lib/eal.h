// SPDX-License-Identifier: BSD-3-Clause
// eal.h - DPDK for a measuring program
#ifndef BENCH_LIB_EAL_H
#define BENCH_LIB_EAL_H

#include <stdbool.h>

// As the daemon starts it (core/eal.h), with RCU; the caller becomes the control thread. Ends the
// program with a sentence when it fails.
void bench_eal_router(unsigned memory_mib, bool no_huge, const char *const *extra);

// For comparing libraries alone: memory_mib of DPDK's own memory, no devices or shared files, and a
// heap in transparent huge pages: neither hugetlbfs nor root is needed, and nobody is slowed by
// small pages. in_memory: DPDK's own memory in huge pages too, where they are free. Returns the
// heap's socket. The thread stays on the cores it had.
int bench_eal_heap(unsigned memory_mib, unsigned long heap_bytes, bool in_memory);

#endif
