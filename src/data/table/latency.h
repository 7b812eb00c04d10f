// SPDX-License-Identifier: BSD-3-Clause
// latency.h - how long packets stay inside a forwarder: a histogram for each pair of ports
//
// Measured from before the burst is taken from the receive queue until it is in the transmit queue,
// for one burst in so many, if configured. Each forwarder writes its own block; readers add them
// up. Values are TSC cycles, in buckets whose width is a 16th of their start (as in HDR
// histograms): accurate to 6 %.
//
//     forwarder                                     control
//     latency_add(index, in, out, cycles, n)        latency_start(every)     latency_each(fn)
//
// The memory, 34 MB of address space, is mapped when first switched on, and touched per pair.
#ifndef TABLE_LATENCY_H
#define TABLE_LATENCY_H

#include <stdint.h>

#include "core/thread.h"
#include "table/limits.h"

#define LATENCY_SUB 16u      // per power of two
#define LATENCY_EXPONENT 36  // 2^36 cycles are some 20 s; longer ones count as the longest
#define LATENCY_BUCKETS (LATENCY_SUB * (LATENCY_EXPONENT - 3))
#define LATENCY_PAIRS 256    // pairs of ports per forwarder; others are not measured

struct latency_pair {
    uint64_t packets, cycles, max; // sum and largest
    uint64_t bucket[LATENCY_BUCKETS];
};

// The index of the bucket that contains v; and the smallest value of bucket i.
static inline unsigned latency_bucket(uint64_t v)
{
    if (v < LATENCY_SUB)
        return (unsigned)v;
    unsigned e = 63 - (unsigned)__builtin_clzll(v);
    if (e >= LATENCY_EXPONENT)
        return LATENCY_BUCKETS - 1;
    return LATENCY_SUB * (e - 4) + (unsigned)(v >> (e - 4));
}

static inline uint64_t latency_floor(unsigned i)
{
    unsigned e = i / LATENCY_SUB;

    return e <= 1 ? i : (uint64_t)(LATENCY_SUB + i % LATENCY_SUB) << (e - 1);
}

// --- forwarder ---
extern uint32_t latency_every; // measure one timed burst in so many, 0 = off; written by control
void latency_add(unsigned forwarder, uint16_t in, uint16_t out, uint64_t cycles, unsigned n);

// --- control ---
// Measures one burst in `bursts`, 0 = off; keeps measured values. 0, or -ENOMEM without a change.
#define LATENCY_TIMED                                                                              \
    61u // one burst in so many is timed (forwarder/poll.c): the upper limit of measuring
int latency_start(uint32_t bursts);
void latency_fini(void);
// Visits each measured pair of ports: sums of all forwarders.
void latency_each(void (*fn)(void *ctx, uint16_t in, uint16_t out, const struct latency_pair *sum),
                  void *ctx);
// The value below which `part` of the packets lie, in cycles: the end of its bucket.
uint64_t latency_quantile(const struct latency_pair *p, double part);

#endif
