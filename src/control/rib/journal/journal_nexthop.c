// SPDX-License-Identifier: BSD-3-Clause
// journal_nexthop.c - what next-hop ids stood for: ways, each stored once and counted
//
// Holders are the records that name a way, and the next-hop id that means it
// now. A router has a handful of ways; but each next-hop object that comes
// and goes leaves one as long as a record names it, so their legs are bounded too:
// beyond the limit a way is kept by its kind alone.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "rib/journal/journal_priv.h"
#include "table/limits.h"

struct way {
    uint32_t holders, hash_next;
    uint64_t hash;
    uint32_t bytes;
    struct journal_way w; // only its first n_legs legs are there
};

static VEC(struct way *) ways; // number 0 is "no route"
static VEC(uint32_t) free_ids;
static uint32_t *bucket, n_buckets;
static uint64_t n_ways, n_bytes, max_bytes, n_refused;
static uint32_t *meaning; // [NEXTHOP_MAX] -> way

static size_t size_of(const struct journal_way *w)
{
    return offsetof(struct journal_way, leg) + w->n_legs * sizeof w->leg[0];
}

static bool same(const struct journal_way *a, const struct journal_way *b)
{
    if (a->nexthop != b->nexthop || a->kind != b->kind || a->n_legs != b->n_legs ||
        a->n_more != b->n_more)
        return false;
    for (unsigned i = 0; i < a->n_legs; i++)
        if (strcmp(a->leg[i].iface, b->leg[i].iface) || a->leg[i].weight != b->leg[i].weight ||
            a->leg[i].gateway.family != b->leg[i].gateway.family ||
            (a->leg[i].gateway.family && !ip_equal(&a->leg[i].gateway, &b->leg[i].gateway)))
            return false;
    return true;
}

static uint64_t hash_of(const struct journal_way *w)
{
    uint64_t h = hash_mix64((uint64_t)w->nexthop << 32 | (uint64_t)w->kind << 24 | w->n_legs);

    for (unsigned i = 0; i < w->n_legs; i++) {
        h = hash_bytes(w->leg[i].iface, strlen(w->leg[i].iface), h + w->leg[i].weight);
        h = hash_bytes(w->leg[i].gateway.b, w->leg[i].gateway.family ? 16 : 0, h);
    }
    return h;
}

int way_init(void)
{
    n_buckets = 64;
    bucket = calloc(n_buckets, sizeof *bucket);
    meaning = calloc(NEXTHOP_MAX, sizeof *meaning);
    *vec_push(&ways) = NULL;
    n_ways = n_bytes = n_refused = 0;
    return bucket && meaning ? 0 : -ENOMEM;
}

void way_fini(void)
{
    vec_foreach (&ways, w)
        free(*w);
    vec_free(&ways);
    vec_free(&free_ids);
    free(bucket);
    free(meaning);
    bucket = meaning = NULL;
}

void way_limit(uint64_t bytes)
{
    max_bytes = bytes;
}

static void grow(void)
{
    n_buckets *= 2;
    free(bucket);
    bucket = calloc(n_buckets, sizeof *bucket);
    bug_on(!bucket);
    for (uint32_t id = 1; id < ways.n; id++) {
        struct way *w = ways.item[id];

        if (!w)
            continue;
        w->hash_next = bucket[w->hash & (n_buckets - 1)];
        bucket[w->hash & (n_buckets - 1)] = id;
    }
}

static uint32_t make(const struct journal_way *w, uint64_t hash)
{
    size_t bytes = offsetof(struct way, w) + size_of(w);
    struct way *made = malloc(bytes);
    uint32_t id;

    bug_on(!made);
    if (n_ways >= n_buckets)
        grow();
    if (free_ids.n) {
        id = free_ids.item[--free_ids.n];
    } else {
        id = (uint32_t)ways.n;
        (void)*vec_push(&ways);
    }
    made->holders = 1;
    made->hash_next = bucket[hash & (n_buckets - 1)];
    made->hash = hash;
    made->bytes = (uint32_t)bytes;
    memcpy(&made->w, w, size_of(w));
    bucket[hash & (n_buckets - 1)] = id;
    ways.item[id] = made;
    n_ways++;
    n_bytes += bytes;
    return id;
}

uint32_t way_get(const struct journal_way *w)
{
    struct journal_way bare = {
        .nexthop = w->nexthop, .kind = w->kind, .n_more = (uint16_t)(w->n_legs + w->n_more)};
    uint64_t hash = hash_of(w);

    for (uint32_t id = bucket[hash & (n_buckets - 1)]; id; id = ways.item[id]->hash_next)
        if (same(&ways.item[id]->w, w)) {
            ways.item[id]->holders++;
            return id;
        }
    if (w->n_legs && n_bytes + size_of(w) > max_bytes) {
        n_refused++;
        return way_get(&bare);
    }
    return make(w, hash);
}

void way_hold(uint32_t id)
{
    if (id)
        ways.item[id]->holders++;
}

void way_put(uint32_t id)
{
    struct way *w = ways.item[id];
    uint32_t *link;

    if (!id || --w->holders)
        return;
    link = &bucket[w->hash & (n_buckets - 1)];
    while (*link != id)
        link = &ways.item[*link]->hash_next;
    *link = w->hash_next;
    ways.item[id] = NULL;
    *vec_push(&free_ids) = id;
    n_ways--;
    n_bytes -= w->bytes;
    free(w);
}

void way_copy(uint32_t id, struct journal_way *to)
{
    memset(to, 0, sizeof *to);
    memcpy(to, &ways.item[id]->w, size_of(&ways.item[id]->w));
}

bool way_is(uint32_t id, const struct journal_way *w)
{
    return id && same(&ways.item[id]->w, w);
}

uint32_t way_top(void)
{
    return (uint32_t)ways.n;
}

void way_stats(struct journal_stats *s)
{
    s->ways = n_ways;
    s->way_bytes = n_bytes;
    s->ways_refused = n_refused;
}

uint32_t way_of(uint32_t nexthop)
{
    return meaning[nexthop];
}

void way_of_set(uint32_t nexthop, uint32_t way)
{
    uint32_t was = meaning[nexthop];

    meaning[nexthop] = way;
    way_put(was);
}
