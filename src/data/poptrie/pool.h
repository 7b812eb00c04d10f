// SPDX-License-Identifier: BSD-3-Clause
// pool.h - small blocks from one reserved memory range, named by 32-bit offsets
//
// Blocks are counted in 8-byte units and carved from 4 KiB chunks, each of which holds blocks of
// only one size. Emptied chunks return to a common list, so a changed mix of sizes leaves no holes
// behind, and the base never moves. The pool keeps its data about chunks outside of them; a free
// block holds only two bytes of the free list.
//
// Not thread-safe; no locks.
#ifndef POPTRIE_POOL_H
#define POPTRIE_POOL_H

#include "poptrie/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_CHUNK 4096u
#define POOL_CHUNK_UNITS (POOL_CHUNK / POOL_UNIT)
#define POOL_MAX_UNITS 104u
#define POOL_NIL UINT32_MAX

struct pool_chunk {
    uint32_t next, prev; // in the list of its size, or of empty chunks
    uint16_t units;      // size of its blocks
    uint16_t used;       // blocks handed out
    uint16_t free;       // first free block (unit within the chunk), 0xffff = none
    uint16_t fresh;      // units never handed out start here
};

struct pool {
    uint8_t *base;
    struct pool_chunk *chunk;
    uint32_t n_chunks; // reserved
    uint32_t top;      // chunks ever used: [1, top)
    uint32_t empty;    // emptied chunks
    uint32_t n_empty;
    uint32_t partial[POOL_MAX_UNITS + 1]; // chunks with room, by block size
    uint64_t blocks;                      // handed out
    uint64_t block_bytes;
    uint64_t fail_after; // tests: allocations until failure; UINT64_MAX = off
};

// base: `bytes` of zeroed memory, a multiple of POOL_CHUNK, 64-byte aligned; the caller keeps it. 0
// or -ENOMEM.
int pool_init(struct pool *p, void *base, size_t bytes);
void pool_fini(struct pool *p);

// Allocates `bytes` (1..POOL_MAX_UNITS * 8). Returns a unit offset, never 0; 0 when the pool is
// full.
uint32_t pool_alloc(struct pool *p, size_t bytes);
void pool_free(struct pool *p, uint32_t ref);
// Size in bytes of an allocated block, 0 if `ref` is not the start of one.
size_t pool_block_bytes(const struct pool *p, uint32_t ref);
// Checks that every list is intact and agrees with the counts.
bool pool_is_sound(const struct pool *p);

// Memory of the blocks; partly filled chunks count as full.
static inline uint64_t pool_bytes(const struct pool *p)
{
    return (uint64_t)(p->top - 1 - p->n_empty) * POOL_CHUNK;
}

static inline void *pool_at(const struct pool *p, uint32_t ref)
{
    return p->base + (size_t)ref * POOL_UNIT;
}

#endif
