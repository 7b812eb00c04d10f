// SPDX-License-Identifier: BSD-3-Clause
// apply.h - from one model to another through the managers: all or nothing
//
// Control role.
#ifndef APPLY_APPLY_H
#define APPLY_APPLY_H

#include "base/errors.h"
#include "model/model.h"

// Carries out what differs. 0; or -errno with the manager's sentence and its line added to `e`, and what had been done
// undone.
int apply_change(const struct model *from, const struct model *to, struct errors *e);

#endif
