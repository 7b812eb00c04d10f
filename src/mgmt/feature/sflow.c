// SPDX-License-Identifier: BSD-3-Clause
// sflow.c - sFlow: sampled interfaces, and collectors
//
// If sFlow is off, its settings are all zero even if some are configured, so they equal the empty
// configuration's.
#include "config/feature_config.h"
#include "export/export.h"
#include "feature/collector.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/state.h"
#include "table/iface.h"

// --- configuration -------------------------------------------------------------------------------

static const struct column config_columns[] = {
    COLUMN(struct sflow_config, sample_rate, "sample-rate"),
    COLUMN(struct sflow_config, polling_s, "polling-interval"),
    COLUMN(struct sflow_config, header_bytes, "header-size"),
    COLUMN(struct sflow_config, agent, "agent-address"),
    {0}};

static void read_sflow(const struct lyd_node *first, const struct column *columns, void *value)
{
    struct sflow_config *c = value;

    c->n_collectors = collector_read(c->collector, first, "sflow");
    if (c->n_collectors)
        columns_read(first, columns, c);
}

static int set_sflow(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return sflow_set(to, err, n);
}

static const struct feature_config sflow_config = {
    .part_size = sizeof(struct sflow_config),
    .values =
        (const struct feature_value[]){{.phase = PHASE_EXPORT, .step = {"sflow", set_sflow},
                                        .size = sizeof(struct sflow_config), .read = read_sflow,
                                        .inside = "sflow", .columns = config_columns},
                                       {0}},
};

// --- state ---------------------------------------------------------------------------------------

static const struct column count_columns[] = {
    COLUMN(struct sflow_state, samples, "samples"),
    COLUMN(struct sflow_state, samples_missed, "samples-missed"),
    COLUMN(struct sflow_state, counter_samples, "counter-samples"),
    {0}};

static void write_sflow(struct jwrite *j)
{
    struct sflow_state n;

    sflow_state(&n);
    jwrite_string(j, "status", n.on ? "up" : "off");
    if (n.on)
        jwrite_int(j, "sample-rate", n.sample_rate);
    jwrite_ip_any(j, "agent-address", &n.agent);
    collector_write_interfaces(j, IFACE_SAMPLE_SFLOW);
    columns_write(j, count_columns, &n);
    columns_list(j, "collector", collector_columns, n.collector, n.n_collectors,
                 sizeof *n.collector);
}

const struct feature sflow_feature = {
    "sflow",
    .config = &sflow_config,
    .state = (const struct feature_state[]){{"sflow", .object = write_sflow}, {0}},
};
