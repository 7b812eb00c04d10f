// SPDX-License-Identifier: BSD-3-Clause
// latency.c - time of packets inside a forwarder, by pair of ports
//
// Forwarders count in fine buckets of cycles (table/latency.h). State gives these in nanoseconds
// with their quantiles; metrics add them up to a few fixed bounds.
#include <errno.h>
#include <rte_cycles.h>
#include <stdio.h>

#include "config/feature_config.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/latency.h"
#include "table/port.h"

static const struct column sample_columns[] = {
    COLUMN_ITSELF(uint32_t, "latency-sample"), // bursts; 0 = not measured
    {0}};

static int set_sample(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    if (!latency_start(*(const uint32_t *)to))
        return 0;
    snprintf(err, n, "forwarding latency-sample: no memory for latency histograms");
    return -ENOMEM;
}

static const struct feature_config latency_config = {
    .part_size = sizeof(uint32_t),
    .values =
        (const struct feature_value[]){{.phase = PHASE_SETTINGS, .step = {"", set_sample},
                                        .size = sizeof(uint32_t), .read = columns_read,
                                        .inside = "forwarding", .columns = sample_columns},
                                       {0}},
};

// --- state ---------------------------------------------------------------------------------------

static uint64_t nanoseconds(uint64_t cycles)
{
    return (uint64_t)((double)cycles * 1e9 / (double)rte_get_tsc_hz());
}

static void write_buckets(struct jwrite *j, const struct latency_pair *p)
{
    jwrite_begin(j, "bucket", '[');
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        if (!p->bucket[i])
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_u64(j, "below", nanoseconds(latency_floor(i + 1)));
        jwrite_u64(j, "packets", p->bucket[i]);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_pair_state(void *ctx, uint16_t in, uint16_t out, const struct latency_pair *p)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;
    const char *input = port_get(in)->name, *output = port_get(out)->name;

    if (!port_get(in)->used || !port_get(out)->used || !show_wants(s, input))
        return;
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "input", input);
    jwrite_string(j, "output", output);
    jwrite_u64(j, "packets", p->packets);
    jwrite_u64(j, "mean", nanoseconds(p->cycles / p->packets));
    jwrite_u64(j, "median", nanoseconds(latency_quantile(p, 0.5)));
    jwrite_u64(j, "p90", nanoseconds(latency_quantile(p, 0.9)));
    jwrite_u64(j, "p99", nanoseconds(latency_quantile(p, 0.99)));
    jwrite_u64(j, "p999", nanoseconds(latency_quantile(p, 0.999)));
    jwrite_u64(j, "max", nanoseconds(p->max));
    write_buckets(j, p);
    jwrite_end(j, '}');
}

static void list_latency(struct show *s)
{
    latency_each(write_pair_state, s);
}

static const struct {
    const char *le;
    double seconds;
} bound[] = {{"5e-07", 5e-7}, {"1e-06", 1e-6}, {"2e-06", 2e-6},  {"5e-06", 5e-6},  {"1e-05", 1e-5},
             {"2e-05", 2e-5}, {"5e-05", 5e-5}, {"0.0001", 1e-4}, {"0.0002", 2e-4}, {"0.0005", 5e-4},
             {"0.001", 1e-3}, {"0.01", 1e-2},  {"0.1", 0.1},     {"1.0", 1}};

static void write_pair_histogram(void *metrics, uint16_t in, uint16_t out,
                                 const struct latency_pair *p)
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

static void write_latency_metrics(struct metrics *m, const void *kept)
{
    metric_family(
        m, METRIC_HISTOGRAM, "latency_seconds", "seconds",
        "Time packets of sampled bursts spent in the router, from receive to transmit queue.");
    latency_each(write_pair_histogram, m);
}

const struct feature latency_feature = {
    "latency",
    .config = &latency_config,
    .state = (const struct feature_state[]){{"latency", .list = list_latency}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_latency_metrics},
};
