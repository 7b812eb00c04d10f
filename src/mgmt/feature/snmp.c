// SPDX-License-Identifier: BSD-3-Clause
// snmp.c - the SNMP agent
#include "config/feature_config.h"
#include "config/leaf.h"
#include "export/export.h"
#include "mgmt/feature.h"
#include "restconf/state.h"

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

static const struct feature_config snmp_config = {
    .part_size = sizeof(struct snmp_config),
    .read = read_snmp,
    .phases = (const struct feature_phase[]){{PHASE_EXPORT, plan_snmp}, {0}},
};

// --- state ---------------------------------------------------------------------------------------

static int show_snmp(struct show *s)
{
    struct jwrite *j = &s->out;
    struct snmp_state n;

    snmp_state(&n);
    jwrite_begin(j, s->name, '{');
    jwrite_string(j, "status", n.status);
    jwrite_string_any(j, "master", n.master);
    jwrite_string_any(j, "error", n.error);
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

const struct feature snmp_feature = {
    "snmp",
    .config = &snmp_config,
    .state = (const struct feature_state[]){{"snmp", .write = show_snmp}, {0}},
};
