// SPDX-License-Identifier: BSD-3-Clause
// vr_budget.h - budgets of virtual routers: configured, checked, shown; control role
#ifndef FEATURE_VR_BUDGET_H
#define FEATURE_VR_BUDGET_H

#include "base/errors.h"
#include "base/jwrite.h"
#include "config/model.h"
#include "rib/rib_manager.h"
#include "table/vr_budget.h"

struct lyd_node;
struct lysc_node;

// The container `budget` among the children `first` of that schema node.
struct vr_limits vr_budget_read(const struct lyd_node *first, const struct lysc_node *parent);
// Rules and set members that are bound to a virtual router's interfaces are within its budget.
void vr_budget_check(const struct model *m, struct errors *e);
// The same once access lists are prepared, or in force: with what their files hold.
void vr_budget_check_files(const struct model *m, struct errors *e);

// What a virtual router uses of each budget; `r`: rib_manager's answer.
struct vr_limits vr_budget_used(uint16_t vr, const struct rib_stats *r);
// The list `budget` of its state.
void vr_budget_write(struct jwrite *j, uint16_t vr, const struct rib_stats *r);
// Once a second: counts what was punted.
void vr_budget_look(uint64_t now_ns);

#endif
