// SPDX-License-Identifier: BSD-3-Clause
// tap_link_local.h - the IPv6 link-local address of a new TAP: when it gets it, and from whom
//
// For each interface that comes up Linux looks at all IPv6 routes of the namespace, and three of
// them come with a link-local address. So thousands of TAPs are all up before the first one has an
// address. And for each address that may be a duplicate Linux goes through the whole tree of routes
// once more when it is none: where neighbors are not resolved, nobody else can have it, and it is
// given by us, as one that need not be checked. To set `addr_gen_mode` back takes Linux long, too:
// tap_link_local_finish does it when there is time.
//
// tap.c's and iface_tap.c's helper; control role, in the TAP's namespace.
#ifndef PORT_TAP_LINK_LOCAL_H
#define PORT_TAP_LINK_LOCAL_H

#include "port/tap.h"

// Before it is up: it gets none yet. The mode that it is to have, -1 = there is no IPv6.
int tap_link_local_hold(const struct tap *t);
// Now it gets it; with t->unfinished, tap_link_local_finish is to follow.
void tap_link_local_start(struct tap *t, int mode);
void tap_link_local_finish(const struct tap *t);

#endif
