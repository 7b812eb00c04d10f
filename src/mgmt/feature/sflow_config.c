// SPDX-License-Identifier: BSD-3-Clause
// model_export.c - who is told what: SNMP, sFlow, IPFIX
//
// What is off is all zero, whatever else is configured: it does not differ from the empty
// configuration then.
#include "model/model_export.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "model/model_leaf.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static void read_address(struct ip_addr *a, const char *text)
{
    struct ip_addr parsed;

    if (!text)
        return;
    bug_on(ip_parse(text, &parsed)); // of the schema's type
    a->family = parsed.family;
    memcpy(a->b, parsed.b, 16);
}

static unsigned read_collectors(struct export_collector *c, const struct lyd_node *first,
                                const char *container)
{
    const struct lysc_node *parent = yang_child(NULL, container, true);
    struct lyd_nodes v = {0};
    unsigned n = 0;

    config_children(first, yang_child(parent, "collector", true), &v);
    for (; n < v.n && n < EXPORT_COLLECTORS; n++) {
        const struct lyd_node *leaves = lyd_child(v.item[n]);
        read_address(&c[n].addr, config_value(leaves, "address"));
        c[n].port = (uint16_t)leaf_number(leaves, "port", 0);
    }
    free(v.item);
    return n;
}

static void read_snmp(struct snmp_config *c, const struct lyd_node *first)
{
    leaf_copy(c->master, sizeof c->master, first, "agentx", "");
    if (c->master[0])
        c->notifications = leaf_true(first, "link-notifications");
}

static void read_sflow(struct sflow_config *c, const struct lyd_node *first)
{
    c->n_collectors = read_collectors(c->collector, first, "sflow");
    if (!c->n_collectors)
        return;
    c->sample_rate = (uint32_t)leaf_number(first, "sample-rate", 0);
    c->polling_s = (uint16_t)leaf_number(first, "polling-interval", 0);
    read_address(&c->agent, config_value(first, "agent-address"));
}

static void read_ipfix(struct ipfix_config *c, const struct lyd_node *first)
{
    c->n_collectors = read_collectors(c->collector, first, "ipfix");
    if (!c->n_collectors)
        return;
    c->sample_rate = (uint32_t)leaf_number(first, "sample-rate", 0);
    c->active_s = (uint32_t)leaf_number(first, "active-timeout", 0);
    c->inactive_s = (uint32_t)leaf_number(first, "inactive-timeout", 0);
    c->template_s = (uint32_t)leaf_number(first, "template-interval", 0);
    c->flows_max = (uint32_t)leaf_number(first, "flows", 0);
    c->domain = (uint32_t)leaf_number(first, "observation-domain", 0);
}

void model_read_export(struct model *m, const struct lyd_node *tree)
{
    read_snmp(&m->snmp, leaf_inside(tree, NULL, "snmp"));
    read_sflow(&m->sflow, leaf_inside(tree, NULL, "sflow"));
    read_ipfix(&m->ipfix, leaf_inside(tree, NULL, "ipfix"));
}
