// SPDX-License-Identifier: BSD-3-Clause
// flows.h - a flow as clients see it
#ifndef FEATURE_FLOWS_H
#define FEATURE_FLOWS_H

#include "base/jwrite.h"
#include "export/flow_sample.h"

// Writes the members of the grouping `flow` of kamuee.yang.
void flows_write(struct jwrite *j, const struct flow_total *t);

#endif
