// SPDX-License-Identifier: BSD-3-Clause
// metrics.c - listeners for metrics alone
#include "config/feature_config.h"
#include "feature/listener.h"
#include "http/listen.h"
#include "mgmt/feature.h"
#include "restconf/metrics.h"

static void read_listener(struct model *m, const struct lyd_node *entry)
{
    listener_read(m->part[FEATURE_metrics], entry, LISTEN_METRICS);
}

static void read_listeners(struct model *m, const struct lyd_node *tree,
                           const struct model *known, struct errors *e)
{
    model_read_list(m, tree, "metrics", "listen", read_listener);
}

static void free_listeners(struct model *m)
{
    vec_free(&((struct model_listeners *)m->part[FEATURE_metrics])->listener);
}

static void plan_remove(struct change *c)
{
    listener_plan_remove(c, FEATURE_metrics);
}

static void plan_add(struct change *c)
{
    listener_plan_add(c, FEATURE_metrics);
}

static const struct feature_config metrics_config = {
    .part_size = sizeof(struct model_listeners),
    .read = read_listeners,
    .free = free_listeners,
    .phases = (const struct feature_phase[]){{PHASE_REMOVE_LISTENERS, plan_remove},
                                             {PHASE_ADD_LISTENERS, plan_add},
                                             {0}},
};

static void start_metrics(struct event_base *loop)
{
    listen_serve(LISTEN_METRICS, &(struct listen_server){.answer = metrics_answer});
}

const struct feature metrics_feature = {"metrics", .config = &metrics_config,
                                        .start = start_metrics};
