// SPDX-License-Identifier: BSD-3-Clause
// histogram.h - how often each value came, to three significant digits
//
// Log-linear, as HDR histograms are: every power of two is cut into 1024 equal
// steps, so a value is known to better than 0.1 % from 1 to 2^40 in one fixed
// array. Noting a value allocates nothing and costs a few instructions. The unit is the caller's
// (TSC cycles here). One thread.
#ifndef BENCH_THROUGHPUT_HISTOGRAM_H
#define BENCH_THROUGHPUT_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEP_BITS 10
#define HISTOGRAM_VALUE_BITS 40
#define HISTOGRAM_STEPS ((HISTOGRAM_VALUE_BITS - HISTOGRAM_STEP_BITS + 1) << HISTOGRAM_STEP_BITS)

struct histogram {
    uint64_t n, sum, min, max; // min and max are exact; of no value they are 0
    uint64_t count[HISTOGRAM_STEPS];
};

// Below 2^(STEP_BITS + 1) a step is one value wide; then each power of two has half as many steps
// again.
static inline uint32_t histogram_step(uint64_t value)
{
    unsigned shift;

    if (value >> HISTOGRAM_VALUE_BITS)
        return HISTOGRAM_STEPS - 1;
    if (value < 2u << HISTOGRAM_STEP_BITS)
        return (uint32_t)value;
    shift = 63u - (unsigned)__builtin_clzll(value) - HISTOGRAM_STEP_BITS;
    return (uint32_t)((shift << HISTOGRAM_STEP_BITS) + (value >> shift));
}

static inline void histogram_note(struct histogram *h, uint64_t value)
{
    if (value < h->min || !h->n)
        h->min = value;
    if (value > h->max)
        h->max = value;
    h->n++;
    h->sum += value;
    h->count[histogram_step(value)]++;
}

void histogram_clear(struct histogram *h);
// The largest value of a step.
uint64_t histogram_value(uint32_t step);
// The value that `percent` of all values do not exceed, at most 0.1 % too large and never too
// small; 0 of no values.
uint64_t histogram_percentile(const struct histogram *h, double percent);

#endif
