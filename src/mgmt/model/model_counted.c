// SPDX-License-Identifier: BSD-3-Clause
// model_counted.c - the prefixes of a configuration whose packets are counted
#include "model/model_counted.h"

#include "base/log.h"
#include "model/model_leaf.h"
#include "yang/config_tree.h"

void model_read_counted(struct model *m, const struct lyd_node *entry)
{
    struct model_counted *c = vec_push(&m->counted);
    const struct lyd_node *first = lyd_child(entry);

    *c = (struct model_counted){.line = leaf_line(entry, NULL)};
    leaf_copy(c->vr, sizeof c->vr, first, "vr", "");
    bug_on(prefix_parse(config_value(first, "prefix"), &c->prefix,
                        false)); // libyang has zeroed the bits behind its length
}
