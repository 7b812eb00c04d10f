// SPDX-License-Identifier: BSD-3-Clause
// random.h - a router with one of everything, and frames from plausible to random
//
// Shared by the random-frame test and the fuzzer: both check with different inputs that each packet
// ends in exactly one place.
#ifndef PATH_LEDGER_RANDOM_H
#define PATH_LEDGER_RANDOM_H

#include "harness.h"

// Interfaces on every port, two virtual routers, sub-interfaces, next hops of all kinds, groups,
// small MTUs.
void random_router(void);
// Access lists on most interfaces, in and out, with rules of all actions.
void random_lists(void);

// xorshift64*: small, seeded, the same on all machines.
struct random {
    uint64_t state;
};
uint32_t random_next(struct random *r);
static inline uint32_t random_below(struct random *r, uint32_t n)
{
    return random_next(r) % n;
}

// Makes a valid frame, a valid one with a few wrong bytes, a truncated one, or noise. Returns the
// port for it, mostly the right one.
unsigned random_frame(struct random *r, struct frame *f);

#endif
