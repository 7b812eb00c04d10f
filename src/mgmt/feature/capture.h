// SPDX-License-Identifier: BSD-3-Clause
// capture.h - captures that are running; control role
#ifndef FEATURE_CAPTURE_H
#define FEATURE_CAPTURE_H

#include <stdint.h>

// Of a virtual router or one of its interfaces; one that is limited to neither counts for
// `default`.
unsigned capture_count(uint16_t vr);

#endif
