// SPDX-License-Identifier: BSD-3-Clause
// queue_drops.h - how many packets a port's queue has dropped, by interface
//
// Control role.
#ifndef FEATURE_QUEUE_DROPS_H
#define FEATURE_QUEUE_DROPS_H

#include <stdint.h>

// On output; of a sub-interface only with a queue of its own: otherwise it is served as its virtual
// router, and the port's interface has the drops. At most a second old.
uint64_t queue_drops_of(uint16_t iface);

#endif
