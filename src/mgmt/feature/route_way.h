// SPDX-License-Identifier: BSD-3-Clause
// route_way.h - rows of the journal of routes as JSON: where a route led, what changed; control
// role
#ifndef SHOW_ROUTE_WAY_H
#define SHOW_ROUTE_WAY_H

#include "base/jwrite.h"
#include "rib/journal.h"

// The leaves of the grouping `way`; `way` as in struct journal_row.
void route_way_write(struct jwrite *j, const struct journal_answer *a, uint32_t way,
                     uint8_t protocol);
void route_change_write(struct jwrite *j, const struct journal_answer *a,
                        const struct journal_row *r);

#endif
