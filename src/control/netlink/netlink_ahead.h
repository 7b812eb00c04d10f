// SPDX-License-Identifier: BSD-3-Clause
// netlink_ahead.h - reads the next datagrams of a large dump while the last ones are processed
//
// The kernel builds the rows of a dump inside the call that reads them, which takes as long as
// processing them. So once a full batch shows that the dump is large, a thread makes that call. At
// most one read is in progress, and only that thread reads the socket meanwhile, so datagrams keep
// their order. The thread accesses only the socket and its own buffers. Called by netlink.c;
// rib_manager.
#ifndef NETLINK_NETLINK_AHEAD_H
#define NETLINK_NETLINK_AHEAD_H

#include <stdbool.h>
#include <sys/socket.h>
#include <linux/netlink.h>

#include "netlink/netlink.h"

struct netlink_batch { // datagrams of one call
    int got;           // number of datagrams, 0 = none; or -errno
    unsigned room;     // datagrams that buf can hold
    char *buf;         // allocated on first use
    struct mmsghdr m[NETLINK_BATCH];
    struct iovec io[NETLINK_BATCH];
    struct sockaddr_nl from[NETLINK_BATCH];
};

// Reads up to `max` datagrams (at most `room`) without waiting.
void netlink_batch_read(struct netlink_batch *b, int fd, unsigned max);

struct netlink_ahead;

// Starts reading the next batch, up to `max` datagrams, on the thread. The first call allocates *a;
// *a stays NULL on failure or if too many sockets already read ahead.
void netlink_ahead_begin(struct netlink_ahead **a, int fd, unsigned max);
bool netlink_ahead_is_done(const struct netlink_ahead *a); // netlink_ahead_take() will not wait
// Returns the batch that was read; valid until the second netlink_ahead_begin() from now.
struct netlink_batch *netlink_ahead_take(struct netlink_ahead *a);
void netlink_ahead_end(struct netlink_ahead **a); // unread batches are lost

#endif
