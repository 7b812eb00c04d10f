// SPDX-License-Identifier: BSD-3-Clause
// port.h - operations on ports; control role
#ifndef FEATURE_PORT_H
#define FEATURE_PORT_H

#include "restconf/operation.h"

extern const struct feature_operation port_operations[]; // port_operation.c

#endif
