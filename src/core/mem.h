// SPDX-License-Identifier: BSD-3-Clause
// mem.h - large named allocations
//
// What forwarders dereference lies on huge pages: mem_map() tries explicit ones, then transparent
// ones (madvise), then plain pages. Each region has a name and is listed by `show memory`.
// Zero-filled, page-aligned, committed when touched. Control role or start-up; mem_walk from
// control.
//
// A core reads the memory of its own node (NUMA) fastest, so what every forwarder reads for each
// packet has a copy on each node, 0 .. mem_nodes() - 1.
#ifndef CORE_MEM_H
#define CORE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *mem_map(const char *name, size_t bytes); // NULL with errno
// On small pages: of a region of which little will be used.
void *mem_map_small(const char *name, size_t bytes);
// There, if that node has room; where there are several its name ends with ", node N".
void *mem_map_node(const char *name, size_t bytes, unsigned node);
void mem_unmap(void *p, size_t bytes);

#define MEM_NODES_MAX 8
unsigned mem_nodes(void);         // of this machine, 1 .. MEM_NODES_MAX
void mem_nodes_set(
    unsigned n); // for tests: as if it had so many, core c on node c % n; before anything is mapped
unsigned mem_node_of_thread(void); // of the core that the calling thread runs on
int mem_node_of_core(int core);    // -1: not known

struct mem_region {
    char name[32];
    size_t bytes; // reserved
    size_t used;  // of them in memory: written to, or read; filled in by mem_walk
    const char *pages; // "huge", "transparent", "plain"
};
void mem_walk(void (*fn)(void *ctx, const struct mem_region *r), void *ctx);

#endif
