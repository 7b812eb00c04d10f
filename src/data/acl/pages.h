// SPDX-License-Identifier: BSD-3-Clause
// pages.h - zeroed memory aligned to huge pages, for data that readers of lists, sets and caches
// use
#ifndef ACL_PAGES_H
#define ACL_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#define PAGES_HUGE ((size_t)2 << 20) // areas of this size and more profit from huge pages

// Committed as it is touched. huge: transparent huge pages, if the kernel has them. NULL: no
// address space.
void *pages_map(size_t bytes, bool huge);
void pages_unmap(void *p, size_t bytes); // as mapped; NULL is fine

#endif
