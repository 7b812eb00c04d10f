// SPDX-License-Identifier: BSD-3-Clause
// model_vr.h - virtual routers of a configuration; control role
#ifndef MODEL_MODEL_VR_H
#define MODEL_MODEL_VR_H

#include <libyang/libyang.h>

#include "base/errors.h"
#include "model/model.h"

void model_read_vr(struct model *m, const struct lyd_node *entry); // after the settings
void model_check_vrs(const struct model *m, struct errors *e);

// What a virtual router has of its own or inherits.
uint8_t model_read_engine(const struct lyd_node *first, uint8_t absent);
struct flow_hash model_read_flow_hash(const struct lyd_node *first, struct flow_hash absent);

#endif
