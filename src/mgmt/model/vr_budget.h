// SPDX-License-Identifier: BSD-3-Clause
// vr_budget.h - budgets of virtual routers: configuration, checks, state; control role
#ifndef MODEL_VR_BUDGET_H
#define MODEL_VR_BUDGET_H

#include "base/errors.h"
#include "base/jwrite.h"
#include "config/model.h"
#include "rib/rib_manager.h"
#include "table/vr_budget.h"

struct lyd_node;
struct lysc_node;

// Reads the container `budget` from the children `first` of that schema node.
struct vr_limits vr_budget_read(const struct lyd_node *first, const struct lysc_node *parent);
// Checks that a virtual router's interfaces, and the rules and set members bound to them, fit its
// budget. `files`: access lists are prepared or in force, so count the contents of their files.
void vr_budget_check(const struct model *m, bool files, struct errors *e);

unsigned vr_budget_captures(uint16_t vr); // running captures and traces
// Use of each budget by a virtual router; `r`: rib_manager's answer.
struct vr_limits vr_budget_used(uint16_t vr, const struct rib_stats *r);
// Writes the list `budget` of its state.
void vr_budget_write(struct jwrite *j, uint16_t vr, const struct rib_stats *r);
// Counts punted packets; called once a second.
void vr_budget_look(uint64_t now_ns);

#endif
