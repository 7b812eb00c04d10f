// SPDX-License-Identifier: BSD-3-Clause
// standard.h - state in the models of the IETF: ietf-interfaces (RFC 8343), ietf-ip (RFC 8344),
// ietf-routing (RFC 8349)
//
// Read-only, made of the same tables as kamuee:state. The modules themselves are not loaded: their
// lists are few, and all keyed by a name or an address. Control role.
#ifndef MGMT_STANDARD_H
#define MGMT_STANDARD_H

#include <jansson.h>
#include <stdbool.h>

#include "base/jwrite.h"
#include "base/vec.h"
#include "rib/rib_manager.h"

struct http;

bool standard_get(struct http *h, const char *path); // false: not one of its resources
json_t *standard_modules(void);                      // what the YANG library says of them: an array

struct standard_ip { // what rib_manager knows of interfaces
    VEC(struct address_row) address;
    VEC(struct neigh_row) neighbor;
};
json_t *standard_interfaces(const struct standard_ip *ip);
void standard_ip(json_t *const interface[],
                 const struct standard_ip *ip); // [IFACE_MAX] by id, NULL: there is none
void standard_route_write(struct jwrite *j,
                          const struct rib_row *r); // a row of ietf-routing's routes

#endif
