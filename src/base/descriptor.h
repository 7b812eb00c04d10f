// SPDX-License-Identifier: BSD-3-Clause
// descriptor.h - messages that pass a file descriptor over a UNIX socket (SCM_RIGHTS)
//
// One SOCK_SEQPACKET message with at most one descriptor. Used by kamuee-keeper, kamuee-netns,
// upgrades and the process that starts programs. Both functions block if the socket does, and
// continue after a signal. To limit an exchange of several messages, call descriptor_until() before
// each.
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// fd: -1 = none; stays open for the caller. False: see errno.
bool descriptor_send(int s, const void *bytes, size_t n, int fd);
// Returns bytes received, 0 at the end, or -1 with errno. The caller owns *fd, which is
// close-on-exec; -1: none, or more than one, which are closed.
ssize_t descriptor_receive(int s, void *bytes, size_t room, int *fd);

// Socket operations, including connect(), time out at this time of clock_now_ns(). False with
// ETIMEDOUT: that time has passed.
bool descriptor_until(int s, uint64_t until_ns);

#endif
