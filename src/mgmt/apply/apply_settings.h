// SPDX-License-Identifier: BSD-3-Clause
// apply_settings.h - steps of what a configuration has once; control role
#ifndef APPLY_APPLY_SETTINGS_H
#define APPLY_APPLY_SETTINGS_H

#include "apply/apply_step.h"

void plan_settings(struct plan_steps *p);

#endif
