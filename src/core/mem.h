// SPDX-License-Identifier: BSD-3-Clause
// mem.h - large named allocations
//
// Memory that forwarders access lies on huge pages: mem_map() tries explicit ones, then transparent
// ones (madvise), then plain pages. Each region has a name and is listed by `show memory`. Regions
// are zero-filled and page-aligned, and use memory once touched. Control role or start-up;
// mem_walk: control.
//
// A core reads the memory of its own NUMA node fastest, so data that every forwarder reads for each
// packet has a copy on each node, 0 .. mem_nodes() - 1.
#ifndef CORE_MEM_H
#define CORE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *mem_map(const char *name, size_t bytes); // NULL with errno
// On small pages: for a sparsely used region.
void *mem_map_small(const char *name, size_t bytes);
// On this node if it has room. With several nodes the name gets ", node N" appended.
void *mem_map_node(const char *name, size_t bytes, unsigned node);
void mem_unmap(void *p, size_t bytes);

#define MEM_NODES_MAX 8
unsigned mem_nodes(void);         // of this machine, 1 .. MEM_NODES_MAX
void mem_nodes_set(
    unsigned n); // for tests: pretends n nodes, core c on node c % n; call before mapping anything
unsigned mem_node_of_thread(void); // node of the core that the calling thread runs on
int mem_node_of_core(int core);    // -1: unknown

struct mem_region {
    char name[32];
    size_t bytes; // reserved
    size_t used;  // bytes in memory: written or read; filled in by mem_walk
    const char *pages; // "huge", "transparent", "plain"
};
void mem_walk(void (*fn)(void *ctx, const struct mem_region *r), void *ctx);

#endif
