// SPDX-License-Identifier: BSD-3-Clause
// alarm_window.h - how much a counter grew lately
//
//     struct window w = {.span_s = 60};
//     grown = window_grown(&w, counter, now_ns);    within the last minute, to a sixtieth of it
//
// The first look counts from there: what was before is not lately; unless `begun` says that the
// counter is known to begin with 0.
#ifndef FEATURE_ALARM_WINDOW_H
#define FEATURE_ALARM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define WINDOW_SLICES 60u

struct window {
    uint32_t span_s;
    bool begun;
    uint64_t slice, last;           // that is being written; the counter at the last look
    uint64_t before[WINDOW_SLICES]; // the counter at the begin of each slice
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
