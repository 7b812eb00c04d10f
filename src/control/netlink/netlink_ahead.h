// SPDX-License-Identifier: BSD-3-Clause
// netlink_ahead.h - reads the next datagrams of a large dump while the last ones are processed
//
// The kernel makes the rows of a dump within the call that reads them, which takes as long as
// processing them. So a thread makes that call once a full batch shows that the dump is large. At
// most one read is in progress, and only it reads the socket, so datagrams keep their order. The
// thread touches the socket and its own buffers only.
// Called by netlink.c; rib_manager.
#ifndef NETLINK_NETLINK_AHEAD_H
#define NETLINK_NETLINK_AHEAD_H

#include <stdbool.h>
#include <sys/socket.h>
#include <linux/netlink.h>

#include "netlink/netlink.h"

struct netlink_batch { // datagrams that one call has read
    int got;           // so many; 0: there were none; -errno
    unsigned room;     // for so many
    char *buf;         // made when first used
    struct mmsghdr m[NETLINK_BATCH];
    struct iovec io[NETLINK_BATCH];
    struct sockaddr_nl from[NETLINK_BATCH];
};

// Reads at most `max` datagrams, at most `room`, without waiting.
void netlink_batch_read(struct netlink_batch *b, int fd, unsigned max);

struct netlink_ahead;

// Reads the next batch of at most `max` aside. The first call makes *a; it stays NULL when that
// cannot be, or when many sockets do it already.
void netlink_ahead_begin(struct netlink_ahead **a, int fd, unsigned max);
bool netlink_ahead_is_done(const struct netlink_ahead *a); // netlink_ahead_take() will not wait
// What has been read, good until the next but one netlink_ahead_begin().
struct netlink_batch *netlink_ahead_take(struct netlink_ahead *a);
void netlink_ahead_end(struct netlink_ahead **a); // what has not been taken is lost

#endif
