// SPDX-License-Identifier: BSD-3-Clause
// apply_multicast.h - steps of multicast routes; control role
#ifndef APPLY_APPLY_MULTICAST_H
#define APPLY_APPLY_MULTICAST_H

#include "apply/apply_step.h"

void plan_multicast_going(struct plan_steps *p);
void plan_multicast_coming(struct plan_steps *p);

#endif
