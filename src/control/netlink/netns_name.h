// SPDX-License-Identifier: BSD-3-Clause
// netns_name.h - names of network namespaces under /run/netns, as `ip netns` gives them
//
// A name is a file onto which the namespace is bound. Opening it opens the namespace, which exists
// while it has a name, a process or a descriptor. Control; an int is 0 or -errno.
#ifndef NETLINK_NETNS_NAME_H
#define NETLINK_NETNS_NAME_H

#include <stdbool.h>

// Where mounts would not be seen by others, because we have a mount namespace of our own (systemd's
// unit), kamuee-netns does it: its socket. NULL: we do it. Before anything else.
void netns_name_by(const char *socket);
// "blue", and nothing that a path could be.
bool netns_name_is_one(const char *name);

// -EEXIST: there is one, also if nothing is bound to it.
int netns_name_add(const char *name, int fd);
int netns_name_remove(const char *name);
// Of a name to which nothing is bound: who added it ended half way.
bool netns_name_is_empty(const char *name);

#endif
