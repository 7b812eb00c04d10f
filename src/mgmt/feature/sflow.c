// SPDX-License-Identifier: BSD-3-Clause
// show_export.c - who is told what, and how that goes: SNMP, sFlow, IPFIX
#include "export/export.h"
#include "restconf/state.h"
#include "table/iface.h"

int show_snmp(struct show *s)
{
    struct jwrite *j = &s->out;
    struct snmp_state n;

    snmp_state(&n);
    jwrite_begin(j, s->name, '{');
    jwrite_string(j, "status", n.status);
    if (n.master[0])
        jwrite_string(j, "master", n.master);
    if (n.error[0])
        jwrite_string(j, "error", n.error);
    jwrite_int(j, "trees", n.trees);
    jwrite_u64(j, "sessions", n.sessions);
    jwrite_u64(j, "get", n.gets);
    jwrite_u64(j, "get-next", n.get_nexts);
    jwrite_u64(j, "get-bulk", n.get_bulks);
    jwrite_u64(j, "set-refused", n.sets);
    jwrite_u64(j, "variables", n.variables);
    jwrite_u64(j, "errors", n.errors);
    jwrite_u64(j, "notifications", n.notifications);
    jwrite_u64(j, "notifications-lost", n.notifications_lost);
    jwrite_end(j, '}');
    return SHOW_NOW;
}

// Interfaces whose packets are sampled.
static void write_interfaces(struct jwrite *j, uint8_t sample)
{
    jwrite_begin(j, "interface", '[');
    for (uint16_t id = 1; id < IFACE_MAX; id++)
        if (iface_get(id)->kind != IFACE_NONE && iface_get(id)->policy.sample & sample)
            jwrite_string(j, NULL, iface_get(id)->name);
    jwrite_end(j, ']');
}

static void write_collectors(struct jwrite *j, const struct collector_state *c, unsigned n)
{
    jwrite_begin(j, "collector", '[');
    for (unsigned i = 0; i < n; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_ip(j, "address", &c[i].to.addr);
        jwrite_int(j, "port", c[i].to.port);
        jwrite_u64(j, "datagrams", c[i].datagrams);
        jwrite_u64(j, "bytes", c[i].bytes);
        jwrite_u64(j, "datagrams-lost", c[i].lost);
        if (c[i].error[0])
            jwrite_string(j, "error", c[i].error);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

int show_sflow(struct show *s)
{
    struct jwrite *j = &s->out;
    struct sflow_state n;

    sflow_state(&n);
    jwrite_begin(j, s->name, '{');
    jwrite_string(j, "status", n.on ? "up" : "off");
    if (n.on)
        jwrite_int(j, "sample-rate", n.sample_rate);
    if (n.agent.family)
        jwrite_ip(j, "agent-address", &n.agent);
    write_interfaces(j, IFACE_SAMPLE_SFLOW);
    jwrite_u64(j, "samples", n.samples);
    jwrite_u64(j, "samples-missed", n.samples_missed);
    jwrite_u64(j, "counter-samples", n.counter_samples);
    write_collectors(j, n.collector, n.n_collectors);
    jwrite_end(j, '}');
    return SHOW_NOW;
}

int show_ipfix(struct show *s)
{
    struct jwrite *j = &s->out;
    struct ipfix_state n;

    ipfix_state(&n);
    jwrite_begin(j, s->name, '{');
    jwrite_string(j, "status", n.on ? "up" : "off");
    if (n.on)
        jwrite_int(j, "sample-rate", n.sample_rate);
    write_interfaces(j, IFACE_SAMPLE_IPFIX);
    jwrite_u64(j, "samples", n.samples);
    jwrite_u64(j, "samples-missed", n.samples_missed);
    jwrite_u64(j, "samples-no-ip", n.samples_no_ip);
    jwrite_int(j, "flows-now", n.flows_now);
    jwrite_int(j, "flows-max", n.flows_max);
    jwrite_u64(j, "flows", n.flows);
    jwrite_u64(j, "flows-no-room", n.flows_no_room);
    write_collectors(j, n.collector, n.n_collectors);
    jwrite_end(j, '}');
    return SHOW_NOW;
}
