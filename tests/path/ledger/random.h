// SPDX-License-Identifier: BSD-3-Clause
// random.h - a router with one of everything, and frames from near-sense to nonsense
//
// Shared by the random-frames test and the fuzz harness: both ask the same
// question (does each packet end in exactly one place?) of different inputs.
#ifndef PATH_LEDGER_RANDOM_H
#define PATH_LEDGER_RANDOM_H

#include "harness.h"

// Interfaces on every port, two virtual routers, sub-interfaces, next hops of all kinds, groups,
// small MTUs.
void random_router(void);
// Access lists on most of them, in and out, with rules of all actions.
void random_lists(void);

// xorshift64*: small, seeded, the same everywhere.
struct random {
    uint64_t state;
};
uint32_t random_next(struct random *r);
static inline uint32_t random_below(struct random *r, uint32_t n)
{
    return random_next(r) % n;
}

// A frame that is right, or right but for a few bytes, or cut, or noise. The port it should come
// by: mostly the right one.
unsigned random_frame(struct random *r, struct frame *f);

#endif
