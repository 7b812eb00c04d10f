// SPDX-License-Identifier: BSD-3-Clause
// mem.h - large named allocations
//
// What forwarders dereference lives on huge pages: mem_map() tries
// explicit huge pages, then transparent ones (madvise), then plain pages. Each
// region has a name and shows up in `show memory`. Zero-filled, page-aligned,
// committed when touched. Control role or start-up; mem_walk from control.
#ifndef CORE_MEM_H
#define CORE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *mem_map(const char *name, size_t bytes); // NULL with errno
void mem_unmap(void *p, size_t bytes);

struct mem_region {
    char name[32];
    size_t bytes; // reserved
    size_t used;  // of them in memory, that is, touched; filled in by mem_walk
    const char *pages; // "huge", "transparent", "plain"
};
void mem_walk(void (*fn)(void *ctx, const struct mem_region *r), void *ctx);

#endif
