// SPDX-License-Identifier: BSD-3-Clause
// tap_keep.h - TAPs that outlive the process with their carrier
//
// A TAP loses its carrier with its last descriptor; Linux then deletes next-hop objects and their
// routes. So a keeper outside the process (main/keep.h) holds a copy of each. After a crash or
// restart main offers the copies, tap_open claims that of its TAP, and TAPs that the configuration
// no longer has are deleted. The kernel tells name and namespace of a descriptor's TAP, or that it
// is gone. Control role.
#ifndef PORT_TAP_KEEP_H
#define PORT_TAP_KEEP_H

#include <stdbool.h>

void tap_keep_by(void (*put)(int fd)); // who keeps copies from now on; NULL: nobody
void tap_keep_offer(int fd);           // of the former kamueed; it is ours from now on
// Gives an offered TAP, found by its index, its name back. False: none is offered.
bool tap_keep_restore_name(const char *name, int netns, int ifindex);
int tap_keep_claim(const char *name); // descriptor of the TAP in the current namespace, -1: none
void tap_keep_put(int fd);            // of a new TAP
void tap_keep_delete_rest(void);      // the TAPs that nobody has claimed
void tap_keep_fini(void);             // closes what is left

#endif
