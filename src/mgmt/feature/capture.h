// SPDX-License-Identifier: BSD-3-Clause
// capture.h - captures that are running; control role
#ifndef FEATURE_CAPTURE_H
#define FEATURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct http;

// Of a virtual router or one of its interfaces; one that is limited to neither counts for
// `default`.
unsigned capture_count(uint16_t vr);
// Whether its budget `captures` has no room for one more capture or trace: then `h` is refused.
bool capture_is_over_budget(struct http *h, uint16_t vr);

#endif
