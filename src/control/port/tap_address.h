// SPDX-License-Identifier: BSD-3-Clause
// tap_address.h - the addresses of a TAP go with it to another namespace
//
// A TAP cannot be two places' at once, so an interface that moves gets another one, and the kernel
// knows nothing of the first one's addresses there. Control role.
#ifndef PORT_TAP_ADDRESS_H
#define PORT_TAP_ADDRESS_H

#include "port/tap.h"

// Gives `to` the addresses of `from`: all that are permanent, with peer, broadcast, scope, label,
// metric and flags. What has a lifetime stays behind (router advertisements, DHCP), and so do
// link-local addresses that the kernel has made. The number of addresses; *left: those that stay
// behind or were refused, which are logged.
unsigned tap_addresses_copy(const struct tap *from, const struct tap *to, unsigned *left);

#endif
