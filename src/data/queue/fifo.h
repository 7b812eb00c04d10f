// SPDX-License-Identifier: BSD-3-Clause
// fifo.h - FIFO queues of packets, in cache-line blocks from a pool
//
// A block is three places and a link. A place holds all that charging a packet needs, so that
// nothing reads the packet between put and take. Each block of a queue holds a waiting packet, so a
// pool with as many blocks as the packet limit never runs out. Memory is touched on first need and
// reused last in, first out.
#ifndef QUEUE_FIFO_H
#define QUEUE_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_PLACES 4u
#define BLOCK_LINK (BLOCK_PLACES - 1)
#define PLACE_NONE UINT32_MAX
#define LEN_BITS 24
#define LEN_MAX ((1u << LEN_BITS) - 1)

struct place {
    void *packet;
    uint32_t len_ecn; // ECN bits above the length
    uint32_t at;      // span of arrival; in a link, the first place of the next block
};
_Static_assert(sizeof(struct place) == 16, "a block is a cache line");

struct pool {
    struct place *place;
    uint32_t free; // first place of a free block, linked through first places; PLACE_NONE: none
    uint32_t new;    // places from here on were never used
    uint32_t blocks; // number of blocks
};

struct fifo { // head equals tail: empty
    uint32_t head, tail; // places: the first packet, and one after the last
};

static inline bool fifo_is_empty(const struct fifo *f)
{
    return f->head == f->tail;
}

// Returns a free block, still in the list.
static inline uint32_t block_free(struct pool *p)
{
    if (__builtin_expect(p->free == PLACE_NONE, 0)) {
        p->free = p->new;
        p->place[p->free].at = PLACE_NONE;
        p->new += BLOCK_PLACES;
    }
    return p->free;
}

static inline void block_give(struct pool *p, uint32_t b)
{
    p->place[b].at = p->free;
    p->free = b;
}

// x or y, without a branch.
static inline uint32_t place_either(bool is_x, uint32_t x, uint32_t y)
{
    uint32_t mask = 0 - (uint32_t)is_x;

    __asm__("" : "+r"(mask));
    return y ^ ((x ^ y) & mask);
}

// Whether the last block is full cannot be foreseen: no branch depends on it.
static inline void fifo_put(struct pool *pool, struct fifo *f, struct place p)
{
    const uint32_t b = block_free(pool), next = pool->place[b].at;

    if (f->head == f->tail) {
        pool->free = next;
        f->head = f->tail = b;
    } else {
        const bool full = f->tail % BLOCK_PLACES == BLOCK_LINK;

        pool->free = place_either(full, next, b);
        pool->place[f->tail].at = b; // the link of a full block, or where p comes
        f->tail = place_either(full, b, f->tail);
    }
    pool->place[f->tail++] = p;
}

// The queue must not be empty.
static inline struct place fifo_take(struct pool *pool, struct fifo *f)
{
    uint32_t head = f->head++;
    struct place p = pool->place[head];

    if (f->head == f->tail) {
        block_give(pool, head / BLOCK_PLACES * BLOCK_PLACES);
    } else if (f->head % BLOCK_PLACES == BLOCK_LINK) {
        uint32_t next = pool->place[f->head].at;

        block_give(pool, head / BLOCK_PLACES * BLOCK_PLACES);
        f->head = next;
    }
    return p;
}

// Only queue_check() checks that a walk meets the expected packets.
static inline void fifo_sum(const struct pool *pool, const struct fifo *f, uint64_t *bytes,
                            uint32_t *packets, uint32_t *blocks)
{
    for (uint32_t at = f->head; at != f->tail; at++) {
        if (at % BLOCK_PLACES == BLOCK_LINK)
            at = pool->place[at].at;
        *blocks += at == f->head || at % BLOCK_PLACES == 0;
        *bytes += pool->place[at].len_ecn & LEN_MAX;
        ++*packets;
    }
}

static inline uint32_t place_len(const struct place *p)
{
    return p->len_ecn & LEN_MAX;
}

static inline unsigned place_ecn(const struct place *p)
{
    return p->len_ecn >> LEN_BITS;
}

#endif
