// SPDX-License-Identifier: BSD-3-Clause
// calendar.h - items ordered by time, in O(1): buckets, and a bitmap that finds the first one
//
// A bucket is a span of time and holds a list in order of arrival. The calendar covers
// CALENDAR_BUCKETS spans from `first` on. Items due earlier are in the first bucket, items due
// later in the last one; the user compares the time of an item and inserts it again. So buckets
// only order items; the user keeps their exact times. After Eiffel (NSDI 2019).
//
// Times (ticks x 2^8) wrap after some months, and spans wrap earlier: compare them by their
// difference.
//
// An item is a number below the calendar's size and is in the calendar at most once. Not
// thread-safe.
#ifndef QUEUE_CALENDAR_H
#define QUEUE_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define CALENDAR_BUCKETS 4096u
#define CALENDAR_NONE UINT16_MAX

struct calendar_link {
    uint16_t next, prev; // items of the same bucket, a ring
    uint16_t bucket;     // CALENDAR_NONE: in no bucket
};

struct calendar {
    uint64_t first;  // span of the earliest bucket, in units of 1 << shift
    unsigned shift;  // converts a time to its span
    uint64_t groups; // bit g: words[g] is not 0
    uint64_t words[CALENDAR_BUCKETS / 64];
    uint16_t head[CALENDAR_BUCKETS]; // first item; CALENDAR_NONE: empty
    struct calendar_link *link;      // one for each item
};

// Returns 0 or -ENOMEM.
int calendar_init(struct calendar *c, unsigned items, unsigned shift, uint64_t now);
void calendar_fini(struct calendar *c);

void calendar_put(struct calendar *c, uint16_t item, uint64_t time);
void calendar_remove(struct calendar *c, uint16_t item); // no-op for an item not in it
// Returns the first item of the earliest bucket, with the span of that bucket, or CALENDAR_NONE.
// Moves the calendar forward to `now`.
uint16_t calendar_first(struct calendar *c, uint64_t now, uint64_t *span);

// Moves an empty calendar to `now` after an idle time.
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
