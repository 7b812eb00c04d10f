// SPDX-License-Identifier: BSD-3-Clause
// model_alarm.h - the limits of alarms of a configuration: read, and judged; control role
#ifndef MODEL_MODEL_ALARM_H
#define MODEL_MODEL_ALARM_H

#include "base/errors.h"
#include "model/model.h"

struct lyd_node;
void model_default_alarms(struct model_settings *s);
void model_read_daemon(struct model *m, const struct lyd_node *entry); // an expected routing daemon
void model_read_alarm(struct model *m, const struct lyd_node *entry);
void model_check_alarms(const struct model *m, struct errors *e);
bool model_same_alarms(const struct model_settings *a, const struct model_settings *b);

#endif
