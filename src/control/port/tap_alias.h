// SPDX-License-Identifier: BSD-3-Clause
// tap_alias.h - what an operator calls an interface: the TAP's alias (`ip link set X alias "…"`)
//
// Linux keeps it, so `ip link`, SNMP agents and FRR see what kamueed's configuration calls an
// interface, and the other way round. Control role; iface_manager's helper.
#ifndef PORT_TAP_ALIAS_H
#define PORT_TAP_ALIAS_H

#include "port/tap.h"

#define TAP_ALIAS 256 // with its end

int tap_alias_set(const struct tap *t, const char *alias);      // "": none. 0 or -errno
void tap_alias_get(const struct tap *t,
                   char alias[TAP_ALIAS]); // "": there is none, or the TAP is gone

#endif
