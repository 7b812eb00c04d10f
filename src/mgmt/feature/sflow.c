// SPDX-License-Identifier: BSD-3-Clause
// sflow.c - sFlow: sampled interfaces, and collectors
//
// If sFlow is off, its settings are all zero even if some are configured, so they equal the empty
// configuration's.
#include "config/feature_config.h"
#include "config/leaf.h"
#include "export/export.h"
#include "feature/collector.h"
#include "mgmt/feature.h"
#include "restconf/state.h"
#include "table/iface.h"
#include "yang/config_tree.h"

// --- configuration -------------------------------------------------------------------------------

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

static const struct feature_config sflow_config = {
    .part_size = sizeof(struct sflow_config),
    .read = read_sflow,
    .phases = (const struct feature_phase[]){{PHASE_EXPORT, plan_sflow}, {0}},
};

// --- state ---------------------------------------------------------------------------------------

static int show_sflow(struct show *s)
{
    struct jwrite *j = &s->out;
    struct sflow_state n;

    sflow_state(&n);
    jwrite_begin(j, s->name, '{');
    jwrite_string(j, "status", n.on ? "up" : "off");
    if (n.on)
        jwrite_int(j, "sample-rate", n.sample_rate);
    jwrite_ip_any(j, "agent-address", &n.agent);
    collector_write_interfaces(j, IFACE_SAMPLE_SFLOW);
    jwrite_u64(j, "samples", n.samples);
    jwrite_u64(j, "samples-missed", n.samples_missed);
    jwrite_u64(j, "counter-samples", n.counter_samples);
    collector_write_states(j, n.collector, n.n_collectors);
    jwrite_end(j, '}');
    return SHOW_NOW;
}

const struct feature sflow_feature = {
    "sflow",
    .config = &sflow_config,
    .state = (const struct feature_state[]){{"sflow", .write = show_sflow}, {0}},
};
