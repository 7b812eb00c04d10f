// SPDX-License-Identifier: BSD-3-Clause
// tap_link_local.h - when and how a new TAP gets its IPv6 link-local address
//
// For each interface that comes up, Linux scans all IPv6 routes of the namespace, and a link-local
// address adds three of them. So thousands of TAPs are all brought up before the first gets an
// address. When duplicate address detection finds no duplicate, Linux walks the whole tree of
// routes once more for the address. On a TAP without neighbor resolution no other host can have the
// address, so we add it ourselves without detection. Resetting `addr_gen_mode` takes Linux long,
// too: tap_link_local_finish does it when there is time.
//
// Used by tap.c and iface_tap.c; control role, in the TAP's namespace.
#ifndef TAP_TAP_LINK_LOCAL_H
#define TAP_TAP_LINK_LOCAL_H

#include "tap/tap.h"

// Call before it is up: suppresses the address. Returns the mode to set later, -1 = no IPv6.
int tap_link_local_hold(const struct tap *t);
// Gives it the address; if t->unfinished is set afterwards, tap_link_local_finish must follow.
void tap_link_local_start(struct tap *t, int mode);
void tap_link_local_finish(const struct tap *t);

#endif
