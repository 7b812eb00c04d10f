// SPDX-License-Identifier: BSD-3-Clause
// latency_config.c - of how many bursts one is measured, by the configuration
#include <errno.h>
#include <stdio.h>

#include "config/feature_config.h"
#include "config/leaf.h"
#include "table/latency.h"

static void read_sample(struct model *m, const struct lyd_node *tree, const struct model *known,
                        struct errors *e)
{
    uint32_t *bursts = m->part[FEATURE_latency]; // 0 = none is measured

    *bursts = (uint32_t)leaf_number(leaf_inside(tree, NULL, "forwarding"), "latency-sample", 0);
}

static int set_sample(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    if (!latency_start(*(const uint32_t *)to))
        return 0;
    snprintf(err, n, "forwarding latency-sample: no memory for latency histograms");
    return -ENOMEM;
}

static void plan_sample(struct change *c)
{
    static const struct step_kind sample = {"", set_sample};

    step_add_value(c, &sample, c->from->part[FEATURE_latency], c->to->part[FEATURE_latency],
                   sizeof(uint32_t));
}

const struct feature_config latency_config = {
    .part_size = sizeof(uint32_t),
    .read = read_sample,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_sample}, {0}},
};
