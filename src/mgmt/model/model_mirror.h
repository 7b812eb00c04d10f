// SPDX-License-Identifier: BSD-3-Clause
// model_mirror.h - mirrors of a configuration, of ports and for rules of access lists; control role
#ifndef MODEL_MODEL_MIRROR_H
#define MODEL_MODEL_MIRROR_H

#include <libyang/libyang.h>

#include "base/errors.h"
#include "model/model.h"

void model_read_mirrors(struct model *m, const struct lyd_node *port); // all of an entry of port
void model_read_mirror_session(struct model *m, const struct lyd_node *entry);
void model_check_mirrors(const struct model *m, struct errors *e);

#endif
