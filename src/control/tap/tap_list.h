// SPDX-License-Identifier: BSD-3-Clause
// tap_list.h - a file that lists the TAPs for the next process
//
// One line per TAP: "namespace name ifindex", "-" for kamueed's own namespace. It lets the next
// kamueed delete TAPs of interfaces that left the configuration while no kamueed ran. Used by
// iface_tap.c; control role.
#ifndef TAP_TAP_LIST_H
#define TAP_TAP_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct tap_list_entry {
    char netns[64]; // "" = own
    char name[16];
    int ifindex; // finds a renamed TAP; 0 = unknown
};

// Reads the entries of the file into a new array (free() it); 0 without a file. Skips malformed
// lines.
size_t tap_list_read(const char *path, struct tap_list_entry **entry);
// Replaces the whole file. Returns 0 or -errno.
int tap_list_write(const char *path, const struct tap_list_entry *entry, size_t n);

#endif
