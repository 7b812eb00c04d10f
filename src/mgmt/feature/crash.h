// SPDX-License-Identifier: BSD-3-Clause
// crash.h - crash notes of earlier processes (written by core/crash.h); control role
#ifndef FEATURE_CRASH_H
#define FEATURE_CRASH_H

#include <stdint.h>

// Number of crashes in the `age_ns` before now_ns, monotonic.
unsigned crash_notes_within(uint64_t age_ns, uint64_t now_ns);

#endif
