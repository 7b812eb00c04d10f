// SPDX-License-Identifier: BSD-3-Clause
// rib_pool.h - many small records of equal size, named by 32-bit numbers
//
// A route table is a million little records that point at each other. Numbers of 4 bytes instead of
// pointers of 8 halve them, and chunks of RIB_POOL_CHUNK items never move, so a pointer obtained
// from a number stays valid while the item lives. Number 0 means none. The first word of a freed
// item links it to the next free one. One thread; rib_pool_fini frees everything at once.
#ifndef RIB_RIB_POOL_H
#define RIB_RIB_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"

#define RIB_POOL_CHUNK_BITS 13
#define RIB_POOL_CHUNK (1u << RIB_POOL_CHUNK_BITS) // items
// Chunks of a large table lie together on transparent huge pages: on small pages, a million records
// cost 10,000 page faults. The first chunks, for small tables, are allocated one by one.
#define RIB_POOL_SMALL 8 // chunks
#define RIB_POOL_PIECE (2u << 20)

struct rib_pool {
    uint32_t size;     // bytes of an item, a multiple of 4
    uint32_t n_used;   // items alive
    uint32_t top;      // all numbers below it were given out at least once
    uint32_t free;     // first free item, 0 = none
    uint32_t n_chunks;
    char **chunk;
};

// Maps a chunk; a small virtual router touches little of it. Not malloc: malloc keeps touched
// pages, and after a thousand routers have come and gone those would be the whole chunk.
static inline char *rib_pool_map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    bug_on(p == MAP_FAILED);
    return p;
}

static inline void rib_pool_init(struct rib_pool *p, uint32_t size)
{
    *p = (struct rib_pool){.size = size, .top = 1};
}

static inline uint32_t rib_pool_per_piece(const struct rib_pool *p)
{
    uint32_t n = RIB_POOL_PIECE / (RIB_POOL_CHUNK * p->size);

    return n ? n : 1;
}

static inline bool rib_pool_begins_piece(const struct rib_pool *p, uint32_t chunk)
{
    return chunk < RIB_POOL_SMALL || (chunk - RIB_POOL_SMALL) % rib_pool_per_piece(p) == 0;
}

static inline bool rib_pool_is_alone(const struct rib_pool *p, uint32_t chunk)
{
    return chunk < RIB_POOL_SMALL || (size_t)RIB_POOL_CHUNK * p->size > RIB_POOL_PIECE;
}

static inline char *rib_pool_piece(const struct rib_pool *p, uint32_t chunk)
{
    if (rib_pool_is_alone(p, chunk))
        return rib_pool_map((size_t)RIB_POOL_CHUNK * p->size);
    char *piece = aligned_alloc(RIB_POOL_PIECE, RIB_POOL_PIECE);
    bug_on(!piece);
    madvise(piece, RIB_POOL_PIECE, MADV_HUGEPAGE); // only a hint
    return piece;
}

static inline void rib_pool_fini(struct rib_pool *p)
{
    for (uint32_t i = 0; i < p->n_chunks; i++)
        if (rib_pool_is_alone(p, i))
            munmap(p->chunk[i], (size_t)RIB_POOL_CHUNK * p->size);
        else if (rib_pool_begins_piece(p, i))
            free(p->chunk[i]);
    free(p->chunk);
    rib_pool_init(p, p->size);
}

static inline void *rib_pool_at(const struct rib_pool *p, uint32_t id)
{
    return p->chunk[id >> RIB_POOL_CHUNK_BITS] + (size_t)(id & (RIB_POOL_CHUNK - 1)) * p->size;
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
        if (id >> RIB_POOL_CHUNK_BITS >= p->n_chunks) {
            p->chunk = realloc(p->chunk, (p->n_chunks + 1) * sizeof *p->chunk);
            bug_on(!p->chunk);
            p->chunk[p->n_chunks] =
                rib_pool_begins_piece(p, p->n_chunks)
                    ? rib_pool_piece(p, p->n_chunks)
                    : p->chunk[p->n_chunks - 1] + (size_t)RIB_POOL_CHUNK * p->size;
            p->n_chunks++;
        }
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

// Bytes that were written to: numbers are given out in order, and pieces are huge pages.
static inline size_t rib_pool_bytes(const struct rib_pool *p)
{
    size_t page = p->n_chunks > RIB_POOL_SMALL ? RIB_POOL_PIECE : 4096,
           items = p->n_chunks ? (size_t)p->top * p->size : 0;

    return (items + page - 1) / page * page + p->n_chunks * sizeof *p->chunk;
}

#endif
