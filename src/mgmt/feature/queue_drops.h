// SPDX-License-Identifier: BSD-3-Clause
// queue_drops.h - packets dropped by a port's queue, by interface
//
// Control role.
#ifndef FEATURE_QUEUE_DROPS_H
#define FEATURE_QUEUE_DROPS_H

#include <stdint.h>

// Drops on output, at most a second old. A sub-interface has drops only if it has a queue of its
// own: otherwise its virtual router's queue serves it, and the port's interface has the drops.
uint64_t queue_drops_of(uint16_t iface);

#endif
