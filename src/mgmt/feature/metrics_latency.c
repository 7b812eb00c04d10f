// SPDX-License-Identifier: BSD-3-Clause
// metrics_latency.c - how long packets were inside a forwarder, as a histogram for each pair of
// ports
#include <rte_cycles.h>
#include <stdio.h>

#include "restconf/metric.h"
#include "restconf/metrics.h"
#include "table/latency.h"
#include "table/port.h"

static const struct {
    const char *le;
    double seconds;
} bound[] = {{"5e-07", 5e-7}, {"1e-06", 1e-6}, {"2e-06", 2e-6},  {"5e-06", 5e-6},  {"1e-05", 1e-5},
             {"2e-05", 2e-5}, {"5e-05", 5e-5}, {"0.0001", 1e-4}, {"0.0002", 2e-4}, {"0.0005", 5e-4},
             {"0.001", 1e-3}, {"0.01", 1e-2},  {"0.1", 0.1},     {"1.0", 1}};

static void write_pair(void *metrics, uint16_t in, uint16_t out, const struct latency_pair *p)
{
    const char *input = port_get(in)->name, *output = port_get(out)->name;
    double hz = (double)rte_get_tsc_hz();
    uint64_t below = 0;
    unsigned i = 0;

    if (!port_get(in)->used || !port_get(out)->used)
        return;
    for (size_t b = 0; b < sizeof bound / sizeof *bound; b++) {
        for (; i < LATENCY_BUCKETS && (double)latency_floor(i + 1) <= bound[b].seconds * hz; i++)
            below += p->bucket[i];
        metric_part(metrics, "_bucket", (double)below, "input", input, "output", output, "le",
                    bound[b].le, NULL);
    }
    metric_part(metrics, "_bucket", (double)p->packets, "input", input, "output", output, "le",
                "+Inf", NULL);
    metric_part(metrics, "_count", (double)p->packets, "input", input, "output", output, NULL);
    metric_part(metrics, "_sum", (double)p->cycles / hz, "input", input, "output", output, NULL);
}

void metrics_latency(struct metrics *m)
{
    metric_family(
        m, METRIC_HISTOGRAM, "latency_seconds", "seconds",
        "Time packets of sampled bursts spent in the router, from receive to transmit queue.");
    latency_each(write_pair, m);
}
