// SPDX-License-Identifier: BSD-3-Clause
// model_export.c - who is told what: SNMP, sFlow, IPFIX
#include "mgmt/model_export.h"

#include "mgmt/model_leaf.h"

void model_read_export(struct model *m, const struct lyd_node *tree)
{
    struct snmp_config *snmp = &m->snmp;
    const struct lyd_node *first = leaf_inside(tree, NULL, "snmp");

    leaf_copy(snmp->master, sizeof snmp->master, first, "agentx", "");
    if (snmp->master[0]) // else nothing differs from the empty configuration
        snmp->notifications = leaf_true(first, "link-notifications");
}
