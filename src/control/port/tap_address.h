// SPDX-License-Identifier: BSD-3-Clause
// tap_address.h - copies the addresses of a TAP to its successor in another namespace
//
// An interface that moves gets a new TAP there. iface_manager.c's helper; control role.
#ifndef PORT_TAP_ADDRESS_H
#define PORT_TAP_ADDRESS_H

#include "port/tap.h"

// Copies permanent addresses with peer, broadcast, scope, label, metric and flags; not those with a
// lifetime (router advertisements, DHCP) and not the kernel's own link-local ones. Returns their
// number; *left: those with a lifetime or refused, which are logged.
unsigned tap_addresses_copy(const struct tap *from, const struct tap *to, unsigned *left);

#endif
