// SPDX-License-Identifier: BSD-3-Clause
// bgp_session.h - which BGP sessions a namespace has
//
// A session is an established TCP connection with port 179 at either end, whichever daemon owns it.
// Any manager.
#ifndef NETLINK_BGP_SESSION_H
#define NETLINK_BGP_SESSION_H

#include <stdbool.h>

#include "base/ip.h"

// Writes the addresses of the peers in the namespace (netns.h; NETNS_OWN: our own), at most max.
// Returns their number or -errno.
int bgp_sessions(int netns_fd, struct ip_addr *peer, unsigned max);
// Parses a line of /proc/net/tcp or tcp6. Returns false if it is not a BGP session.
bool bgp_session_parse(const char *line, struct ip_addr *peer);

#endif
