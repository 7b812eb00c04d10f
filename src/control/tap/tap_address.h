// SPDX-License-Identifier: BSD-3-Clause
// tap_address.h - copies the addresses of a TAP to its successor in another namespace
//
// An interface that moves gets a new TAP in the other namespace. Used by iface_manager.c; control
// role.
#ifndef TAP_TAP_ADDRESS_H
#define TAP_TAP_ADDRESS_H

#include "tap/tap.h"

// Copies permanent addresses with peer, broadcast, scope, label, metric and flags, but neither
// addresses with a lifetime (router advertisements, DHCP) nor link-local addresses that the kernel
// generated. Returns their number; *left counts addresses with a lifetime and refused ones, which
// are logged.
unsigned tap_addresses_copy(const struct tap *from, const struct tap *to, unsigned *left);

#endif
