// SPDX-License-Identifier: BSD-3-Clause
// pages.h - zeroed memory aligned to huge pages, for data that readers of lists, sets and caches
// use
#ifndef ACL_PAGES_H
#define ACL_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "acl/acl.h"

// Committed as it is touched. huge: transparent huge pages, if the kernel has them. NULL: no
// address space.
void *pages_map(size_t bytes, bool huge);
void pages_unmap(void *p, size_t bytes); // as mapped; NULL is fine

// For readers of a list: from the allocator in its configuration, else as above.
void *pages_map_for(const struct acl_config *cfg, size_t bytes);
void pages_unmap_for(const struct acl_config *cfg, void *p, size_t bytes);

#endif
