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

#endif
