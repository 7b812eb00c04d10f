// SPDX-License-Identifier: BSD-3-Clause
// ipsec.h - does Linux have IPsec policies?
//
// Forwarders ignore IPsec policies, so Linux's tunnels whose packets a policy may encrypt are left
// to Linux, and policies for forwarded packets raise an alarm. Control role.
#ifndef NETLINK_IPSEC_H
#define NETLINK_IPSEC_H

#include <stdbool.h>

// Returns true if the namespace (netns.h; NETNS_OWN: our own) has policies for packets, not only
// for single sockets (`ip xfrm policy`); also if the kernel does not answer. *forwarded: it is
// known to have policies for forwarded packets.
bool netlink_has_ipsec(int netns_fd, bool *forwarded);

#endif
