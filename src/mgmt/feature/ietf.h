// SPDX-License-Identifier: BSD-3-Clause
// ietf.h - state in IETF models: ietf-interfaces (RFC 8343), ietf-ip (RFC 8344), ietf-routing (RFC
// 8349)
//
// Read-only, built from the same tables as kamuee:state. The modules are not loaded: they have few
// lists, all keyed by a name or an address. Control role.
#ifndef FEATURE_IETF_H
#define FEATURE_IETF_H

#include <jansson.h>

#include "base/jwrite.h"
#include "base/vec.h"
#include "rib/rib_manager.h"

struct ietf_ip { // rib_manager's rows of interfaces
    VEC(struct address_row) address;
    VEC(struct neigh_row) neighbor;
};
json_t *ietf_interfaces(const struct ietf_ip *ip);
void ietf_ip_add(json_t *const interface[],
                 const struct ietf_ip *ip); // [IFACE_MAX] by id, NULL = no interface
void ietf_route_write(struct jwrite *j,
                      const struct rib_row *r); // a row in routes of ietf-routing

#endif
