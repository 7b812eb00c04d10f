// SPDX-License-Identifier: BSD-3-Clause
// collector.h - shared by sFlow and IPFIX: collectors, sampled interfaces; control role
#ifndef FEATURE_COLLECTOR_H
#define FEATURE_COLLECTOR_H

#include <libyang/libyang.h>

#include "base/jwrite.h"
#include "export/export.h"
#include "restconf/column.h"

// Reads the list `collector` from the children of a top-level container. Returns the number, at
// most EXPORT_COLLECTORS.
unsigned collector_read(struct export_collector *c, const struct lyd_node *first,
                        const char *container);

// Writes state: interfaces whose packets are sampled (IFACE_SAMPLE_…).
void collector_write_interfaces(struct jwrite *j, uint8_t sample);
extern const struct column collector_columns[]; // of struct collector_state

#endif
