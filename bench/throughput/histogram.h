// SPDX-License-Identifier: BSD-3-Clause
// histogram.h - counts of values, to three significant digits
//
// Log-linear, like HDR histograms: every power of two is divided into 1024 equal steps, so a value
// between 1 and 2^40 is known to better than 0.1 % in a fixed array. Adding a value allocates
// nothing and costs a few instructions. The caller chooses the unit (TSC cycles here). One thread.
#ifndef BENCH_THROUGHPUT_HISTOGRAM_H
#define BENCH_THROUGHPUT_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEP_BITS 10
#define HISTOGRAM_VALUE_BITS 40
#define HISTOGRAM_STEPS ((HISTOGRAM_VALUE_BITS - HISTOGRAM_STEP_BITS + 1) << HISTOGRAM_STEP_BITS)

struct histogram {
    uint64_t n, sum, min, max; // min and max are exact; 0 without values
    uint64_t count[HISTOGRAM_STEPS];
};

// Below 2^(STEP_BITS + 1) a step is one value wide; above, each power of two has half as many
// steps.
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
// Largest value of a step.
uint64_t histogram_value(uint32_t step);
// Value that `percent` of all values do not exceed, at most 0.1 % too large and never too small; 0
// without values.
uint64_t histogram_percentile(const struct histogram *h, double percent);

#endif
