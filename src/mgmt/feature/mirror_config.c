// SPDX-License-Identifier: BSD-3-Clause
// model_mirror.c - mirrors of a configuration, and their rules
#include "model/model_mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/model_leaf.h"
#include "table/watch.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static unsigned points_of(const char *direction)
{
    unsigned rx = 1u << WATCH_RX, tx = 1u << WATCH_TX;

    return !strcmp(direction, "both") ? rx | tx : !strcmp(direction, "rx") ? rx : tx;
}

static struct model_mirror *read_mirror(struct model *m, const struct lyd_node *entry)
{
    struct model_mirror *r = vec_push(&m->mirror);
    const struct lyd_node *to = leaf_inside(lyd_child(entry), entry->schema, "to");

    memset(r, 0, sizeof *r);
    leaf_copy(r->mirror.to_port, sizeof r->mirror.to_port, to, "port", "");
    leaf_copy(r->mirror.to_tap, sizeof r->mirror.to_tap, to, "tap", "");
    r->line = config_line_of(entry);
    for (const struct lyd_node *leaf = to; leaf && !r->line; leaf = leaf->next)
        r->line = config_line_of(leaf);
    return r;
}

static void read_mirror_of_port(struct model *m, const char *port, const struct lyd_node *entry)
{
    struct mirror *r = &read_mirror(m, entry)->mirror;

    snprintf(r->port, sizeof r->port, "%s", port);
    r->points = points_of(config_value(lyd_child(entry), "direction"));
}

void model_read_mirror_session(struct model *m, const struct lyd_node *entry)
{
    struct mirror *r = &read_mirror(m, entry)->mirror;

    leaf_copy(r->session, sizeof r->session, lyd_child(entry), "name", "");
}

void model_read_mirrors(struct model *m, const struct lyd_node *port)
{
    struct lyd_nodes v = {0};

    config_children(lyd_child(port), yang_child(port->schema, "mirror", true), &v);
    for (size_t i = 0; i < v.n; i++)
        read_mirror_of_port(m, config_value(lyd_child(port), "name"), v.item[i]);
    free(v.item);
}

// Those of one port stand side by side, ports in the order of their names.
static bool is_mirrored(const struct model *m, const char *port)
{
    size_t lo = 0, hi = m->mirror.n;

    while (hi && m->mirror.item[hi - 1].mirror.session[0])
        hi--;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int d = natural_compare(m->mirror.item[mid].mirror.port, port);

        d = d ? d : strcmp(m->mirror.item[mid].mirror.port, port);
        if (!d)
            return true;
        if (d < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

static void check_directions(const struct model *m, const struct model_mirror *r, struct errors *e)
{
    for (const struct model_mirror *o = r;
         o > m->mirror.item && !strcmp(o[-1].mirror.port, r->mirror.port); o--)
        if (o[-1].mirror.points & r->mirror.points)
            errors_add(e, o[-1].line > r->line ? o[-1].line : r->line,
                       "port %s: mirror 'both' and mirror 'rx' or 'tx' would copy frames twice, "
                       "expected one of them",
                       r->mirror.port);
}

static void check_one(const struct model *m, const struct model_mirror *r, struct errors *e)
{
    const struct mirror *i = &r->mirror;
    const char *tap = i->to_tap, *kind = i->session[0] ? "mirror-session" : "port",
               *name = i->session[0] ? i->session : i->port;

    if (!i->to_port[0] == !tap[0])
        errors_add(e, r->line, "%s %s: a mirror needs either 'to port' or 'to tap'", kind, name);
    if (tap[0] && (model_find_port(m, tap) || model_find_vport(m, tap)))
        errors_add(
            e, r->line,
            "%s %s: mirror to tap '%s': the name belongs to an interface, expected another name",
            kind, name, tap);
    if (i->to_port[0] && !strcmp(i->to_port, i->port))
        errors_add(e, r->line,
                   "port %s: a mirror to the port itself would loop, expected another port",
                   i->port);
    else if (i->to_port[0] && is_mirrored(m, i->to_port))
        errors_add(e, r->line,
                   "%s %s: mirror to port '%s', which is itself mirrored: that would loop, "
                   "expected another port",
                   kind, name, i->to_port);
    if (!i->session[0])
        check_directions(m, r, e);
}

void model_check_mirrors(const struct model *m, struct errors *e)
{
    vec_foreach (&m->mirror, r)
        check_one(m, r, e);
}
