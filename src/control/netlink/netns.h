// SPDX-License-Identifier: BSD-3-Clause
// netns.h - doing something in another network namespace
//
//     fd = netns_open("blue");           // "" = our own
//     back = netns_enter(fd); ...; netns_leave(back);
//
// A namespace belongs to a thread: entering moves the calling thread only. Any manager.
#ifndef NETLINK_NETNS_H
#define NETLINK_NETNS_H

#include <stddef.h>

#define NETNS_OWN -1

// Of /run/netns/NAME; NETNS_OWN for "". *fd is the caller's to close (netns_close). 0 or -errno
// with a sentence.
int netns_open(const char *name, int *fd, char *err, size_t err_size);
void netns_close(int fd);
// The way back, or -errno. Entering NETNS_OWN does nothing and cannot fail.
int netns_enter(int fd);
void netns_leave(int back);

// One that nobody else has, made at the first call, gone with the process; or -errno. Control.
int netns_private(void);
// A device of the current namespace goes to another one, where its index may be a new one. 0 or
// -errno.
int netns_move_link(int ifindex, int to);

// Value of a sysctl below /proc/sys/net of the current namespace; -1 when absent.
int netns_sysctl_get(const char *path);
// 0 or -errno; an absent one is no error (-ENOENT).
int netns_sysctl_set(const char *path, int value);

#endif
