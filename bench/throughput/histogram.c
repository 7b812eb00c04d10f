// SPDX-License-Identifier: BSD-3-Clause
// histogram.c - see histogram.h
#include "throughput/histogram.h"

#include <math.h>
#include <string.h>

void histogram_clear(struct histogram *h)
{
    memset(h, 0, sizeof(*h));
}

uint64_t histogram_value(uint32_t step)
{
    unsigned shift = step < 2u << HISTOGRAM_STEP_BITS ? 0 : (step >> HISTOGRAM_STEP_BITS) - 1;

    return ((uint64_t)(step - (shift << HISTOGRAM_STEP_BITS) + 1) << shift) - 1;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
    uint64_t rank = (uint64_t)ceil((double)h->n * percent / 100.0), seen = 0;

    if (!h->n)
        return 0;
    if (!rank)
        return h->min;
    for (uint32_t step = 0; step < HISTOGRAM_STEPS - 1; step++) {
        seen += h->count[step];
        if (seen >= rank)
            return histogram_value(step) < h->max ? histogram_value(step) : h->max;
    }
    return h->max; // the last step also holds larger values
}
