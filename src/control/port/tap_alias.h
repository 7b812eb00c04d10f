// SPDX-License-Identifier: BSD-3-Clause
// tap_alias.h - an interface's description as the TAP's alias (`ip link set X alias "…"`)
//
// Linux keeps it, so `ip link`, SNMP agents and FRR see the description of kamueed's configuration,
// and the other way round. iface_manager.c's helper; control role.
#ifndef PORT_TAP_ALIAS_H
#define PORT_TAP_ALIAS_H

#include "port/tap.h"

#define TAP_ALIAS 256 // with its terminator

int tap_alias_set(const struct tap *t, const char *alias);      // "": none. 0 or -errno
// Plain (base/plain.h). "": none, or the TAP is gone.
void tap_alias_get(const struct tap *t, char alias[TAP_ALIAS]);

#endif
