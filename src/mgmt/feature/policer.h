// SPDX-License-Identifier: BSD-3-Clause
// policer.h - configured policers, for the budgets of virtual routers; control role
#ifndef FEATURE_POLICER_H
#define FEATURE_POLICER_H

#include "config/model.h"

unsigned model_policers_of(const struct model *m, const char *vr); // owned by vr

#endif
