// SPDX-License-Identifier: BSD-3-Clause
// operation_capture.c - the operation capture
#include <errno.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feature/capture.h"
#include "restconf/operation.h"

static unsigned points_of(const struct lyd_node *op)
{
    unsigned points = 0;

    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        for (unsigned p = 0; p < WATCH_POINT_N; p++)
            if (!strcmp(n->schema->name, "point") && !strcmp(lyd_get_value(n), watch_point_name[p]))
                points |= 1u << p;
    return points ? points : (1u << WATCH_POINT_N) - 1;
}

void operation_capture(struct http *h, const struct lyd_node *op)
{
    struct capture wish = {.spec = {.points = points_of(op)}};

    snprintf(wish.spec.port, sizeof wish.spec.port, "%s", operation_input(op, "port"));
    snprintf(wish.spec.interface, sizeof wish.spec.interface, "%s",
             operation_input(op, "interface"));
    snprintf(wish.filter, sizeof wish.filter, "%s", operation_input(op, "filter"));
    wish.count = strtoull(operation_input(op, "count"), NULL, 10);
    wish.spec.snap = (uint32_t)strtoul(operation_input(op, "snaplen"), NULL, 10);
    capture_begin(h, &wish);
}
