// SPDX-License-Identifier: BSD-3-Clause
// crash.h - the crash notes of earlier processes (core/crash.h writes them); control role
#ifndef FEATURE_CRASH_H
#define FEATURE_CRASH_H

#include <stdint.h>

unsigned crash_notes_since(uint64_t wall_ns); // since 1970

#endif
