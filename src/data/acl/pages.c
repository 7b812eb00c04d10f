// SPDX-License-Identifier: BSD-3-Clause
// pages.c - maps memory aligned to huge pages (pages.h)
//
// It maps one huge page more than needed and unmaps the parts before and behind the aligned area.
// Untouched pages cost nothing, so callers may map generously. Transparent huge pages are only a
// hint to the kernel.
#include "acl/pages.h"

#include <stdint.h>
#include <sys/mman.h>

static size_t whole_pages(size_t bytes) // untouched pages cost nothing
{
    return (bytes + PAGES_HUGE - 1) & ~(PAGES_HUGE - 1);
}

void *pages_map(size_t bytes, bool huge)
{
    size_t all = whole_pages(bytes), head;
    uint8_t *p = mmap(NULL, all + PAGES_HUGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    head = -(uintptr_t)p & (PAGES_HUGE - 1);
    if (head)
        munmap(p, head);
    munmap(p + head + all, PAGES_HUGE - head);
    madvise(p + head, all, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE); // a hint
    return p + head;
}

void pages_unmap(void *p, size_t bytes)
{
    if (p)
        munmap(p, whole_pages(bytes));
}
