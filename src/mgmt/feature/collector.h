// SPDX-License-Identifier: BSD-3-Clause
// collector.h - collectors that sFlow and IPFIX are sent to, by the configuration; control role
#ifndef FEATURE_COLLECTOR_H
#define FEATURE_COLLECTOR_H

#include <libyang/libyang.h>

#include "export/export.h"

// The list `collector` among the children of a container at the top: how many, at most
// EXPORT_COLLECTORS.
unsigned collector_read(struct export_collector *c, const struct lyd_node *first,
                        const char *container);
void collector_read_address(struct ip_addr *a, const char *text); // NULL: a stays

#endif
