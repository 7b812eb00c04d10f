// SPDX-License-Identifier: BSD-3-Clause
// netlink_reader.h - which other programs read the kernel's route announcements
//
// Sockets of a namespace that subscribe to route announcements, from /proc/net/netlink: usually a
// routing daemon's. When the program ends, its socket is gone; when it hangs, the kernel's messages
// stay unread. Any manager.
#ifndef NETLINK_NETLINK_READER_H
#define NETLINK_NETLINK_READER_H

#include <stdbool.h>
#include <stdint.h>

struct netlink_reader {
    uint32_t port;          // as the kernel names the socket
    uint64_t inode;         // tells it from later ones of that port
    uint64_t waiting_bytes; // not read yet
};

// Those of the namespace (netns.h; NETNS_OWN: our own) but for our socket `own`. How many, at most
// max; or -errno.
int netlink_readers(int netns_fd, uint32_t own, struct netlink_reader *r, unsigned max);
// A line of /proc/net/netlink. False: it is no such socket.
bool netlink_reader_parse(const char *line, struct netlink_reader *r);

#endif
