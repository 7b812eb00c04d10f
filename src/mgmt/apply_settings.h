// SPDX-License-Identifier: BSD-3-Clause
// apply_settings.h - steps of what a configuration has once; control role
#ifndef MGMT_APPLY_SETTINGS_H
#define MGMT_APPLY_SETTINGS_H

#include "mgmt/apply_step.h"

void plan_settings(struct plan_steps *p);

#endif
