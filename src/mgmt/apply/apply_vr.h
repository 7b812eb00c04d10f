// SPDX-License-Identifier: BSD-3-Clause
// apply_vr.h - steps of virtual routers; control role
#ifndef APPLY_APPLY_VR_H
#define APPLY_APPLY_VR_H

#include "apply/apply_step.h"

bool vr_name_stays(const struct plan_steps *p, const char *name); // and so may interfaces in it
void plan_vrs_going(struct plan_steps *p);
void plan_vrs_coming(struct plan_steps *p);
void plan_engines(
    struct plan_steps *p); // engine and flow hash of those that stay; the others come with theirs

#endif
