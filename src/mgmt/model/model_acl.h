// SPDX-License-Identifier: BSD-3-Clause
// model_acl.h - access lists and address sets of a configuration, and what they are bound to;
// control role
#ifndef MODEL_MODEL_ACL_H
#define MODEL_MODEL_ACL_H

#include <libyang/libyang.h>

#include "base/errors.h"
#include "model/model.h"

// Reads all of them, and says what is wrong with rules.
// Rules that are marked (config_mark_known) are those of `known`.
void model_read_acls(struct model *m, const struct lyd_node *tree, const struct model *known,
                     struct errors *e);
struct model_acls model_read_binding(const struct lyd_node *first,
                                     const struct lysc_node *parent); // container `acl` there
void model_inherit_acls(
    struct model *m); // when all interfaces are bound: from their virtual router, or `forwarding`

#endif
