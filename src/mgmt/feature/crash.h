// SPDX-License-Identifier: BSD-3-Clause
// crash.h - the crash notes of earlier processes (core/crash.h writes them); control role
#ifndef FEATURE_CRASH_H
#define FEATURE_CRASH_H

#include <stdint.h>

// Notes of crashes that were less than `age_ns` ago at now_ns, monotonic.
unsigned crash_notes_within(uint64_t age_ns, uint64_t now_ns);

#endif
