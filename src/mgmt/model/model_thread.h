// SPDX-License-Identifier: BSD-3-Clause
// model_thread.h - which thread polls which queues in a configuration; control role
#ifndef MODEL_MODEL_THREAD_H
#define MODEL_MODEL_THREAD_H

#include <libyang/libyang.h>

#include "base/errors.h"
#include "model/model.h"

void model_read_thread(struct model *m, const struct lyd_node *entry);
void model_check_threads(const struct model *m, struct errors *e);

#endif
