// SPDX-License-Identifier: BSD-3-Clause
// model_make.h - from a tree to the model of it; control role
#ifndef MODEL_MODEL_MAKE_H
#define MODEL_MODEL_MAKE_H

#include "base/errors.h"
#include "model/model.h"

struct lyd_node;

// NULL tree: the empty configuration. `tree` has been through config_check. Adds to `e` what breaks
// rules that the schema cannot say: they cross lists (a name that is a port and a vport), compare
// values of two entries, or would cost XPath a product of two lists. Each is n log n here.
struct model *model_make(const struct lyd_node *tree, const struct model *known, struct errors *e);

#endif
