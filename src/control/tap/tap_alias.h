// SPDX-License-Identifier: BSD-3-Clause
// tap_alias.h - an interface's description as the TAP's alias (`ip link set X alias "…"`)
//
// Linux stores it, so `ip link`, SNMP agents and FRR see the description from kamueed's
// configuration, and kamueed sees an alias set in Linux. Used by iface_manager.c; control role.
#ifndef TAP_TAP_ALIAS_H
#define TAP_TAP_ALIAS_H

#include "tap/tap.h"

#define TAP_ALIAS 256 // with its terminator

int tap_alias_set(const struct tap *t, const char *alias);      // "": none. 0 or -errno
// The alias is plain text (base/plain.h); "" if there is none or the TAP is gone.
void tap_alias_get(const struct tap *t, char alias[TAP_ALIAS]);

#endif
