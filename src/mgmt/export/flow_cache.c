// SPDX-License-Identifier: BSD-3-Clause
// flow_cache.c - see flow_cache.h
//
// A hash table finds the flows by key, and a list links them in the order of their last packets.
#include "export/flow_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

LIST_HEAD(flow_row, flow);

struct flow_cache {
    flow_tell *tell;
    uint32_t used;
    struct flow_row free;
    TAILQ_HEAD(, flow) by_age; // oldest first
    uint32_t mask;
    uint64_t seed; // flows come from outside: nobody may choose the row
    struct flow_row *row;
    struct flow *flow;
};

struct flow_cache *flow_cache_new(uint32_t flows_max, flow_tell *tell)
{
    struct flow_cache *c = calloc(1, sizeof *c);
    uint32_t rows = 1;

    while (rows < flows_max)
        rows *= 2;
    if (!c)
        return NULL;
    *c = (struct flow_cache){.tell = tell, .mask = rows - 1, .seed = hash_mix64(clock_now_ns())};
    TAILQ_INIT(&c->by_age);
    c->row = calloc(rows, sizeof *c->row);
    c->flow = calloc(flows_max, sizeof *c->flow);
    if (!c->row || !c->flow) {
        flow_cache_free(c);
        return NULL;
    }
    for (uint32_t i = 0; i < flows_max; i++)
        LIST_INSERT_HEAD(&c->free, &c->flow[i], in_row);
    return c;
}

void flow_cache_free(struct flow_cache *c)
{
    if (!c)
        return;
    free(c->row);
    free(c->flow);
    free(c);
}

uint32_t flow_cache_used(const struct flow_cache *c)
{
    return c->used;
}

static struct flow_row *row_of(struct flow_cache *c, const struct flow_key *key)
{
    return &c->row[hash_bytes(key, sizeof *key, c->seed) & c->mask];
}

static void end_flow(struct flow_cache *c, struct flow *f, enum flow_end why)
{
    if (c->tell)
        c->tell(f, why);
    LIST_REMOVE(f, in_row);
    TAILQ_REMOVE(&c->by_age, f, by_age);
    LIST_INSERT_HEAD(&c->free, f, in_row);
    c->used--;
}

static struct flow *make_flow(struct flow_cache *c, const struct flow_key *key)
{
    if (LIST_EMPTY(&c->free))
        end_flow(c, TAILQ_FIRST(&c->by_age), FLOW_END_NO_ROOM);
    struct flow *f = LIST_FIRST(&c->free);
    LIST_REMOVE(f, in_row);
    *f = (struct flow){0};
    memcpy(&f->key, key, sizeof *key); // with its padding, which is compared too
    LIST_INSERT_HEAD(row_of(c, key), f, in_row);
    TAILQ_INSERT_TAIL(&c->by_age, f, by_age);
    c->used++;
    return f;
}

void flow_cache_each(const struct flow_cache *c, void (*fn)(void *ctx, const struct flow *f),
                     void *ctx)
{
    const struct flow *f;

    TAILQ_FOREACH (f, &c->by_age, by_age)
        fn(ctx, f);
}

void flow_cache_add(struct flow_cache *c, const struct flow_key *key, const struct flow_packet *p,
                    uint64_t now_ms, uint64_t active_ms)
{
    struct flow *f = LIST_FIRST(row_of(c, key));

    while (f && memcmp(&f->key, key, sizeof *key))
        f = LIST_NEXT(f, in_row);
    f = f ? f : make_flow(c, key);
    if (f->packets && now_ms - f->first_ms >= active_ms) {
        if (c->tell)
            c->tell(f, FLOW_END_ACTIVE);
        f->packets_before = f->packets;
        f->bytes_before = f->bytes;
        f->packets = f->bytes = 0;
    }
    if (!f->packets)
        f->first_ms = now_ms;
    f->gateway = p->gateway;
    f->tcp_flags |= p->tcp_flags;
    f->packets += p->packets;
    f->bytes += p->bytes;
    f->last_ms = now_ms;
    TAILQ_REMOVE(&c->by_age, f, by_age);
    TAILQ_INSERT_TAIL(&c->by_age, f, by_age);
}

unsigned flow_cache_end(struct flow_cache *c, uint64_t before_ms, unsigned max, enum flow_end why)
{
    struct flow *f;
    unsigned n = 0;

    for (; n < max && (f = TAILQ_FIRST(&c->by_age)) && f->last_ms < before_ms; n++)
        end_flow(c, f, why);
    return n;
}
