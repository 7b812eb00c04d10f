// SPDX-License-Identifier: BSD-3-Clause
// model_export.h - who is told what: SNMP, sFlow, IPFIX; control role
#ifndef MODEL_MODEL_EXPORT_H
#define MODEL_MODEL_EXPORT_H

#include <libyang/libyang.h>

#include "model/model.h"

void model_read_export(struct model *m, const struct lyd_node *tree);

#endif
