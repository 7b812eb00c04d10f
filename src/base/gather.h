// SPDX-License-Identifier: BSD-3-Clause
// gather.h - are this CPU's gathers worth using?
#ifndef BASE_GATHER_H
#define BASE_GATHER_H

#include <stdbool.h>

// Whether eight loads and the shuffles that bring them into one register are quicker than an
// AVX-512 gather of the same. Measured once, in the first-level cache, in a few ms; false without
// AVX-512. Call it before threads start, or under a lock.
bool gather_is_slow(void);

#endif
