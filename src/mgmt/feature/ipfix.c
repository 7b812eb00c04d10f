// SPDX-License-Identifier: BSD-3-Clause
// ipfix.c - IPFIX: sampled interfaces, flows, and collectors
//
// If IPFIX is off, its settings are all zero even if some are configured, so they equal the empty
// configuration's.
#include "config/feature_config.h"
#include "config/leaf.h"
#include "export/export.h"
#include "feature/collector.h"
#include "mgmt/feature.h"
#include "restconf/state.h"
#include "table/iface.h"

// --- configuration -------------------------------------------------------------------------------

static void read_ipfix(struct model *m, const struct lyd_node *tree, const struct model *known,
                       struct errors *e)
{
    const struct lyd_node *first = leaf_inside(tree, NULL, "ipfix");
    struct ipfix_config *c = m->part[FEATURE_ipfix];

    c->n_collectors = collector_read(c->collector, first, "ipfix");
    if (!c->n_collectors)
        return;
    c->sample_rate = (uint32_t)leaf_number(first, "sample-rate", 0);
    c->active_s = (uint32_t)leaf_number(first, "active-timeout", 0);
    c->inactive_s = (uint32_t)leaf_number(first, "inactive-timeout", 0);
    c->template_s = (uint32_t)leaf_number(first, "template-interval", 0);
    c->flows_max = (uint32_t)leaf_number(first, "flows", 0);
    c->domain = (uint32_t)leaf_number(first, "observation-domain", 0);
}

static int set_ipfix(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return ipfix_set(to, err, n);
}

static void plan_ipfix(struct change *c)
{
    static const struct step_kind kind = {"ipfix", set_ipfix};

    step_add_value(c, &kind, c->from->part[FEATURE_ipfix], c->to->part[FEATURE_ipfix],
                   sizeof(struct ipfix_config));
}

static const struct feature_config ipfix_config = {
    .part_size = sizeof(struct ipfix_config),
    .read = read_ipfix,
    .phases = (const struct feature_phase[]){{PHASE_EXPORT, plan_ipfix}, {0}},
};

// --- state ---------------------------------------------------------------------------------------

static int show_ipfix(struct show *s)
{
    struct jwrite *j = &s->out;
    struct ipfix_state n;

    ipfix_state(&n);
    jwrite_begin(j, s->name, '{');
    jwrite_string(j, "status", n.on ? "up" : "off");
    if (n.on)
        jwrite_int(j, "sample-rate", n.sample_rate);
    collector_write_interfaces(j, IFACE_SAMPLE_IPFIX);
    jwrite_u64(j, "samples", n.samples);
    jwrite_u64(j, "samples-missed", n.samples_missed);
    jwrite_u64(j, "samples-no-ip", n.samples_no_ip);
    jwrite_int(j, "flows-now", n.flows_now);
    jwrite_int(j, "flows-max", n.flows_max);
    jwrite_u64(j, "flows", n.flows);
    jwrite_u64(j, "flows-no-room", n.flows_no_room);
    collector_write_states(j, n.collector, n.n_collectors);
    jwrite_end(j, '}');
    return SHOW_NOW;
}

const struct feature ipfix_feature = {
    "ipfix",
    .config = &ipfix_config,
    .state = (const struct feature_state[]){{"ipfix", .write = show_ipfix}, {0}},
};
