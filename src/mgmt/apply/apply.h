// SPDX-License-Identifier: BSD-3-Clause
// apply.h - from one model to another through the managers: all or nothing
//
// Control role.
#ifndef APPLY_APPLY_H
#define APPLY_APPLY_H

#include "apply/apply_step.h"
#include "base/errors.h"

// The steps from one model to the other, in order. apply_plan_free() whether they were run or not.
void apply_plan(struct plan_steps *p, const struct model *from, const struct model *to);
void apply_plan_free(struct plan_steps *p);

// Carries out what differs. 0; or -errno with the manager's sentence and its line added to `e`, and
// what had been done undone.
int apply_change(const struct model *from, const struct model *to, struct errors *e);

#endif
