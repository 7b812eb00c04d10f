// SPDX-License-Identifier: BSD-3-Clause
// memory.h - for benchmarks: memory in large pages, random numbers
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stddef.h>
#include <stdint.h>

// --- table.c ---
uint64_t bench_random(void);
void *memory_huge(size_t bytes); // or ends the process

#endif
