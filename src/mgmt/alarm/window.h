// SPDX-License-Identifier: BSD-3-Clause
// window.h - recent growth of a counter, for alarms; control role
#ifndef ALARM_WINDOW_H
#define ALARM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

// Growth of a counter in the last `span_s`, to a sixtieth of it. It counts from the first look on,
// unless `begun` says that the counter is known to start at 0.
#define WINDOW_SLICES 60u

struct window {
    uint32_t span_s;
    bool begun;
    uint64_t slice, last;           // slice being written; counter at the last look
    uint64_t before[WINDOW_SLICES]; // counter at the start of each slice
};

static inline uint64_t window_grown(struct window *w, uint64_t counter, uint64_t now_ns)
{
    uint64_t slice = now_ns / (w->span_s * NS_PER_SECOND / WINDOW_SLICES),
             steps = w->begun ? slice - w->slice : WINDOW_SLICES;

    for (uint64_t i = 0; i < steps && i < WINDOW_SLICES; i++)
        w->before[(slice + WINDOW_SLICES - i) % WINDOW_SLICES] = w->begun ? w->last : counter;
    w->begun = true;
    w->slice = slice;
    w->last = counter;
    uint64_t then = w->before[(slice + 1) % WINDOW_SLICES];
    return counter > then ? counter - then : 0;
}

#endif
