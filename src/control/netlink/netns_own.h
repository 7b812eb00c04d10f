// SPDX-License-Identifier: BSD-3-Clause
// netns_own.h - network namespaces that kamueed creates, and finds again after a crash
//
// Each has a mark: a file of the same name in kamueed's run directory that identifies the
// namespace. The mark is created before the name and removed after it, so an interrupted kamueed
// finds what it began. A namespace with the same name and another identity is not ours and is left
// alone. Called by vr_manager; control role. An int is 0 or -errno with a message in `err`.
#ifndef NETLINK_NETNS_OWN_H
#define NETLINK_NETNS_OWN_H

#include <stdbool.h>
#include <stddef.h>

// Sets the directory of the marks, which is created on first use. NULL: namespaces cannot be
// created.
void netns_own_init(const char *directory);

// Creates the namespace /run/netns/NAME, with `lo` up, or finds it if kamueed created it earlier.
// -EEXIST: the name belongs to a foreign namespace.
int netns_own_make(const char *name, char *err, size_t err_size);
// Asks in advance whether netns_own_make() may succeed; true also if that is unknown.
bool netns_own_may_make(const char *name);
bool netns_own_is_marked(const char *name);
void netns_own_forget(const char *name); // drops the mark: the namespace stays and is foreign from
                                         // now on
// Binds the name again to namespace `fd` after somebody removed it.
int netns_own_restore(const char *name, int fd);
// Returns 0 once the namespace has the new name and no longer the old one.
int netns_own_rename(const char *from, const char *to, char *err, size_t err_size);
// Removes the name and mark of every namespace for which `keep` is false. A namespace with a
// foreign device that is up keeps its name and becomes foreign.
void netns_own_sweep(bool (*keep)(void *ctx, const char *name), void *ctx);

// netns_name.c: names of network namespaces under /run/netns, as `ip netns` gives them. A name is
// a file to which the namespace is bound. Opening the file opens the namespace, which exists while
// it has a name, a process or a descriptor. An int is 0 or -errno.

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
