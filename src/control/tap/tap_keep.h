// SPDX-License-Identifier: BSD-3-Clause
// tap_keep.h - TAPs that survive the process with their carrier
//
// A TAP loses its carrier with its last descriptor; Linux then deletes next-hop objects and their
// routes. So a keeper outside the process (main/keep.h) holds a copy of each descriptor. After a
// crash or restart, main offers the copies, tap_open claims the copy for its TAP, and
// tap_delete_unclaimed takes those of TAPs that are no longer configured. The kernel tells the name
// and namespace of a descriptor's TAP, or that it is gone. Control role.
#ifndef TAP_TAP_KEEP_H
#define TAP_TAP_KEEP_H

#include <stdbool.h>

void tap_keep_by(void (*put)(int fd)); // hands copies to the keeper from now on; NULL: no keeper
void tap_keep_offer(int fd);           // a copy from the former kamueed; takes it over
// Restores the name of an offered TAP, found by its index. Returns false if it is not offered.
bool tap_keep_restore_name(const char *name, int netns, int ifindex);
int tap_keep_claim(const char *name); // descriptor of the TAP in the current namespace, -1: none
void tap_keep_put(int fd);            // keeps a new TAP
int tap_keep_take(char name[16]);     // descriptor of any TAP that remains unclaimed, -1: none
void tap_keep_fini(void);             // closes the remaining descriptors

#endif
