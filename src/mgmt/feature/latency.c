// SPDX-License-Identifier: BSD-3-Clause
// show_latency.c - how long packets were inside a forwarder, by pair of ports
#include <rte_cycles.h>
#include <string.h>

#include "restconf/state.h"
#include "table/latency.h"
#include "table/port.h"

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

static void write_pair(void *ctx, uint16_t in, uint16_t out, const struct latency_pair *p)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;
    const char *input = port_get(in)->name, *output = port_get(out)->name;

    if (!port_get(in)->used || !port_get(out)->used ||
        (s->key[0] && (strcmp(s->key[0], input) || strcmp(s->key[1], output))))
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

int show_latency(struct show *s)
{
    jwrite_begin(&s->out, s->name, '[');
    latency_each(write_pair, s);
    jwrite_end(&s->out, ']');
    return SHOW_NOW;
}
