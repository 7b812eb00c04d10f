// SPDX-License-Identifier: BSD-3-Clause
// mem.c - large named allocations
//
// Explicit huge pages are used for regions of moderate size only: the kernel reserves them at once
// for the whole region, and packet buffers need the machine's few huge pages too. Other regions are
// aligned to 2 MiB and use transparent huge pages, which are allocated when touched.
#include "core/mem.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vec.h"

#define HUGE_BYTES ((size_t)2 << 20)
#define EXPLICIT_HUGE_MAX ((size_t)16 << 20)

struct entry {
    struct mem_region region;
    void *p;
    size_t mapped;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static VEC(struct entry) entries;

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static void *map_pages(size_t bytes, int kind)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | kind, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

// Maps 2 MiB more than needed, aligns the region to 2 MiB, and unmaps both ends.
static void *map_aligned(size_t bytes)
{
    char *p = map_pages(bytes + HUGE_BYTES, MAP_NORESERVE);

    if (!p)
        return NULL;
    size_t head = (HUGE_BYTES - (size_t)p % HUGE_BYTES) % HUGE_BYTES;
    if (head)
        munmap(p, head);
    munmap(p + head + bytes, HUGE_BYTES - head);
    return p + head;
}

// --- memory nodes ---

static unsigned n_nodes; // 0 = not read yet
static bool pretended;   // set by a test

// "0", "0-3", "0,2": uses the last number, because nodes are numbered from 0 and holes are rare.
static unsigned nodes_online(void)
{
    char line[256] = "";
    FILE *f = fopen("/sys/devices/system/node/online", "re");

    if (!f)
        return 1; // a kernel without NUMA
    if (!fgets(line, sizeof line, f))
        line[0] = 0;
    fclose(f);
    const char *last = line + strcspn(line, "\n");
    while (last > line && last[-1] >= '0' && last[-1] <= '9')
        last--;
    return (unsigned)atoi(last) + 1;
}

static unsigned at_most(unsigned n)
{
    return n < MEM_NODES_MAX ? n : MEM_NODES_MAX;
}

unsigned mem_nodes(void)
{
    if (!n_nodes)
        n_nodes = at_most(nodes_online());
    return n_nodes;
}

void mem_nodes_set(unsigned n)
{
    n_nodes = at_most(n);
    pretended = true;
}

unsigned mem_node_of_thread(void)
{
    unsigned cpu, node;

    if (getcpu(&cpu, &node))
        return 0;
    if (pretended)
        return cpu % n_nodes;
    return node >= mem_nodes() ? 0 : node;
}

int mem_node_of_core(int core)
{
    char path[64];

    if (core >= 0 && pretended)
        return core % (int)n_nodes;
    for (unsigned node = 0; core >= 0 && node < mem_nodes(); node++) {
        snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpu%d", node, core);
        if (!access(path, F_OK))
            return (int)node;
    }
    return -1;
}

void *mem_map_node(const char *name, size_t bytes, unsigned node)
{
    unsigned long mask = 1ul << node;
    char of_node[32];

    if (mem_nodes() > 1)
        snprintf(of_node, sizeof of_node, "%.20s, node %u", name, node);
    void *p = mem_map(mem_nodes() > 1 ? of_node : name, bytes);
    // The node is a preference: if it is full or has no memory, the kernel uses another one.
    if (p && mem_nodes() > 1 && !pretended)
        syscall(SYS_mbind, p, bytes, MPOL_PREFERRED, &mask, sizeof mask * 8, 0);
    return p;
}

static void *map_named(const char *name, size_t bytes, bool huge)
{
    struct entry e = {.region = {.bytes = bytes, .pages = "huge"}};

    if (!bytes) {
        errno = EINVAL;
        return NULL;
    }
    snprintf(e.region.name, sizeof e.region.name, "%s", name);
    e.mapped = round_up(bytes, HUGE_BYTES);
    huge = huge && bytes >= HUGE_BYTES;
    if (huge && e.mapped <= EXPLICIT_HUGE_MAX)
        e.p = map_pages(e.mapped, MAP_HUGETLB);
    if (!e.p && huge) {
        e.p = map_aligned(e.mapped);
        e.region.pages =
            e.p && !madvise(e.p, e.mapped, MADV_HUGEPAGE) ? "transparent" : "plain";
    }
    if (!e.p) {
        e.mapped = round_up(bytes, 4096);
        e.p = map_pages(e.mapped, MAP_NORESERVE);
        e.region.pages = "plain";
        // Adjacent small regions could merge into a huge page of which little is used.
        if (e.p)
            madvise(e.p, e.mapped, MADV_NOHUGEPAGE);
    }
    if (!e.p)
        return NULL; // errno from mmap
    pthread_mutex_lock(&lock);
    *vec_push(&entries) = e;
    pthread_mutex_unlock(&lock);
    return e.p;
}

void *mem_map(const char *name, size_t bytes)
{
    return map_named(name, bytes, true);
}

void *mem_map_small(const char *name, size_t bytes)
{
    return map_named(name, bytes, false);
}

void mem_unmap(void *p, size_t bytes)
{
    size_t mapped = 0;

    if (!p)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < entries.n; i++)
        if (entries.item[i].p == p) {
            bug_on(entries.item[i].region.bytes != bytes);
            mapped = entries.item[i].mapped;
            vec_del_swap(&entries, i);
            break;
        }
    if (!entries.n)
        vec_free(&entries);
    pthread_mutex_unlock(&lock);
    bug_on(!mapped);
    munmap(p, mapped);
}

// Bytes of the mapping that are in memory.
static size_t resident_bytes(char *p, size_t mapped)
{
    unsigned char in[4096]; // one flag per page
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n_pages = mapped / page, used = 0;

    for (size_t at = 0; at < n_pages; at += sizeof in) {
        size_t n = n_pages - at < sizeof in ? n_pages - at : sizeof in;

        if (mincore(p + at * page, n * page, in))
            return 0;
        for (size_t i = 0; i < n; i++)
            used += in[i] & 1 ? page : 0;
    }
    return used;
}

void mem_walk(void (*fn)(void *ctx, const struct mem_region *r), void *ctx)
{
    pthread_mutex_lock(&lock);
    vec_foreach(&entries, e) {
        size_t used = resident_bytes(e->p, e->mapped);

        // Only a part of the last page may belong to the region.
        e->region.used = used < e->region.bytes ? used : e->region.bytes;
        fn(ctx, &e->region);
    }
    pthread_mutex_unlock(&lock);
}
