// SPDX-License-Identifier: BSD-3-Clause
// arena.h - allocates blocks of 1, 2, 3 … units from one stretch of memory, named by their first
// unit
//
// Freed blocks are kept by size and reused, never joined: a list that fragments its arena gets a
// new classifier. One thread.
#ifndef ACL_ARENA_H
#define ACL_ARENA_H

#include <stddef.h>
#include <stdint.h>

#define ARENA_SIZES 96u

struct arena {
    uint8_t *base;
    uint32_t unit, units, top; // bytes per unit; total units; first unit never allocated
    uint32_t free[ARENA_SIZES];
    uint64_t used; // units
};

// unit: 32 bytes, or whole lines; base: 64-byte aligned
void arena_init(struct arena *a, void *base, uint32_t unit, uint32_t units);
uint32_t arena_alloc(struct arena *a, uint32_t units); // the first unit, never 0; 0: full
void arena_free(struct arena *a, uint32_t ref, uint32_t units);
uint32_t arena_size(uint32_t units); // units that a block of this size occupies

static inline size_t line_up(size_t bytes) // rounds up to whole cache lines
{
    return (bytes + 63) & ~(size_t)63;
}

#endif
