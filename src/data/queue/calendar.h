// SPDX-License-Identifier: BSD-3-Clause
// calendar.h - items in the order of a time, in O(1): buckets, and a bitmap that finds the first
//
// A bucket is a span of time and holds a list in order of arrival. The calendar covers
// CALENDAR_BUCKETS spans from `first` on. Items due earlier are in the first bucket, items due
// later in the last one; the user compares an item's time and inserts it again. So a bucket only
// orders; the exact time is the item's own. After Eiffel (NSDI 2019).
//
// Times wrap (ticks x 2^8 after some months), and so do spans, earlier: they are compared by their
// difference.
//
// An item is a number below the calendar's size and is in it at most once. One thread.
#ifndef QUEUE_CALENDAR_H
#define QUEUE_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define CALENDAR_BUCKETS 4096u
#define CALENDAR_NONE UINT16_MAX

struct calendar_link {
    uint16_t next, prev; // of the same bucket, a ring
    uint16_t bucket;     // CALENDAR_NONE: it is in none
};

struct calendar {
    uint64_t first;  // span of the earliest bucket, in units of 1 << shift
    unsigned shift;  // of a time to its span
    uint64_t groups; // bit g: words[g] is not 0
    uint64_t words[CALENDAR_BUCKETS / 64];
    uint16_t head[CALENDAR_BUCKETS]; // item, CALENDAR_NONE: empty
    struct calendar_link *link;      // of each item
};

// -ENOMEM: no memory.
int calendar_init(struct calendar *c, unsigned items, unsigned shift, uint64_t now);
void calendar_fini(struct calendar *c);

void calendar_put(struct calendar *c, uint16_t item, uint64_t time);
void calendar_remove(struct calendar *c, uint16_t item); // also one that is not in it
// The first item of the earliest bucket, and that bucket's span; or CALENDAR_NONE. `now` moves the
// calendar on.
uint16_t calendar_first(struct calendar *c, uint64_t now, uint64_t *span);

// After a time in which nobody asked, for one that is empty.
static inline void calendar_restart(struct calendar *c, uint64_t now)
{
    c->first = now >> c->shift;
}

static inline bool calendar_has(const struct calendar *c, uint16_t item)
{
    return c->link[item].bucket != CALENDAR_NONE;
}

// Is span a after span b?
static inline bool calendar_is_after(const struct calendar *c, uint64_t a, uint64_t b)
{
    return (int64_t)((a - b) << c->shift) > 0;
}

#endif
