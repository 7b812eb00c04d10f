// SPDX-License-Identifier: BSD-3-Clause
// model_interface.h - ports, vports and interfaces of a configuration; control role
#ifndef MODEL_MODEL_INTERFACE_H
#define MODEL_MODEL_INTERFACE_H

#include <libyang/libyang.h>

#include "base/errors.h"
#include "model/model.h"

void model_read_port(struct model *m, const struct lyd_node *entry);
void model_read_vport(struct model *m, const struct lyd_node *entry);
void model_read_interface(struct model *m, const struct lyd_node *entry);
void model_bind_interfaces(
    struct model *m); // when all of them are read: what they have from each other
void model_check_interfaces(const struct model *m, struct errors *e);

#endif
