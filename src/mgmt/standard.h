// SPDX-License-Identifier: BSD-3-Clause
// standard.h - state in the models of the IETF: ietf-interfaces (RFC 8343), ietf-routing (RFC 8349)
//
// Read-only, made of the same tables as kamuee:state. The modules themselves are not loaded: their lists are few, and all
// keyed by a name. Control role.
#ifndef MGMT_STANDARD_H
#define MGMT_STANDARD_H

#include <jansson.h>
#include <stdbool.h>

#include "base/jwrite.h"
#include "rib/rib_manager.h"

struct http;

bool standard_get(struct http *h, const char *path); // false: not one of its resources
json_t *standard_modules(void);                      // what the YANG library says of them: an array

json_t *standard_interfaces(void);
void standard_route_write(struct jwrite *j, const struct rib_row *r); // a row of ietf-routing's routes

#endif
