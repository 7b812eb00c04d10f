// SPDX-License-Identifier: BSD-3-Clause
// memory.h - what measuring programs begin with: memory in large pages, numbers at random
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stddef.h>
#include <stdint.h>

// --- table.c ---
uint64_t bench_random(void);
void *memory_huge(size_t bytes); // or the process ends

#endif
