// SPDX-License-Identifier: BSD-3-Clause
// gather.h - whether this CPU's gathers are worth using
#ifndef BASE_GATHER_H
#define BASE_GATHER_H

#include <stdbool.h>

// True if eight loads and shuffles into one register are faster than the same AVX-512 gather.
// Measured once, in the L1 cache, in a few ms; false without AVX-512. Call before threads start, or
// under a lock.
bool gather_is_slow(void);

#endif
