// SPDX-License-Identifier: BSD-3-Clause
// routing_daemon.c - routing daemons that are expected to run
#include "feature/routing_daemon.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "mgmt/feature.h"

static void read_daemon(struct model *m, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    struct routing_daemons *all = m->part[FEATURE_routing_daemon];

    if (all->n == ROUTING_DAEMON_MAX)
        return; // the schema has refused it
    struct routing_daemon *d = &all->item[all->n++];
    leaf_copy(d->vr, sizeof d->vr, first, "vr", "");
    leaf_copy(d->protocol, sizeof d->protocol, first, "protocol", "");
    d->minimum_routes = (uint32_t)leaf_number(first, "minimum-routes", 1);
}

static void read_daemons(struct model *m, const struct lyd_node *tree, const struct model *known,
                         struct errors *e)
{
    model_read_list(m, tree, NULL, "routing-daemon", read_daemon);
}

static int set_daemons(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    routing_daemon_set(to);
    return 0;
}

static void plan_daemons(struct change *c)
{
    static const struct step_kind daemons = {"", set_daemons};

    step_add_value(c, &daemons, c->from->part[FEATURE_routing_daemon],
                   c->to->part[FEATURE_routing_daemon], sizeof(struct routing_daemons));
}

static const struct feature_config routing_daemon_config = {
    .part_size = sizeof(struct routing_daemons),
    .read = read_daemons,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_daemons}, {0}},
};

const struct feature routing_daemon_feature = {.name = "routing_daemon",
                                               .config = &routing_daemon_config};
