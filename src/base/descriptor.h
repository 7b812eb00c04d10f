// SPDX-License-Identifier: BSD-3-Clause
// descriptor.h - messages that carry a descriptor over a UNIX socket (SCM_RIGHTS)
//
// For one SOCK_SEQPACKET message and at most one descriptor: kamuee-keeper, kamuee-netns, upgrades,
// and the process that starts programs. Both wait as the socket does, and go on after a signal. For
// a step of several messages, descriptor_until() before each of them bounds the whole.
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// fd: -1 = none. It stays the caller's. False: errno says why.
bool descriptor_send(int s, const void *bytes, size_t n, int fd);
// Bytes received; 0 at the end, -1 with errno. *fd is the caller's and closes on exec; -1: none,
// or more than one, which are closed.
ssize_t descriptor_receive(int s, void *bytes, size_t room, int *fd);

// The socket waits (also in connect()) at most until this time of clock_now_ns(). False: it is
// over; errno is ETIMEDOUT.
bool descriptor_until(int s, uint64_t until_ns);

#endif
