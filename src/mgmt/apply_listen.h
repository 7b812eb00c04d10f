// SPDX-License-Identifier: BSD-3-Clause
// apply_listen.h - steps of listeners on loopback; control role
#ifndef MGMT_APPLY_LISTEN_H
#define MGMT_APPLY_LISTEN_H

#include "mgmt/apply_step.h"

void plan_listens(struct plan_steps *p);

#endif
