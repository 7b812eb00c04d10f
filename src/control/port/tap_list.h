// SPDX-License-Identifier: BSD-3-Clause
// tap_list.h - which TAPs there are, remembered in a file over the end of the process
//
// One line for each: "namespace name ifindex", "-" for kamueed's own namespace. Without
// it nobody would ever delete the TAP of an interface that was taken out of
// the configuration while kamueed did not run. Control role; iface_manager's helper.
#ifndef PORT_TAP_LIST_H
#define PORT_TAP_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct tap_list_entry {
    char netns[64]; // "" = own
    char name[16];
    int ifindex; // 0 = not known: by it one that was renamed is found
};

// Entries of the file into a new array (free() it); 0 when there is no file. Lines that make no
// sense are skipped.
size_t tap_list_read(const char *path, struct tap_list_entry **entry);
int tap_list_write(const char *path, const struct tap_list_entry *entry,
                   size_t n); // whole or not at all; 0 or -errno

#endif
