// SPDX-License-Identifier: BSD-3-Clause
// drain.h - what kamueed does before it stops (drain.c); control role
#ifndef FEATURE_DRAIN_H
#define FEATURE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;

// Begins; `done` is called on the loop when it is over. How many seconds it may take; 0: nothing is
// configured, or it runs already, and `done` is not called.
uint32_t drain_begin(void (*done)(void));
bool drain_runs(void);

#endif
