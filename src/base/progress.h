// SPDX-License-Identifier: BSD-3-Clause
// progress.h - reports work that takes seconds: its start, if it is expected to be long, and its
// duration
//
//     progress_begin(&w, n * ns_each, "acl_manager: building: acl=%s rules=%zu", name, n);
//     ...
//     progress_end(&w, "acl_manager: built: acl=%s rules=%zu", name, n);          "... ms=1600"
//
// Both are log lines (base/log.h) and set the status that systemd shows. Work shorter than
// PROGRESS_LONG_NS is not reported. A loop of known length also calls
//
//     progress_at(&w, i, n);                // i of n are done
//
// which feeds the watchdog. Only an advance feeds it, so a loop that makes no progress ends as a
// hang. Any thread; a struct progress belongs to its user.
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define PROGRESS_LONG_NS NS_PER_SECOND

struct progress {
    uint64_t since_ns; // CLOCK_MONOTONIC
    bool told;         // the start was reported
    uint64_t station;  // the last progress
};

// expected_ns: expected duration; 0 = unknown.
void progress_begin(struct progress *w, uint64_t expected_ns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void progress_end(struct progress *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Reports progress: `done` of `of` pieces. `w` may be all zero.
void progress_at(struct progress *w, uint64_t done, uint64_t of);
// `heard` is called when a loop advances, at most once a second, by the working thread.
void progress_set_listener(void (*heard)(void));

// `tell` is called with the current work, as logged, by the working thread. Set before other
// threads start.
void progress_set_status(void (*tell)(const char *text));

#endif
