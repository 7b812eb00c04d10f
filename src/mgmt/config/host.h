// SPDX-License-Identifier: BSD-3-Clause
// host.h - resources of this host, to check the names in a configuration; control role
#ifndef CONFIG_HOST_H
#define CONFIG_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"

// Root of /sys, /proc and /run: "" on a host; NULL: none, and no check is made.
void host_set_root(const char *root);
bool host_is_known(void);

bool host_has(const char *format, const char *name);               // the file exists
const char *host_line(const char *path, char *buf, size_t n);      // first line; "": no such file
unsigned long host_memory_mib(const char *what);                   // of /proc/meminfo; 0: unknown
void host_each_entry(const char *dir, void (*fn)(void *ctx, const char *name, const char *help),
                     void *ctx); // of a directory of this host, regardless of the root

// Checks that the namespace for `kind` `name` exists; "" always does.
void host_check_netns(const char *kind, const char *name, const char *netns, unsigned line,
                      struct errors *e);

#endif
