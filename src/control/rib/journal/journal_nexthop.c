// SPDX-License-Identifier: BSD-3-Clause
// journal_nexthop.c - past meanings of next-hop ids, each stored once and counted
//
// A stored next hop is held by the records that name it and by the id that has this meaning now. A
// router has a handful of them, but each next-hop object that comes and goes leaves one behind
// while a record names it. So memory for legs is limited, too: beyond the limit only the kind of a
// next hop is kept.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "rib/journal/journal_priv.h"
#include "table/limits.h"

struct stored {
    uint32_t holders, hash_next;
    uint64_t hash;
    uint32_t bytes;
    struct journal_nexthop w; // only the first n_legs legs are allocated
};

static VEC(struct stored *) stored; // number 0 is "no route"
static VEC(uint32_t) free_ids;
static uint32_t *bucket, n_buckets;
static uint64_t n_stored, n_bytes, max_bytes, n_refused;
static uint32_t *meaning; // [NEXTHOP_MAX] -> number in `stored`

static size_t nexthop_size(const struct journal_nexthop *w)
{
    return offsetof(struct journal_nexthop, leg) + w->n_legs * sizeof w->leg[0];
}

static bool nexthops_equal(const struct journal_nexthop *a, const struct journal_nexthop *b)
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

static uint64_t nexthop_hash(const struct journal_nexthop *w)
{
    uint64_t h = hash_mix64((uint64_t)w->nexthop << 32 | (uint64_t)w->kind << 24 | w->n_legs);

    for (unsigned i = 0; i < w->n_legs; i++) {
        h = hash_bytes(w->leg[i].iface, strlen(w->leg[i].iface), h + w->leg[i].weight);
        h = hash_bytes(w->leg[i].gateway.b, w->leg[i].gateway.family ? 16 : 0, h);
    }
    return h;
}

int journal_nexthop_init(void)
{
    n_buckets = 64;
    bucket = calloc(n_buckets, sizeof *bucket);
    meaning = calloc(NEXTHOP_MAX, sizeof *meaning);
    *vec_push(&stored) = NULL;
    n_stored = n_bytes = n_refused = 0;
    return bucket && meaning ? 0 : -ENOMEM;
}

void journal_nexthop_fini(void)
{
    vec_foreach (&stored, w)
        free(*w);
    vec_free(&stored);
    vec_free(&free_ids);
    free(bucket);
    free(meaning);
    bucket = meaning = NULL;
}

void journal_nexthop_limit(uint64_t bytes)
{
    max_bytes = bytes;
}

static void grow_buckets(void)
{
    n_buckets *= 2;
    free(bucket);
    bucket = calloc(n_buckets, sizeof *bucket);
    bug_on(!bucket);
    for (uint32_t id = 1; id < stored.n; id++) {
        struct stored *w = stored.item[id];

        if (!w)
            continue;
        w->hash_next = bucket[w->hash & (n_buckets - 1)];
        bucket[w->hash & (n_buckets - 1)] = id;
    }
}

static uint32_t store_nexthop(const struct journal_nexthop *w, uint64_t hash)
{
    size_t bytes = offsetof(struct stored, w) + nexthop_size(w);
    struct stored *made = malloc(bytes);
    uint32_t id;

    bug_on(!made);
    if (n_stored >= n_buckets)
        grow_buckets();
    if (free_ids.n) {
        id = free_ids.item[--free_ids.n];
    } else {
        id = (uint32_t)stored.n;
        (void)*vec_push(&stored);
    }
    made->holders = 1;
    made->hash_next = bucket[hash & (n_buckets - 1)];
    made->hash = hash;
    made->bytes = (uint32_t)bytes;
    memcpy(&made->w, w, nexthop_size(w));
    bucket[hash & (n_buckets - 1)] = id;
    stored.item[id] = made;
    n_stored++;
    n_bytes += bytes;
    return id;
}

uint32_t journal_nexthop_get(const struct journal_nexthop *w)
{
    struct journal_nexthop bare = {
        .nexthop = w->nexthop, .kind = w->kind, .n_more = (uint16_t)(w->n_legs + w->n_more)};
    uint64_t hash = nexthop_hash(w);

    for (uint32_t id = bucket[hash & (n_buckets - 1)]; id; id = stored.item[id]->hash_next)
        if (nexthops_equal(&stored.item[id]->w, w)) {
            stored.item[id]->holders++;
            return id;
        }
    if (w->n_legs && n_bytes + nexthop_size(w) > max_bytes) {
        n_refused++;
        return journal_nexthop_get(&bare);
    }
    return store_nexthop(w, hash);
}

void journal_nexthop_hold(uint32_t id)
{
    if (id)
        stored.item[id]->holders++;
}

void journal_nexthop_put(uint32_t id)
{
    struct stored *w = stored.item[id];
    uint32_t *link;

    if (!id || --w->holders)
        return;
    link = &bucket[w->hash & (n_buckets - 1)];
    while (*link != id)
        link = &stored.item[*link]->hash_next;
    *link = w->hash_next;
    stored.item[id] = NULL;
    *vec_push(&free_ids) = id;
    n_stored--;
    n_bytes -= w->bytes;
    free(w);
}

void journal_nexthop_copy(uint32_t id, struct journal_nexthop *to)
{
    memset(to, 0, sizeof *to);
    memcpy(to, &stored.item[id]->w, nexthop_size(&stored.item[id]->w));
}

bool journal_nexthop_is(uint32_t id, const struct journal_nexthop *w)
{
    return id && nexthops_equal(&stored.item[id]->w, w);
}

uint32_t journal_nexthop_top(void)
{
    return (uint32_t)stored.n;
}

void journal_nexthop_stats(struct journal_stats *s)
{
    s->nexthops = n_stored;
    s->nexthop_bytes = n_bytes;
    s->nexthops_refused = n_refused;
}

uint32_t journal_nexthop_of(uint32_t nexthop)
{
    return meaning[nexthop];
}

void journal_nexthop_set(uint32_t nexthop, uint32_t kept)
{
    uint32_t was = meaning[nexthop];

    meaning[nexthop] = kept;
    journal_nexthop_put(was);
}
