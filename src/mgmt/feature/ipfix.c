// SPDX-License-Identifier: BSD-3-Clause
// ipfix.c - IPFIX: sampled interfaces, flows, and collectors
//
// If IPFIX is off, its settings are all zero even if some are configured, so they equal the empty
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
    COLUMN(struct ipfix_config, sample_rate, "sample-rate"),
    COLUMN(struct ipfix_config, active_s, "active-timeout"),
    COLUMN(struct ipfix_config, inactive_s, "inactive-timeout"),
    COLUMN(struct ipfix_config, template_s, "template-interval"),
    COLUMN(struct ipfix_config, flows_max, "flows"),
    COLUMN(struct ipfix_config, domain, "observation-domain"),
    {0}};

static void read_ipfix(const struct lyd_node *first, const struct column *columns, void *value)
{
    struct ipfix_config *c = value;

    c->n_collectors = collector_read(c->collector, first, "ipfix");
    if (c->n_collectors)
        columns_read(first, columns, c);
}

static int set_ipfix(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return ipfix_set(to, err, n);
}

static const struct feature_config ipfix_config = {
    .part_size = sizeof(struct ipfix_config),
    .values =
        (const struct feature_value[]){{.phase = PHASE_EXPORT, .step = {"ipfix", set_ipfix},
                                        .size = sizeof(struct ipfix_config), .read = read_ipfix,
                                        .inside = "ipfix", .columns = config_columns},
                                       {0}},
};

// --- state ---------------------------------------------------------------------------------------

static const struct column count_columns[] = {
    COLUMN(struct ipfix_state, samples, "samples"),
    COLUMN(struct ipfix_state, samples_missed, "samples-missed"),
    COLUMN(struct ipfix_state, samples_no_ip, "samples-no-ip"),
    COLUMN(struct ipfix_state, flows_now, "flows-now"),
    COLUMN(struct ipfix_state, flows_max, "flows-max"),
    COLUMN(struct ipfix_state, flows, "flows"),
    COLUMN(struct ipfix_state, flows_no_room, "flows-no-room"),
    {0}};

static void write_ipfix(struct jwrite *j)
{
    struct ipfix_state n;

    ipfix_state(&n);
    jwrite_string(j, "status", n.on ? "up" : "off");
    if (n.on)
        jwrite_int(j, "sample-rate", n.sample_rate);
    collector_write_interfaces(j, IFACE_SAMPLE_IPFIX);
    columns_write(j, count_columns, &n);
    columns_list(j, "collector", collector_columns, n.collector, n.n_collectors,
                 sizeof *n.collector);
}

const struct feature ipfix_feature = {
    "ipfix",
    .config = &ipfix_config,
    .state = (const struct feature_state[]){{"ipfix", .object = write_ipfix}, {0}},
};
