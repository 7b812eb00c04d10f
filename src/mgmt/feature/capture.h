// SPDX-License-Identifier: BSD-3-Clause
// capture.h - captures that are running; control role
#ifndef FEATURE_CAPTURE_H
#define FEATURE_CAPTURE_H

#include <stdint.h>

// Of the interfaces of a virtual router; one that is not limited to an interface counts for
// `default`.
unsigned capture_count(uint16_t vr);

#endif
