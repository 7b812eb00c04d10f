// SPDX-License-Identifier: BSD-3-Clause
// listener.c - listeners on loopback of a configuration: of metrics and of the web page
#include "feature/listener.h"

#include <string.h>

#include "config/leaf.h"

void listener_read(struct model_listeners *all, const struct lyd_node *entry,
                   enum listen_what what)
{
    struct model_listener *l = vec_push(&all->listener);
    const struct lyd_node *first = lyd_child(entry);

    memset(l, 0, sizeof *l);
    l->listen.what = what;
    leaf_copy(l->listen.address, sizeof l->listen.address, first, "address", "");
    l->listen.port = (uint16_t)leaf_number(first, "port", 0);
    l->line = leaf_line(entry, NULL);
}

static int run_listener(const struct step *s, const void *from, const void *to, char *err,
                        size_t n)
{
    if (to)
        return listen_open(&((const struct model_listener *)to)->listen, err, n);
    listen_close(&((const struct model_listener *)from)->listen);
    return 0;
}

static const struct step_kind listener_kind[LISTEN_N] = {
    [LISTEN_METRICS] = {"metrics", run_listener},
    [LISTEN_WEB] = {"web", run_listener},
};

static bool has_listener(const struct model_listeners *all, const struct model_listener *wanted)
{
    vec_foreach (&all->listener, l)
        if (!memcmp(&l->listen, &wanted->listen, sizeof l->listen)) // of memory that was all zero
            return true;
    return false;
}

void listener_plan_remove(struct change *c, enum feature_id feature)
{
    const struct model_listeners *from = c->from->part[feature], *to = c->to->part[feature];

    vec_foreach (&from->listener, l)
        if (!has_listener(to, l))
            step_add(c, &listener_kind[l->listen.what], "", l, NULL, 0);
}

void listener_plan_add(struct change *c, enum feature_id feature)
{
    const struct model_listeners *from = c->from->part[feature], *to = c->to->part[feature];

    vec_foreach (&to->listener, l)
        if (!has_listener(from, l))
            step_add(c, &listener_kind[l->listen.what], "", NULL, l, l->line);
}
