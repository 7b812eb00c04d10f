// SPDX-License-Identifier: BSD-3-Clause
// capture.h - budget of running captures and traces; control role
#ifndef FEATURE_CAPTURE_H
#define FEATURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct http;

// Whether the budget `captures` has no room for one more capture or trace; if so, refuses `h`.
bool capture_is_over_budget(struct http *h, uint16_t vr);

#endif
