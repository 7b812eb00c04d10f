// SPDX-License-Identifier: BSD-3-Clause
// model_listen.c - the listeners on loopback of a configuration: read
#include "model/model_listen.h"

#include <string.h>

#include "model/model_leaf.h"

static void read_listen(struct model *m, const struct lyd_node *entry, enum listen_what what)
{
    struct model_listen *l = vec_push(&m->listen);
    const struct lyd_node *first = lyd_child(entry);

    memset(l, 0, sizeof *l);
    l->listen.what = what;
    leaf_copy(l->listen.address, sizeof l->listen.address, first, "address", "");
    l->listen.port = (uint16_t)leaf_number(first, "port", 0);
    l->line = leaf_line(entry, NULL);
}

void model_read_metrics_listen(struct model *m, const struct lyd_node *entry)
{
    read_listen(m, entry, LISTEN_METRICS);
}

void model_read_web_listen(struct model *m, const struct lyd_node *entry)
{
    read_listen(m, entry, LISTEN_WEB);
}
