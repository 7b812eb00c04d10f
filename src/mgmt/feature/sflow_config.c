// SPDX-License-Identifier: BSD-3-Clause
// sflow_config.c - sFlow, by the configuration
//
// Off is all zero, whatever else is configured: it does not differ from the empty configuration.
#include "config/feature_config.h"
#include "config/leaf.h"
#include "export/export.h"
#include "feature/collector.h"
#include "yang/config_tree.h"

static void read_sflow(struct model *m, const struct lyd_node *tree, const struct model *known,
                       struct errors *e)
{
    const struct lyd_node *first = leaf_inside(tree, NULL, "sflow");
    struct sflow_config *c = m->part[FEATURE_sflow];

    c->n_collectors = collector_read(c->collector, first, "sflow");
    if (!c->n_collectors)
        return;
    c->sample_rate = (uint32_t)leaf_number(first, "sample-rate", 0);
    c->polling_s = (uint16_t)leaf_number(first, "polling-interval", 0);
    collector_read_address(&c->agent, config_value(first, "agent-address"));
}

static int set_sflow(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return sflow_set(to, err, n);
}

static void plan_sflow(struct change *c)
{
    static const struct step_kind kind = {"sflow", set_sflow};

    step_add_value(c, &kind, c->from->part[FEATURE_sflow], c->to->part[FEATURE_sflow],
                   sizeof(struct sflow_config));
}

const struct feature_config sflow_config = {
    .part_size = sizeof(struct sflow_config),
    .read = read_sflow,
    .phases = (const struct feature_phase[]){{PHASE_EXPORT, plan_sflow}, {0}},
};
