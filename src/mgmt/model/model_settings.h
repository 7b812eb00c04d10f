// SPDX-License-Identifier: BSD-3-Clause
// model_settings.h - what a configuration has once; control role
#ifndef MODEL_MODEL_SETTINGS_H
#define MODEL_MODEL_SETTINGS_H

#include <libyang/libyang.h>

#include "model/model.h"

void model_read_settings(struct model *m, const struct lyd_node *tree);
void model_read_punt(struct model *m, const struct lyd_node *entry); // after the settings

#endif
