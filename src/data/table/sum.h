// SPDX-License-Identifier: BSD-3-Clause
// sum.h - sums of counters that each thread writes in a row of its own
//
// A row consists of 64-bit words, each read atomically (relaxed): approximate under traffic, exact
// at rest. Any thread. Reading untouched pages commits no memory.
#ifndef TABLE_SUM_H
#define TABLE_SUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void sum_add(void *sum, const void *row, size_t bytes)
{
    uint64_t *to = sum;
    const uint64_t *word = row;

    for (size_t i = 0; i < bytes / sizeof *word; i++)
        to[i] += __atomic_load_n(&word[i], __ATOMIC_RELAXED);
}

// Of n rows, `stride` bytes apart.
static inline void sum_rows(void *sum, const void *first, size_t stride, unsigned n, size_t bytes)
{
    memset(sum, 0, bytes);
    for (unsigned r = 0; r < n; r++)
        sum_add(sum, (const char *)first + r * stride, bytes);
}

#endif
