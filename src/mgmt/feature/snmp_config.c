// SPDX-License-Identifier: BSD-3-Clause
// snmp_config.c - the SNMP agent, by the configuration
//
// Off is all zero, whatever else is configured: it does not differ from the empty configuration.
#include "config/feature_config.h"
#include "config/leaf.h"
#include "export/export.h"

static void read_snmp(struct model *m, const struct lyd_node *tree, const struct model *known,
                      struct errors *e)
{
    const struct lyd_node *first = leaf_inside(tree, NULL, "snmp");
    struct snmp_config *c = m->part[FEATURE_snmp];

    leaf_copy(c->master, sizeof c->master, first, "agentx", "");
    if (c->master[0])
        c->notifications = leaf_true(first, "link-notifications");
}

static int set_snmp(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return snmp_set(to, err, n);
}

static void plan_snmp(struct change *c)
{
    static const struct step_kind kind = {"snmp", set_snmp};

    step_add_value(c, &kind, c->from->part[FEATURE_snmp], c->to->part[FEATURE_snmp],
                   sizeof(struct snmp_config));
}

const struct feature_config snmp_config = {
    .part_size = sizeof(struct snmp_config),
    .read = read_snmp,
    .phases = (const struct feature_phase[]){{PHASE_EXPORT, plan_snmp}, {0}},
};
