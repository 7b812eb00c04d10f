// SPDX-License-Identifier: BSD-3-Clause
// model_multicast.h - the multicast routes of a configuration; control role
#ifndef MODEL_MODEL_MULTICAST_H
#define MODEL_MODEL_MULTICAST_H

#include <libyang/libyang.h>

#include "base/errors.h"
#include "model/model.h"

void model_read_multicast(struct model *m, const struct lyd_node *entry); // one of multicast/route
void model_check_multicast(const struct model *m, struct errors *e);

#endif
