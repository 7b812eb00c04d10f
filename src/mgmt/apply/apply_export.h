// SPDX-License-Identifier: BSD-3-Clause
// apply_export.h - steps of who is told what; control role
#ifndef APPLY_APPLY_EXPORT_H
#define APPLY_APPLY_EXPORT_H

#include "apply/apply_step.h"

void plan_export(struct plan_steps *p); // when everything that is told of is there

#endif
