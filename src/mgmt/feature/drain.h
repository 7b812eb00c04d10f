// SPDX-License-Identifier: BSD-3-Clause
// drain.h - drains traffic before kamueed stops (drain.c); control role
#ifndef FEATURE_DRAIN_H
#define FEATURE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;

// Starts draining and calls `done` on the loop at the end. Returns the most seconds it may take; 0:
// not configured or running already, and `done` is not called.
uint32_t drain_begin(void (*done)(void));
bool drain_runs(void);

#endif
