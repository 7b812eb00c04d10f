// SPDX-License-Identifier: BSD-3-Clause
// apply_export.h - steps of who is told what; control role
#ifndef MGMT_APPLY_EXPORT_H
#define MGMT_APPLY_EXPORT_H

#include "mgmt/apply_step.h"

void plan_export(struct plan_steps *p); // when everything that is told of is there

#endif
