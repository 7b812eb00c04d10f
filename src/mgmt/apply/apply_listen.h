// SPDX-License-Identifier: BSD-3-Clause
// apply_listen.h - steps of listeners on loopback; control role
#ifndef APPLY_APPLY_LISTEN_H
#define APPLY_APPLY_LISTEN_H

#include "apply/apply_step.h"

void plan_listens(struct plan_steps *p);

#endif
