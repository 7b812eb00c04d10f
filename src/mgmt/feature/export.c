// SPDX-License-Identifier: BSD-3-Clause
// export.c - the features sflow and ipfix: sampled interfaces, flows, and collectors
//
// If one is off, its settings are all zero even if some are configured, so they equal the empty
// configuration's.
#include "export/export.h"

#include "config/feature_config.h"
#include "config/leaf.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/state.h"
#include "table/iface.h"
#include "yang/yang.h"

// --- configuration -------------------------------------------------------------------------------

static const struct column address_columns[] = {
    COLUMN(struct export_collector, addr, "address"),
    COLUMN(struct export_collector, port, "port"),
    {0}};
static const struct column sflow_leaves[] = {
    COLUMN(struct sflow_config, sample_rate, "sample-rate"),
    COLUMN(struct sflow_config, polling_s, "polling-interval"),
    COLUMN(struct sflow_config, header_bytes, "header-size"),
    COLUMN(struct sflow_config, agent, "agent-address"),
    {0}};
static const struct column ipfix_leaves[] = {
    COLUMN(struct ipfix_config, sample_rate, "sample-rate"),
    COLUMN(struct ipfix_config, active_s, "active-timeout"),
    COLUMN(struct ipfix_config, inactive_s, "inactive-timeout"),
    COLUMN(struct ipfix_config, template_s, "template-interval"),
    COLUMN(struct ipfix_config, flows_max, "flows"),
    COLUMN(struct ipfix_config, domain, "observation-domain"),
    {0}};

// Reads the list `collector` from the children of a top-level container. Returns the number.
static unsigned read_collectors(struct export_collector *c, const struct lyd_node *first,
                                const char *container)
{
    unsigned n = 0;

    leaf_foreach (first, yang_child(NULL, container, true), "collector", entry)
        if (n < EXPORT_COLLECTORS)
            columns_read(lyd_child(entry), address_columns, &c[n++]);
    return n;
}

static void read_sflow(const struct lyd_node *first, const struct column *columns, void *value)
{
    struct sflow_config *c = value;

    c->n_collectors = read_collectors(c->collector, first, "sflow");
    if (c->n_collectors)
        columns_read(first, columns, c);
}

static void read_ipfix(const struct lyd_node *first, const struct column *columns, void *value)
{
    struct ipfix_config *c = value;

    c->n_collectors = read_collectors(c->collector, first, "ipfix");
    if (c->n_collectors)
        columns_read(first, columns, c);
}

static int set_sflow(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return sflow_set(to, err, n);
}

static int set_ipfix(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return ipfix_set(to, err, n);
}

static const struct feature_config sflow_config = {
    .part_size = sizeof(struct sflow_config),
    .values =
        (const struct feature_value[]){{.phase = PHASE_EXPORT, .step = {"sflow", set_sflow},
                                        .size = sizeof(struct sflow_config), .read = read_sflow,
                                        .inside = "sflow", .columns = sflow_leaves},
                                       {0}},
};

static const struct feature_config ipfix_config = {
    .part_size = sizeof(struct ipfix_config),
    .values =
        (const struct feature_value[]){{.phase = PHASE_EXPORT, .step = {"ipfix", set_ipfix},
                                        .size = sizeof(struct ipfix_config), .read = read_ipfix,
                                        .inside = "ipfix", .columns = ipfix_leaves},
                                       {0}},
};

// --- state ---------------------------------------------------------------------------------------

static const struct column collector_columns[] = {
    COLUMN(struct collector_state, to.addr, "address"),
    COLUMN(struct collector_state, to.port, "port"),
    COLUMN(struct collector_state, datagrams, "datagrams"),
    COLUMN(struct collector_state, bytes, "bytes"),
    COLUMN(struct collector_state, lost, "datagrams-lost"),
    COLUMN(struct collector_state, error, "error", .any = true),
    {0}};
static const struct column sflow_counts[] = {
    COLUMN(struct sflow_state, samples, "samples"),
    COLUMN(struct sflow_state, samples_missed, "samples-missed"),
    COLUMN(struct sflow_state, counter_samples, "counter-samples"),
    {0}};
static const struct column ipfix_counts[] = {
    COLUMN(struct ipfix_state, samples, "samples"),
    COLUMN(struct ipfix_state, samples_missed, "samples-missed"),
    COLUMN(struct ipfix_state, samples_no_ip, "samples-no-ip"),
    COLUMN(struct ipfix_state, flows_now, "flows-now"),
    COLUMN(struct ipfix_state, flows_max, "flows-max"),
    COLUMN(struct ipfix_state, flows, "flows"),
    COLUMN(struct ipfix_state, flows_no_room, "flows-no-room"),
    {0}};

static void write_interfaces(struct jwrite *j, uint8_t sample)
{
    jwrite_begin(j, "interface", '[');
    iface_each (i)
        if (i->policy.sample & sample)
            jwrite_string(j, NULL, i->name);
    jwrite_end(j, ']');
}

static void write_sflow(struct jwrite *j)
{
    struct sflow_state n;

    sflow_state(&n);
    jwrite_string(j, "status", n.on ? "up" : "off");
    if (n.on)
        jwrite_int(j, "sample-rate", n.sample_rate);
    jwrite_ip_any(j, "agent-address", &n.agent);
    write_interfaces(j, IFACE_SAMPLE_SFLOW);
    columns_write(j, sflow_counts, &n);
    columns_list(j, "collector", collector_columns, n.collector, n.n_collectors,
                 sizeof *n.collector);
}

static void write_ipfix(struct jwrite *j)
{
    struct ipfix_state n;

    ipfix_state(&n);
    jwrite_string(j, "status", n.on ? "up" : "off");
    if (n.on)
        jwrite_int(j, "sample-rate", n.sample_rate);
    write_interfaces(j, IFACE_SAMPLE_IPFIX);
    columns_write(j, ipfix_counts, &n);
    columns_list(j, "collector", collector_columns, n.collector, n.n_collectors,
                 sizeof *n.collector);
}

const struct feature sflow_feature = {
    "sflow",
    .config = &sflow_config,
    .state = (const struct feature_state[]){{"sflow", .object = write_sflow}, {0}},
    .start = sflow_start,
    .stop = sflow_stop,
};
const struct feature ipfix_feature = {
    "ipfix",
    .config = &ipfix_config,
    .state = (const struct feature_state[]){{"ipfix", .object = write_ipfix}, {0}},
    .start = ipfix_start,
    .stop = ipfix_stop,
};
