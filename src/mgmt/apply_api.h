// SPDX-License-Identifier: BSD-3-Clause
// apply_api.h - the step of the management interface; control role
#ifndef MGMT_APPLY_API_H
#define MGMT_APPLY_API_H

#include "mgmt/apply_step.h"

void plan_api(struct plan_steps *p);

#endif
