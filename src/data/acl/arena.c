// SPDX-License-Identifier: BSD-3-Clause
// arena.c - see arena.h. Sizes are 1 to 8, then four steps to each doubling. A free block's first
// word names the next free one of its size.
#include <string.h>

#include "acl/arena.h"

#define LINE 64u

static unsigned log2_of(uint32_t n)
{
    return 31 - (unsigned)__builtin_clz(n);
}

static unsigned size_class(uint32_t units) // of a size from arena_size
{
    unsigned l = log2_of(units);

    return units <= 8 ? units : 9 + (l - 3) * 4 + ((units >> (l - 2)) & 3);
}

uint32_t arena_size(uint32_t units)
{
    uint32_t step;

    if (units <= 8)
        return units;
    step = 1u << (log2_of(units - 1) - 2);
    return (units + step - 1) & ~(step - 1);
}

void arena_init(struct arena *a, void *base, uint32_t unit, uint32_t units)
{
    *a = (struct arena){
        .base = base, .unit = unit, .units = units, .top = unit < LINE ? LINE / unit : 1};
}

uint32_t arena_alloc(struct arena *a, uint32_t units)
{
    uint32_t size = arena_size(units), ref, *list = &a->free[size_class(size)];

    ref = *list;
    if (ref) {
        memcpy(list, a->base + (size_t)ref * a->unit, sizeof *list);
        a->used += size;
        return ref;
    }
    if (size > 1 && a->top * a->unit % LINE && a->top < a->units) { // two blocks of 1 share a line
        a->used++;
        arena_free(a, a->top++, 1);
    }
    if (size > a->units - a->top)
        return 0;
    ref = a->top;
    a->top += size;
    a->used += size;
    return ref;
}

void arena_free(struct arena *a, uint32_t ref, uint32_t units)
{
    uint32_t size = arena_size(units), *list = &a->free[size_class(size)];

    memcpy(a->base + (size_t)ref * a->unit, list, sizeof *list);
    *list = ref;
    a->used -= size;
}
