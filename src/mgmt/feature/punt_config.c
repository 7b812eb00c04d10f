// SPDX-License-Identifier: BSD-3-Clause
// punt_config.c - limits of packets for the kernel, by the configuration
#include <string.h>

#include "base/log.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "table/punt.h"

static void read_class(struct model *m, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    int class = leaf_word(first, "class", punt_class_name, PUNT_CLASS_N);

    bug_on(class < 0);
    struct punt_limit *limit = (struct punt_limit *)m->part[FEATURE_punt] + class;
    limit->per_s = (uint32_t)leaf_number(first, "rate", limit->per_s);
    limit->burst = (uint32_t)leaf_number(first, "burst", limit->burst);
    limit->queue = (uint32_t)leaf_number(first, "queue", limit->queue);
}

static void read_punt(struct model *m, const struct lyd_node *tree, const struct model *known,
                      struct errors *e)
{
    memcpy(m->part[FEATURE_punt], punt_limit_default, sizeof punt_limit_default);
    model_read_list(m, tree, NULL, "punt", read_class);
}

static int set_limits(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    for (unsigned class = 0; class < PUNT_CLASS_N; class ++)
        punt_policy_set(class, (const struct punt_limit *)to + class);
    return 0;
}

static void plan_punt(struct change *c)
{
    static const struct step_kind limits = {"", set_limits};

    step_add_value(c, &limits, c->from->part[FEATURE_punt], c->to->part[FEATURE_punt],
                   sizeof punt_limit_default);
}

const struct feature_config punt_config = {
    .part_size = sizeof punt_limit_default,
    .read = read_punt,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_punt}, {0}},
};
