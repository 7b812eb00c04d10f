// SPDX-License-Identifier: BSD-3-Clause
// port.h - operations on ports; control role
#ifndef FEATURE_PORT_H
#define FEATURE_PORT_H

#include "restconf/column.h"
#include "restconf/operation.h"

extern const struct column port_size_columns[]; // of struct port_config
extern const struct feature_operation port_operations[]; // port_operation.c

#endif
