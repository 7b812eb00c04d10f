// SPDX-License-Identifier: BSD-3-Clause
// icmp_config.c - limits of ICMP messages of our own, by the configuration
#include "config/feature_config.h"
#include "config/leaf.h"
#include "table/icmp.h"

static void read_icmp(struct model *m, const struct lyd_node *tree, const struct model *known,
                      struct errors *e)
{
    const struct lyd_node *first = leaf_inside(tree, NULL, "icmp");
    struct icmp_limit *l = m->part[FEATURE_icmp];

    *l = icmp_limit_default;
    l->per_s = (uint32_t)leaf_number(first, "rate", l->per_s);
    l->burst = (uint32_t)leaf_number(first, "burst", l->burst);
    l->total_per_s = (uint32_t)leaf_number(first, "total-rate", l->total_per_s);
    l->total_burst = (uint32_t)leaf_number(first, "total-burst", l->total_burst);
}

static int set_limit(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    icmp_limit_set(to);
    return 0;
}

static void plan_icmp(struct change *c)
{
    static const struct step_kind limit = {"", set_limit};

    step_add_value(c, &limit, c->from->part[FEATURE_icmp], c->to->part[FEATURE_icmp],
                   sizeof(struct icmp_limit));
}

const struct feature_config icmp_config = {
    .part_size = sizeof(struct icmp_limit),
    .read = read_icmp,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_icmp}, {0}},
};
