// SPDX-License-Identifier: BSD-3-Clause
// apply_counted.h - steps of counted prefixes; for apply.c
#ifndef APPLY_APPLY_COUNTED_H
#define APPLY_APPLY_COUNTED_H

#include "apply/apply_step.h"

void plan_counted_going(struct plan_steps *p);
void plan_counted_coming(struct plan_steps *p);

#endif
