// SPDX-License-Identifier: BSD-3-Clause
// rib_pool.h - many small records of equal size, named by 32-bit numbers
//
// A route table is a million little records that point at each other. Numbers of 4 bytes instead of
// pointers of 8 halve them. Chunks never move, so a pointer obtained from a number stays valid
// while the item lives; each chunk has as many items as all before it. Number 0 means none. The
// first word of a freed item links it to the next free one. One thread; rib_pool_fini frees
// everything at once.
#ifndef RIB_RIB_POOL_H
#define RIB_RIB_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"

#define RIB_POOL_FIRST 8192u // items of the first chunk
#define RIB_POOL_CHUNKS 20   // for 2^32 items
// Later chunks are on transparent huge pages: on small pages, a million records cost 10,000 page
// faults.
#define RIB_POOL_SMALL 4 // chunks
#define RIB_POOL_HUGE (2u << 20)

struct rib_pool {
    uint32_t size;     // bytes of an item, a multiple of 4
    uint32_t n_used;   // items alive
    uint32_t top;      // all numbers below it were given out at least once
    uint32_t free;     // first free item, 0 = none
    uint32_t n_chunks;
    uintptr_t chunk[RIB_POOL_CHUNKS]; // address that number 0 would have in it
};

static inline void rib_pool_init(struct rib_pool *p, uint32_t size)
{
    *p = (struct rib_pool){.size = size, .top = 1};
}

static inline unsigned rib_pool_chunk_of(uint32_t id)
{
    return 19 - (unsigned)__builtin_clz(id | RIB_POOL_FIRST / 2);
}

static inline uint32_t rib_pool_begin(unsigned chunk) // its first number
{
    return chunk ? RIB_POOL_FIRST / 2 << chunk : 0;
}

static inline size_t rib_pool_chunk_bytes(const struct rib_pool *p, unsigned chunk)
{
    return (size_t)p->size * (RIB_POOL_FIRST / 2 << (chunk ? chunk : 1));
}

static inline void *rib_pool_at(const struct rib_pool *p, uint32_t id)
{
    return (void *)(p->chunk[rib_pool_chunk_of(id)] + (size_t)id * p->size);
}

// A small virtual router touches little of a chunk. Not malloc: malloc keeps touched pages, and
// after a thousand routers have come and gone those would be the whole chunk.
static inline void rib_pool_map(struct rib_pool *p)
{
    size_t bytes = rib_pool_chunk_bytes(p, p->n_chunks);
    void *chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    bug_on(chunk == MAP_FAILED);
    if (p->n_chunks >= RIB_POOL_SMALL)
        madvise(chunk, bytes, MADV_HUGEPAGE); // only a hint
    p->chunk[p->n_chunks] = (uintptr_t)chunk - (size_t)rib_pool_begin(p->n_chunks) * p->size;
    p->n_chunks++;
}

static inline void rib_pool_fini(struct rib_pool *p)
{
    for (unsigned i = 0; i < p->n_chunks; i++)
        munmap(rib_pool_at(p, rib_pool_begin(i)), rib_pool_chunk_bytes(p, i));
    rib_pool_init(p, p->size);
}

// Number of a new zeroed item. Aborts when the machine is out of memory, like every small
// allocation of a manager.
static inline uint32_t rib_pool_new(struct rib_pool *p)
{
    uint32_t id = p->free;

    if (id) {
        memcpy(&p->free, rib_pool_at(p, id), 4);
    } else {
        id = p->top++;
        if (rib_pool_chunk_of(id) == p->n_chunks)
            rib_pool_map(p);
    }
    memset(rib_pool_at(p, id), 0, p->size);
    p->n_used++;
    return id;
}

static inline void rib_pool_free(struct rib_pool *p, uint32_t id)
{
    memcpy(rib_pool_at(p, id), &p->free, 4);
    p->free = id;
    p->n_used--;
}

// Bytes that were written to: numbers are given out in order, on huge pages in later chunks.
static inline size_t rib_pool_bytes(const struct rib_pool *p)
{
    size_t page = p->n_chunks > RIB_POOL_SMALL ? RIB_POOL_HUGE : 4096,
           items = p->n_chunks ? (size_t)p->top * p->size : 0;

    return (items + page - 1) / page * page;
}

#endif
