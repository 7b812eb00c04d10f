// SPDX-License-Identifier: BSD-3-Clause
// apply_api.h - the step of the management interface; control role
#ifndef APPLY_APPLY_API_H
#define APPLY_APPLY_API_H

#include "apply/apply_step.h"

void plan_api(struct plan_steps *p);

#endif
