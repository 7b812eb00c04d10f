// SPDX-License-Identifier: BSD-3-Clause
// trace.h - running traces; control role
#ifndef FEATURE_TRACE_H
#define FEATURE_TRACE_H

#include <stdint.h>

unsigned trace_count(uint16_t vr); // traces of its interfaces

#endif
