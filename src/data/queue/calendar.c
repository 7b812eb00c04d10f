// SPDX-License-Identifier: BSD-3-Clause
// calendar.c - items ordered by time, in O(1)
//
// A bitmap of two levels finds the first bucket that is not empty: each bit of `groups` stands for
// a word of 64 buckets. See calendar.h.
#include "queue/calendar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int calendar_init(struct calendar *c, unsigned items, unsigned shift, uint64_t now)
{
    memset(c, 0, sizeof *c);
    c->link = malloc((items + 1) * sizeof *c->link);
    if (!c->link)
        return -ENOMEM;
    memset(c->link, 0xff, (items + 1) * sizeof *c->link);
    memset(c->head, 0xff, sizeof c->head);
    c->shift = shift;
    c->first = now >> shift;
    return 0;
}

void calendar_fini(struct calendar *c)
{
    free(c->link);
    c->link = NULL;
}

static unsigned bucket_of(const struct calendar *c, uint64_t time)
{
    uint64_t span = time >> c->shift;

    if (calendar_is_after(c, c->first, span))
        span = c->first;
    if (calendar_is_after(c, span, c->first + CALENDAR_BUCKETS - 1))
        span = c->first + CALENDAR_BUCKETS - 1;
    return (unsigned)(span % CALENDAR_BUCKETS);
}

void calendar_put(struct calendar *c, uint16_t item, uint64_t time)
{
    unsigned b = bucket_of(c, time);
    uint16_t head = c->head[b];

    if (head == CALENDAR_NONE) {
        c->link[item] = (struct calendar_link){item, item, (uint16_t)b};
        c->head[b] = item;
        c->words[b / 64] |= 1ull << b % 64;
        c->groups |= 1ull << b / 64;
        return;
    }
    uint16_t tail = c->link[head].prev;
    c->link[item] = (struct calendar_link){head, tail, (uint16_t)b};
    c->link[tail].next = c->link[head].prev = item;
}

void calendar_remove(struct calendar *c, uint16_t item)
{
    struct calendar_link *l = &c->link[item];
    unsigned b = l->bucket;

    if (b == CALENDAR_NONE)
        return;
    l->bucket = CALENDAR_NONE;
    if (l->next == item) {
        c->head[b] = CALENDAR_NONE;
        c->words[b / 64] &= ~(1ull << b % 64);
        if (!c->words[b / 64])
            c->groups &= ~(1ull << b / 64);
        return;
    }
    c->link[l->prev].next = l->next;
    c->link[l->next].prev = l->prev;
    if (c->head[b] == item)
        c->head[b] = l->next;
}

// Rotates w right by n bits.
static uint64_t rotated(uint64_t w, unsigned n)
{
    return n ? w >> n | w << (64 - n) : w;
}

// Returns the first bucket with items, going around the ring from `from`. The calendar is not
// empty.
static unsigned next_bucket(const struct calendar *c, unsigned from)
{
    unsigned g = from / 64;
    uint64_t w = c->words[g] >> from % 64;

    if (w)
        return from + (unsigned)__builtin_ctzll(w);
    // The word of `from` comes again at the end, for the buckets before `from`.
    g = (g + 1) % 64;
    g = (g + (unsigned)__builtin_ctzll(rotated(c->groups, g))) % 64;
    return g * 64 + (unsigned)__builtin_ctzll(c->words[g]);
}

uint16_t calendar_first(struct calendar *c, uint64_t now, uint64_t *span)
{
    uint64_t here = now >> c->shift;

    if (!c->groups) {
        c->first = calendar_is_after(c, here, c->first) ? here : c->first;
        return CALENDAR_NONE;
    }
    unsigned from = (unsigned)(c->first % CALENDAR_BUCKETS), b = next_bucket(c, from);
    uint64_t found = c->first + (b - from) % CALENDAR_BUCKETS;
    // No item is due before `found`. Later items may be, but not before now.
    uint64_t to = calendar_is_after(c, here, found) ? found : here;
    c->first = calendar_is_after(c, to, c->first) ? to : c->first;
    *span = found;
    return c->head[b];
}
