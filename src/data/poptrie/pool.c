// SPDX-License-Identifier: BSD-3-Clause
// pool.c - blocks of equal size share a chunk; see pool.h
//
// Chunk 0 is never used, so that 0 can mean "no block". A chunk is in exactly one place: in the
// list of its size while it has both room and used blocks, in `empty` while it has no used block,
// nowhere while it is full. The most recently freed block is reused first, because it is still in
// the cache.
#include "poptrie/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define NO_BLOCK 0xffffu
#ifdef KAMUEE_DEBUG
#define POISON 0xa5 // shows up in late readers instead of plausible data
#endif

int pool_init(struct pool *p, void *base, size_t bytes)
{
    *p = (struct pool){.base = base, .n_chunks = bytes / POOL_CHUNK, .top = 1};
    p->chunk = mmap(NULL, p->n_chunks * sizeof(*p->chunk), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p->chunk == MAP_FAILED)
        return -ENOMEM;
    p->empty = POOL_NIL;
    for (unsigned i = 0; i <= POOL_MAX_UNITS; i++)
        p->partial[i] = POOL_NIL;
    p->fail_after = UINT64_MAX;
    return 0;
}

void pool_fini(struct pool *p)
{
    if (p->chunk != NULL)
        munmap(p->chunk, p->n_chunks * sizeof(*p->chunk));
    p->chunk = NULL;
}

static void list_push(struct pool *p, uint32_t *head, uint32_t i)
{
    p->chunk[i].prev = POOL_NIL;
    p->chunk[i].next = *head;
    if (*head != POOL_NIL)
        p->chunk[*head].prev = i;
    *head = i;
}

static void list_remove(struct pool *p, uint32_t *head, uint32_t i)
{
    struct pool_chunk *c = &p->chunk[i];

    if (c->prev != POOL_NIL)
        p->chunk[c->prev].next = c->next;
    else
        *head = c->next;
    if (c->next != POOL_NIL)
        p->chunk[c->next].prev = c->prev;
}

static bool chunk_has_room(const struct pool_chunk *c)
{
    return c->free != NO_BLOCK || c->fresh + c->units <= POOL_CHUNK_UNITS;
}

static uint32_t chunk_get(struct pool *p, unsigned units)
{
    uint32_t i = p->empty;

    if (i != POOL_NIL) {
        list_remove(p, &p->empty, i);
        p->n_empty--;
    } else if (p->top < p->n_chunks) {
        i = p->top++;
    } else {
        return POOL_NIL;
    }
    p->chunk[i].units = units;
    p->chunk[i].used = 0;
    p->chunk[i].free = NO_BLOCK;
    p->chunk[i].fresh = 0;
    list_push(p, &p->partial[units], i);
    return i;
}

uint32_t pool_alloc(struct pool *p, size_t bytes)
{
    unsigned units = (bytes + POOL_UNIT - 1) / POOL_UNIT;
    uint32_t i = p->partial[units], ref;
    struct pool_chunk *c;

    if (p->fail_after != UINT64_MAX) {
        if (p->fail_after == 0)
            return 0;
        p->fail_after--;
    }
    if (i == POOL_NIL && (i = chunk_get(p, units)) == POOL_NIL)
        return 0;
    c = &p->chunk[i];
    if (c->free != NO_BLOCK) {
        ref = i * POOL_CHUNK_UNITS + c->free;
        memcpy(&c->free, pool_at(p, ref), sizeof(c->free));
        if (c->free != NO_BLOCK) // the next one, for callers that want many
            __builtin_prefetch(pool_at(p, i * POOL_CHUNK_UNITS + c->free), 1);
    } else {
        ref = i * POOL_CHUNK_UNITS + c->fresh;
        c->fresh += units;
    }
    c->used++;
    if (!chunk_has_room(c))
        list_remove(p, &p->partial[units], i);
    p->blocks++;
    p->block_bytes += units * POOL_UNIT;
    return ref;
}

void pool_free(struct pool *p, uint32_t ref)
{
    uint32_t i = ref / POOL_CHUNK_UNITS;
    struct pool_chunk *c = &p->chunk[i];
    bool was_full = !chunk_has_room(c);

#ifdef POISON
    memset(pool_at(p, ref), POISON, (size_t)c->units * POOL_UNIT);
#endif
    memcpy(pool_at(p, ref), &c->free, sizeof(c->free));
    c->free = ref % POOL_CHUNK_UNITS;
    c->used--;
    p->blocks--;
    p->block_bytes -= c->units * POOL_UNIT;
    if (c->used == 0) {
        if (!was_full)
            list_remove(p, &p->partial[c->units], i);
        list_push(p, &p->empty, i);
        p->n_empty++;
    } else if (was_full) {
        list_push(p, &p->partial[c->units], i);
    }
}

size_t pool_block_bytes(const struct pool *p, uint32_t ref)
{
    uint32_t i = ref / POOL_CHUNK_UNITS;
    const struct pool_chunk *c = &p->chunk[i];

    if (i == 0 || i >= p->top || c->used == 0 || ref % POOL_CHUNK_UNITS % c->units != 0 ||
        ref % POOL_CHUNK_UNITS >= c->fresh)
        return 0;
    return (size_t)c->units * POOL_UNIT;
}

static bool chunk_is_sound(const struct pool *p, uint32_t i)
{
    const struct pool_chunk *c = &p->chunk[i];
    unsigned free = 0;

    for (uint16_t at = c->free; at != NO_BLOCK; free++) {
        if (at % c->units != 0 || at >= c->fresh || free > POOL_CHUNK_UNITS)
            return false;
        memcpy(&at, pool_at(p, i * POOL_CHUNK_UNITS + at), sizeof(at));
    }
    return c->used + free == c->fresh / c->units;
}

bool pool_is_sound(const struct pool *p)
{
    uint64_t blocks = 0, bytes = 0;
    uint32_t empty = 0;

    for (uint32_t i = 1; i < p->top; i++) {
        if (!chunk_is_sound(p, i))
            return false;
        blocks += p->chunk[i].used;
        bytes += (uint64_t)p->chunk[i].used * p->chunk[i].units * POOL_UNIT;
        empty += p->chunk[i].used == 0;
    }
    for (unsigned u = 1; u <= POOL_MAX_UNITS; u++)
        for (uint32_t i = p->partial[u]; i != POOL_NIL; i = p->chunk[i].next)
            if (p->chunk[i].units != u || p->chunk[i].used == 0 || !chunk_has_room(&p->chunk[i]))
                return false;
    return blocks == p->blocks && bytes == p->block_bytes && empty == p->n_empty;
}
