// SPDX-License-Identifier: BSD-3-Clause
// ipsec.h - does Linux have IPsec policies?
//
// Forwarding knows of none, so what they may encrypt is left to Linux. Control.
#ifndef NETLINK_IPSEC_H
#define NETLINK_IPSEC_H

#include <stdbool.h>

// In the namespace (netns.h; NETNS_OWN: our own), of packets and not of sockets alone (`ip xfrm
// policy`). True also when it cannot be found out.
bool netlink_has_ipsec(int netns_fd);

#endif
