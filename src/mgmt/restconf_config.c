// SPDX-License-Identifier: BSD-3-Clause
// restconf_config.c - reading the configuration by RESTCONF
#include <errno.h>
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/config.h"
#include "http/refuse.h"
#include "mgmt/restconf_priv.h"
#include "restconf/path.h"
#include "restconf/reply.h"
#include "yang/config_json.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// All entries of a list, or values of a leaf-list: {"kamuee:port": [ … ]}, perhaps none.
static json_t *whole_list(const struct lyd_node *first, const struct lysc_node *s,
                          const char *defaults)
{
    json_t *all = json_array(), *body = json_object();
    struct lyd_nodes v = {0};
    char name[80];

    path_member_name(s, true, name, sizeof name);
    config_children(first, s, &v);
    for (size_t i = 0; i < v.n; i++) {
        json_t *one = config_json(v.item[i], defaults, false);

        json_array_extend(all, json_object_get(one, name));
        json_decref(one);
    }
    free(v.item);
    json_object_set_new(body, name, all);
    return body;
}

void config_not_there(struct http *h, const struct path *p)
{
    const struct segment *g = path_last(p);

    if (g->n_keys)
        http_refuse(h, 404, "invalid-value", "there is no %s '%s'", g->schema->name, g->key[0]);
    else
        http_refuse(h, 404, "invalid-value", "'%s' is not configured", g->schema->name);
}

void config_get(struct http *h, const struct path *p, const struct content *c)
{
    const struct segment *g = path_last(p);
    const struct lyd_node *parent = path_find(p, p->n - 1, config_running());
    const struct lyd_node *node = path_find(p, p->n, config_running());
    bool many = g->schema->nodetype & (LYS_LIST | LYS_LEAFLIST);

    if (p->n > 1 && !parent)
        config_not_there(h, p);
    else if (many && !g->n_keys)
        restconf_json(
            h, 200,
            whole_list(parent ? lyd_child(parent) : config_running(), g->schema, c->defaults));
    else if (!node || (g->schema->nodetype == LYS_LEAF && (node->flags & LYD_DEFAULT) &&
                       (!c->defaults || strcmp(c->defaults, "report-all"))))
        config_not_there(h, p);
    else
        restconf_json(h, 200, config_json(node, c->defaults, false));
}
