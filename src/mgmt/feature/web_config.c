// SPDX-License-Identifier: BSD-3-Clause
// web_config.c - listeners of the web page, by the configuration
#include "config/feature_config.h"
#include "feature/listener.h"

static void read_listener(struct model *m, const struct lyd_node *entry)
{
    listener_read(m->part[FEATURE_web], entry, LISTEN_WEB);
}

static void read_listeners(struct model *m, const struct lyd_node *tree,
                           const struct model *known, struct errors *e)
{
    model_read_list(m, tree, "web", "listen", read_listener);
}

static void free_listeners(struct model *m)
{
    vec_free(&((struct model_listeners *)m->part[FEATURE_web])->listener);
}

static void plan_remove(struct change *c)
{
    listener_plan_remove(c, FEATURE_web);
}

static void plan_add(struct change *c)
{
    listener_plan_add(c, FEATURE_web);
}

const struct feature_config web_config = {
    .part_size = sizeof(struct model_listeners),
    .read = read_listeners,
    .free = free_listeners,
    .phases = (const struct feature_phase[]){{PHASE_REMOVE_LISTENERS, plan_remove},
                                             {PHASE_ADD_LISTENERS, plan_add},
                                             {0}},
};
