// SPDX-License-Identifier: BSD-3-Clause
// port.h - configured ports; control role
#ifndef FEATURE_PORT_H
#define FEATURE_PORT_H

#include "base/vec.h"
#include "config/change.h"
#include "port/port_manager.h"
#include "restconf/operation.h"

struct model_port {
    struct port_config config; // name comes first
    bool force;                // may take a kernel interface that carries the host's own connection
    unsigned n_members;        // of a LAG (lag.h)
    char member[LAG_MEMBER_MAX][16];
    unsigned member_line[LAG_MEMBER_MAX];
    const char *given; // of a LAG: leaf that only a port with a device may have, NULL = none
    unsigned line;
};

struct model_ports {
    VEC(struct model_port) port; // in natural order of names
};
struct model_ports *model_ports(const struct model *m);
struct model_port *model_find_port(const struct model *m, const char *name);

// Whether the port exists before and after a change and keeps its interface, with the addresses on
// its TAP.
bool port_stays(const struct change *c, const char *name);

extern const struct feature_operation port_operations[]; // port_operation.c

#endif
