// SPDX-License-Identifier: BSD-3-Clause
// routing_daemon.c - configured routing daemons, whose silence is an alarm (alarm/session.h)
#include "config/feature_config.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/column.h"

static const struct column daemon_columns[] = {
    COLUMN(struct model_routing_daemon, vr, "vr"),
    COLUMN(struct model_routing_daemon, protocol, "protocol"),
    COLUMN(struct model_routing_daemon, minimum_routes, "minimum-routes"),
    {0}};

static void read_daemon(struct model *m, void *row, const struct lyd_node *entry)
{
    columns_read(lyd_child(entry), daemon_columns, row);
}

static const struct feature_config routing_daemon_config = {
    .part_size = sizeof(struct model_routing_daemons),
    .lists =
        (const struct feature_list[]){{.node = "routing-daemon",
                                       LIST_ROWS(struct model_routing_daemons, expected),
                                       .read = read_daemon},
                                      {0}},
};

const struct feature routing_daemon_feature = {"routing_daemon", .config = &routing_daemon_config};
