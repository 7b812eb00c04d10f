// SPDX-License-Identifier: BSD-3-Clause
// netns.h - runs code in another network namespace
//
//     fd = netns_open("blue");           // "" = our own
//     back = netns_enter(fd); ...; netns_leave(back);
//
// The current namespace is a property of a thread: entering moves only the calling thread. Any
// manager.
#ifndef NETLINK_NETNS_H
#define NETLINK_NETNS_H

#include <stddef.h>
#include <stdint.h>

struct ifreq;

#define NETNS_OWN -1

// Opens /run/netns/NAME; *fd is NETNS_OWN for "". The caller closes *fd with netns_close(). Returns
// 0, or -errno with a message in `err`.
int netns_open(const char *name, int *fd, char *err, size_t err_size);
void netns_close(int fd);
// Returns a handle for netns_leave(), or -errno. Entering NETNS_OWN does nothing and cannot fail.
int netns_enter(int fd);
void netns_leave(int back);

// Creates a namespace without a name. Returns its descriptor or -errno. Only the calling thread
// enters it, for a moment.
int netns_new(void);
// A number of the socket's namespace that no other one has during this boot; 0: it is unknown.
uint64_t netns_cookie(int sock);
#define NETNS_BOOT_ID 40
void netns_boot_id(char id[NETNS_BOOT_ID]); // of this boot; "" if it cannot be read
// Returns a namespace that no other process uses, created by the first call and gone with the
// process; or -errno. Control role.
int netns_private(void);
// Moves a device of the current namespace to another one; its index may change. Returns 0 or
// -errno.
int netns_move_link(int ifindex, int to);

// A device by its name, in the namespace of socket `sock`. Return 0 or -errno; link_flags: IFF_*.
struct ifreq link_request(const char *name);
int link_flags(int sock, const char *name);
int link_change_flags(int sock, const char *name, int on, int off);
int link_ethtool(int sock, const char *name, void *command);

// Returns the value of a sysctl below /proc/sys/net of the current namespace, -1 if absent. A "%s"
// in the path stands for the device.
int netns_sysctl_get(const char *path, const char *device);
// Returns 0 or -errno; -ENOENT (absent) is no error.
int netns_sysctl_set(const char *path, const char *device, int value);

#endif
