// SPDX-License-Identifier: BSD-3-Clause
// lag.h - configured LAGs: ports without a device, with members; control role
#ifndef FEATURE_LAG_H
#define FEATURE_LAG_H

#include <libyang/libyang.h>

#include "feature/model.h"

void lag_read(struct model_port *p, const struct lyd_node *entry); // entry of `port`

#endif
