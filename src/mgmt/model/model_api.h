// SPDX-License-Identifier: BSD-3-Clause
// model_api.h - the management interface of a configuration; control role
#ifndef MODEL_MODEL_API_H
#define MODEL_MODEL_API_H

#include <libyang/libyang.h>

#include "base/errors.h"
#include "model/model.h"

void model_read_api(struct model *m, const struct lyd_node *tree);
void model_check_api(const struct model *m, struct errors *e);

#endif
