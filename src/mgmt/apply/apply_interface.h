// SPDX-License-Identifier: BSD-3-Clause
// apply_interface.h - steps of ports, vports, and what belongs to an interface; control role
#ifndef APPLY_APPLY_INTERFACE_H
#define APPLY_APPLY_INTERFACE_H

#include "apply/apply_step.h"

void plan_interfaces_going(struct plan_steps *p);
void plan_interfaces_coming(struct plan_steps *p);

#endif
