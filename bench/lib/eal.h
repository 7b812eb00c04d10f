// SPDX-License-Identifier: BSD-3-Clause
// eal.h - DPDK for benchmarks
#ifndef BENCH_LIB_EAL_H
#define BENCH_LIB_EAL_H

#include <stdbool.h>

// Starts DPDK like the daemon (core/eal.h), with RCU; the caller becomes the control thread. Ends
// the program with a message on failure.
void bench_eal_router(unsigned memory_mib, bool no_huge, const char *const *extra);

// For comparisons of libraries: memory_mib of DPDK's own memory, no devices or shared files, and a
// heap in transparent huge pages, so that neither hugetlbfs nor root is needed and small pages slow
// nothing. Returns the heap's socket. The thread keeps its cores.
int bench_eal_heap(unsigned memory_mib, unsigned long heap_bytes);

#endif
