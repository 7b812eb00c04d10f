// SPDX-License-Identifier: BSD-3-Clause
// capture.h - running captures and traces; control role
#ifndef FEATURE_CAPTURE_H
#define FEATURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct http;

// Captures of a virtual router or its interfaces. A capture that is limited to neither counts for
// `default`.
unsigned capture_count(uint16_t vr);
unsigned trace_count(uint16_t vr); // traces of its interfaces
// Whether the budget `captures` has no room for one more capture or trace; if so, refuses `h`.
bool capture_is_over_budget(struct http *h, uint16_t vr);

#endif
