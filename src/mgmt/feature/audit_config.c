// SPDX-License-Identifier: BSD-3-Clause
// audit_config.c - how often the FIB is audited, by the configuration
#include "config/feature_config.h"
#include "config/leaf.h"
#include "rib/rib_manager.h"

static void read_interval(struct model *m, const struct lyd_node *tree, const struct model *known,
                          struct errors *e)
{
    uint32_t *seconds = m->part[FEATURE_audit]; // 0 = never

    *seconds = (uint32_t)leaf_number(leaf_inside(tree, NULL, "fib-audit"), "interval", 300);
}

static int set_interval(const struct step *s, const void *from, const void *to, char *err,
                        size_t n)
{
    rib_manager_set_audit_interval(*(const uint32_t *)to);
    return 0;
}

static void plan_interval(struct change *c)
{
    static const struct step_kind interval = {"", set_interval};

    step_add_value(c, &interval, c->from->part[FEATURE_audit], c->to->part[FEATURE_audit],
                   sizeof(uint32_t));
}

static void begin_audit(const struct model *empty)
{
    rib_manager_set_audit_interval(*(const uint32_t *)empty->part[FEATURE_audit]);
}

const struct feature_config audit_config = {
    .part_size = sizeof(uint32_t),
    .read = read_interval,
    .begin = begin_audit,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_interval}, {0}},
};
