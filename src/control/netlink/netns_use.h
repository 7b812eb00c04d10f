// SPDX-License-Identifier: BSD-3-Clause
// netns_use.h - what Linux and its programs have in a network namespace
//
// netns_fd: as in netns.h; NETNS_OWN: our own.
#ifndef NETLINK_NETNS_USE_H
#define NETLINK_NETNS_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"

// --- control role ---
// Has Linux a VRF device for the table? Returns true also if it cannot find out. Without a VRF
// device, Linux creates no interface routes in the table. A commit warns of that at once;
// rib_unfollowed.c reports it later.
bool netlink_has_vrf(int netns_fd, uint32_t table);

// Returns true if there are IPsec policies for packets, not only for single sockets
// (`ip xfrm policy`); also if the kernel does not answer. *forwarded: there are known to be
// policies for forwarded packets. Forwarders ignore IPsec policies, so Linux's tunnels whose
// packets a policy may encrypt are left to Linux, and policies for forwarded packets raise an
// alarm.
bool netlink_has_ipsec(int netns_fd, bool *forwarded);

// --- any manager ---
// A BGP session is an established TCP connection with port 179 at either end, whichever daemon owns
// it. Writes the addresses of the peers, at most max. Returns their number or -errno.
int bgp_sessions(int netns_fd, struct ip_addr *peer, unsigned max);
// Parses a line of /proc/net/tcp or tcp6. Returns false if it is not a BGP session.
bool bgp_session_parse(const char *line, struct ip_addr *peer);

// Parses an address of these files; a mapped IPv4 address is one of IPv4.
bool netns_parse_address(const char *hex, struct ip_addr *a);

// A socket that subscribes to route announcements: usually a routing daemon's. A program that ends
// takes its socket along; a program that hangs leaves the kernel's messages unread.
struct netlink_reader {
    uint32_t port;          // netlink port ID of the socket
    uint64_t inode;         // distinguishes it from a later socket with the same port ID
    uint64_t waiting_bytes; // unread
};

// Lists these sockets except our socket `own`, at most max. Returns their number or -errno.
int netlink_readers(int netns_fd, uint32_t own, struct netlink_reader *r, unsigned max);
// Parses a line of /proc/net/netlink. Returns false if the socket does not read route
// announcements.
bool netlink_reader_parse(const char *line, struct netlink_reader *r);

#endif
