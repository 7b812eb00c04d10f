// SPDX-License-Identifier: BSD-3-Clause
// netlink_reader.h - which other programs read the kernel's route announcements
//
// Finds the sockets of a namespace that subscribe to route announcements, in /proc/net/netlink:
// usually a routing daemon's. A program that ends takes its socket along; a program that hangs
// leaves the kernel's messages unread. Any manager.
#ifndef NETLINK_NETLINK_READER_H
#define NETLINK_NETLINK_READER_H

#include <stdbool.h>
#include <stdint.h>

struct netlink_reader {
    uint32_t port;          // netlink port ID of the socket
    uint64_t inode;         // distinguishes it from a later socket with the same port ID
    uint64_t waiting_bytes; // unread
};

// Lists the sockets of the namespace (netns.h; NETNS_OWN: our own) except our socket `own`, at most
// max. Returns their number or -errno.
int netlink_readers(int netns_fd, uint32_t own, struct netlink_reader *r, unsigned max);
// Parses a line of /proc/net/netlink. Returns false if the socket does not read route
// announcements.
bool netlink_reader_parse(const char *line, struct netlink_reader *r);

#endif
