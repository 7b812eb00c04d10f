// SPDX-License-Identifier: BSD-3-Clause
// model_make.c - from a tree to the model of it: every area's reader, then every area's judge
#include "model/model_make.h"

#include <libyang/libyang.h>
#include <stdlib.h>

#include "base/log.h"
#include "model/model_acl.h"
#include "model/model_alarm.h"
#include "model/model_api.h"
#include "model/model_counted.h"
#include "model/model_export.h"
#include "model/model_interface.h"
#include "model/model_leaf.h"
#include "model/model_listen.h"
#include "model/model_mirror.h"
#include "model/model_multicast.h"
#include "model/model_settings.h"
#include "model/model_thread.h"
#include "model/model_vr.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// Each entry of the list `name` inside the container `inside` (NULL: at the top).
static void read_list(struct model *m, const struct lyd_node *tree, const char *inside,
                      const char *name, void (*read)(struct model *m, const struct lyd_node *entry))
{
    const struct lysc_node *parent = inside ? yang_child(NULL, inside, true) : NULL;
    struct lyd_nodes v = {0};

    config_children(inside ? leaf_inside(tree, NULL, inside) : tree, yang_child(parent, name, true),
                    &v);
    for (size_t i = 0; i < v.n; i++)
        read(m, v.item[i]);
    free(v.item);
}

struct model *model_make(const struct lyd_node *tree, const struct model *known, struct errors *e)
{
    struct model *m = calloc(1, sizeof *m);

    bug_on(!m);
    model_read_settings(m, tree);
    model_read_export(m, tree);
    model_read_api(m, tree);
    read_list(m, tree, NULL, "vr", model_read_vr);
    read_list(m, tree, NULL, "port", model_read_port);
    read_list(m, tree, NULL, "port", model_read_mirrors);
    read_list(m, tree, NULL, "mirror-session", model_read_mirror_session);
    read_list(m, tree, NULL, "vport", model_read_vport);
    read_list(m, tree, NULL, "interface", model_read_interface);
    read_list(m, tree, NULL, "thread", model_read_thread);
    read_list(m, tree, NULL, "punt", model_read_punt);
    read_list(m, tree, NULL, "alarm", model_read_alarm);
    read_list(m, tree, NULL, "routing-daemon", model_read_daemon);
    read_list(m, tree, "multicast", "route", model_read_multicast);
    read_list(m, tree, "counters", "prefix", model_read_counted);
    read_list(m, tree, "metrics", "listen", model_read_metrics_listen);
    model_read_acls(m, tree, known, e);
    read_list(m, tree, "web", "listen", model_read_web_listen);
    model_sort_multicast(m);
    model_bind_interfaces(m);
    model_inherit_acls(m);

    model_check_interfaces(m, e);
    model_check_vrs(m, e);
    model_check_threads(m, e);
    model_check_mirrors(m, e);
    model_check_multicast(m, e);
    model_check_alarms(m, e);
    model_check_api(m, e);
    return m;
}
