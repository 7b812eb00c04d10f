// SPDX-License-Identifier: BSD-3-Clause
// netns_own.h - network namespaces that kamueed makes itself, and finds again after a crash
//
// Each has a mark: a file of its name in kamueed's run directory that identifies the namespace. The
// mark is made before the name and removed after it, so an interrupted kamueed finds what it began.
// A namespace of the same name made by somebody else has another identity and is left alone.
// vr_manager's; control role. An int is 0 or -errno with a sentence in `err`.
#ifndef NETLINK_NETNS_OWN_H
#define NETLINK_NETNS_OWN_H

#include <stdbool.h>
#include <stddef.h>

// Where the marks are; made when first needed. NULL: nothing can be made.
void netns_own_init(const char *directory);

// Makes the namespace /run/netns/NAME, with `lo` up, or finds the one that it made earlier.
// -EEXIST: there is one of another's.
int netns_own_make(const char *name, char *err, size_t err_size);
// The same question before: may it be made? True also when that cannot be known.
bool netns_own_may_make(const char *name);
bool netns_own_is_marked(const char *name);
void netns_own_forget(const char *name); // it stays, and is another's
// Its name was removed, but `fd` is it: it gets its name again.
int netns_own_restore(const char *name, int fd);
// 0: it has the other name, and not the old one.
int netns_own_rename(const char *from, const char *to, char *err, size_t err_size);
// Removes the name and mark of each one that need not be kept. One in which others have a device
// that is up keeps its name, and is theirs from now on.
void netns_own_sweep(bool (*keep)(void *ctx, const char *name), void *ctx);

#endif
