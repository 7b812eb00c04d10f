// SPDX-License-Identifier: BSD-3-Clause
// progress.h - reporting work that takes seconds: its start, if known to be long, and its time
//
//     progress_begin(&w, n * ns_each, "acl_manager: building: acl=%s rules=%zu", name, n);
//     ...
//     progress_end(&w, "acl_manager: built: acl=%s rules=%zu", name, n);          "... ms=1600"
//
// Each is a line of the log (base/log.h), and the status that systemd shows. What takes less than
// PROGRESS_LONG_NS is not reported. A loop of known length also reports
//
//     progress_at(&w, i, n);                // i of n are done
//
// which feeds the watchdog: each station counts once and must lie behind the last, so a loop that
// gets nowhere ends as a hang. Any thread; a struct progress belongs to its user.
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define PROGRESS_LONG_NS NS_PER_SECOND

struct progress {
    uint64_t since_ns; // CLOCK_MONOTONIC
    bool told;         // that it is begun
    uint64_t station;  // the last one
};

// expected_ns: what it takes, about; 0 = nobody knows.
void progress_begin(struct progress *w, uint64_t expected_ns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void progress_end(struct progress *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// A station: `done` of `of` pieces. `w` may be all zero.
void progress_at(struct progress *w, uint64_t done, uint64_t of);
// Called at stations, at most once a second, by the thread that works.
void progress_set_listener(void (*heard)(void));

// Called with the present work, as the log is, by the thread that works. Set before others exist.
void progress_set_status(void (*tell)(const char *text));

#endif
