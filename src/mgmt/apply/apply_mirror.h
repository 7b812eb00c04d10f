// SPDX-License-Identifier: BSD-3-Clause
// apply_mirror.h - steps of port mirrors; control role
#ifndef APPLY_APPLY_MIRROR_H
#define APPLY_APPLY_MIRROR_H

#include "apply/apply_step.h"

void plan_mirrors_going(struct plan_steps *p);
void plan_mirrors_coming(struct plan_steps *p);

#endif
