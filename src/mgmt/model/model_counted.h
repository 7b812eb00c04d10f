// SPDX-License-Identifier: BSD-3-Clause
// model_counted.h - the prefixes of a configuration whose packets are counted; control role
#ifndef MODEL_MODEL_COUNTED_H
#define MODEL_MODEL_COUNTED_H

#include <libyang/libyang.h>

#include "model/model.h"

void model_read_counted(struct model *m, const struct lyd_node *entry);

#endif
