// SPDX-License-Identifier: BSD-3-Clause
// trace.h - traces that are running; control role
#ifndef FEATURE_TRACE_H
#define FEATURE_TRACE_H

#include <stdint.h>

unsigned trace_count(uint16_t vr); // of its interfaces

#endif
