// SPDX-License-Identifier: BSD-3-Clause
// kernel_link_found.h - the original settings of kernel interfaces, kept over a crash
//
// A port changes settings of its kernel interface and restores them when it goes (kernel_link.h).
// After a crash, the next kamueed would take these changes for the original settings. So a file
// keeps the original ones, by namespace (its cookie) and index, until they are restored. It is
// valid for one boot. Control role.
#ifndef DEVICE_KERNEL_LINK_FOUND_H
#define DEVICE_KERNEL_LINK_FOUND_H

#include <stdint.h>

struct kernel_link;

void kernel_link_found_init(const char *path); // reads the file; before the first port
// If a former kamueed had the interface, adopts the original settings from the file. Records the
// interface for the next kamueed.
void kernel_link_found_take(struct kernel_link *n, uint64_t netns);
void kernel_link_found_release(const struct kernel_link *n, uint64_t netns);
void kernel_link_found_fini(void);

#endif
