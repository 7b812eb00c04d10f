// SPDX-License-Identifier: BSD-3-Clause
// bgp_session.h - which BGP sessions a namespace has
//
// A session is an established TCP connection with port 179 at one of its ends, whoever runs it. Any
// manager.
#ifndef NETLINK_BGP_SESSION_H
#define NETLINK_BGP_SESSION_H

#include <stdbool.h>

#include "base/ip.h"

// Addresses of the peers in the namespace (netns.h; NETNS_OWN: our own). How many, at most max; or
// -errno.
int bgp_sessions(int netns_fd, struct ip_addr *peer, unsigned max);
// A line of /proc/net/tcp or tcp6. False: it is no such connection.
bool bgp_session_parse(const char *line, struct ip_addr *peer);

#endif
