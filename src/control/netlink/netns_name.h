// SPDX-License-Identifier: BSD-3-Clause
// netns_name.h - names of network namespaces under /run/netns, as `ip netns` gives them
//
// A name is a file to which the namespace is bound. Opening the file opens the namespace, which
// exists while it has a name, a process or a descriptor. Control role; an int is 0 or -errno.
#ifndef NETLINK_NETNS_NAME_H
#define NETLINK_NETNS_NAME_H

#include <stdbool.h>

// Sets the socket of kamuee-netns, which binds the names if kamueed has a mount namespace of its
// own (systemd's unit), where other processes would not see its mounts. NULL: kamueed binds them.
// Call it before all others.
void netns_name_by(const char *socket);
// True for a name like "blue" that cannot be mistaken for a path.
bool netns_name_is_one(const char *name);

// Returns -EEXIST if the name exists, even if nothing is bound to it.
int netns_name_add(const char *name, int fd);
int netns_name_remove(const char *name);
// True if nothing is bound to the name: its creator ended halfway.
bool netns_name_is_empty(const char *name);

#endif
