// SPDX-License-Identifier: BSD-3-Clause
// kernel_link_found.h - how kernel interfaces were found, over a crash
//
// A port changes settings of its kernel interface and gives them back when it goes
// (kernel_link.h). After a crash the next kamueed finds its own settings there: so what was found
// first stands in a file, by namespace (its cookie) and index, until it is given back. The file is
// of one boot of the machine. Control role.
#ifndef PORT_KERNEL_LINK_FOUND_H
#define PORT_KERNEL_LINK_FOUND_H

#include <stdint.h>

struct kernel_link;

void kernel_link_found_init(const char *path); // reads the file; before the first port
// If a former kamueed had it: what that one found. Notes it for the next kamueed.
void kernel_link_found_take(struct kernel_link *n, uint64_t netns);
void kernel_link_found_release(const struct kernel_link *n, uint64_t netns);
void kernel_link_found_fini(void);

#endif
