// SPDX-License-Identifier: BSD-3-Clause
// flow_cache.c - see flow_cache.h
//
// The flows are in an array. A hash table finds them by key, and a list links them in the order of
// their last packets.
#include "export/flow_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

struct flow_cache {
    flow_tell *tell;
    uint32_t max, used, free; // free: first free flow, linked by next_in_row
    uint32_t oldest, newest;
    uint32_t mask;
    uint64_t seed;  // flows come from outside: nobody may choose the row
    uint32_t *row;
    struct flow *flow; // [1 .. max]
};

struct flow_cache *flow_cache_new(uint32_t flows_max, flow_tell *tell)
{
    struct flow_cache *c = calloc(1, sizeof *c);
    uint32_t rows = 1;

    while (rows < flows_max)
        rows *= 2;
    if (!c)
        return NULL;
    *c = (struct flow_cache){
        .tell = tell, .max = flows_max, .mask = rows - 1, .seed = hash_mix64(clock_now_ns())};
    c->row = calloc(rows, sizeof *c->row);
    c->flow = calloc(flows_max + 1ul, sizeof *c->flow);
    if (!c->row || !c->flow) {
        flow_cache_free(c);
        return NULL;
    }
    for (uint32_t i = flows_max; i; i--) {
        c->flow[i].next_in_row = c->free;
        c->free = i;
    }
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

static uint32_t *row_of(struct flow_cache *c, const struct flow_key *key)
{
    return &c->row[hash_bytes(key, sizeof *key, c->seed) & c->mask];
}

static void list_remove(struct flow_cache *c, uint32_t i)
{
    struct flow *f = &c->flow[i];

    *(f->older ? &c->flow[f->older].newer : &c->oldest) = f->newer;
    *(f->newer ? &c->flow[f->newer].older : &c->newest) = f->older;
}

static void list_append(struct flow_cache *c, uint32_t i)
{
    struct flow *f = &c->flow[i];

    f->older = c->newest;
    f->newer = 0;
    *(c->newest ? &c->flow[c->newest].newer : &c->oldest) = i;
    c->newest = i;
}

static void end_flow(struct flow_cache *c, uint32_t i, enum flow_end why)
{
    struct flow *f = &c->flow[i];
    uint32_t *link = row_of(c, &f->key);

    c->tell(f, why);
    while (*link != i)
        link = &c->flow[*link].next_in_row;
    *link = f->next_in_row;
    list_remove(c, i);
    *f = (struct flow){.next_in_row = c->free};
    c->free = i;
    c->used--;
}

static uint32_t make_flow(struct flow_cache *c, const struct flow_key *key)
{
    if (!c->free)
        end_flow(c, c->oldest, FLOW_END_NO_ROOM);
    uint32_t i = c->free, *row = row_of(c, key);
    struct flow *f = &c->flow[i];
    c->free = f->next_in_row;
    *f = (struct flow){.next_in_row = *row};
    memcpy(&f->key, key, sizeof *key); // with its padding, which is compared too
    *row = i;
    list_append(c, i);
    c->used++;
    return i;
}

void flow_cache_add(struct flow_cache *c, const struct flow_key *key, const struct ip_addr *gateway,
                    uint32_t bytes, uint8_t tcp_flags, uint64_t now_ms, uint64_t active_ms)
{
    uint32_t i = *row_of(c, key);

    while (i && memcmp(&c->flow[i].key, key, sizeof *key))
        i = c->flow[i].next_in_row;
    i = i ? i : make_flow(c, key);
    struct flow *f = &c->flow[i];
    if (f->packets && now_ms - f->first_ms >= active_ms) {
        c->tell(f, FLOW_END_ACTIVE);
        f->packets = f->bytes = 0;
    }
    if (!f->packets)
        f->first_ms = now_ms;
    f->gateway = *gateway;
    f->tcp_flags |= tcp_flags;
    f->packets++;
    f->bytes += bytes;
    f->last_ms = now_ms;
    list_remove(c, i);
    list_append(c, i);
}

unsigned flow_cache_end(struct flow_cache *c, uint64_t before_ms, unsigned max, enum flow_end why)
{
    unsigned n = 0;

    for (; n < max && c->oldest && c->flow[c->oldest].last_ms < before_ms; n++)
        end_flow(c, c->oldest, why);
    return n;
}
