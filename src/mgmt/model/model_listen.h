// SPDX-License-Identifier: BSD-3-Clause
// model_listen.h - the listeners on loopback of a configuration: read; control role
#ifndef MODEL_MODEL_LISTEN_H
#define MODEL_MODEL_LISTEN_H

#include "model/model.h"

struct lyd_node;
void model_read_metrics_listen(struct model *m, const struct lyd_node *entry);
void model_read_web_listen(struct model *m, const struct lyd_node *entry);

#endif
