// SPDX-License-Identifier: BSD-3-Clause
// mem_test.c - named regions: zeroed, aligned, listed
#include "core/mem.h"
#include "tests/unit.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

struct sum {
    unsigned n;
    size_t bytes, used;
    bool named;
};

static void add(void *ctx, const struct mem_region *r)
{
    struct sum *s = ctx;

    s->n++;
    s->bytes += r->bytes;
    s->used += r->used;
    assert_true(r->used <= r->bytes);
    s->named |= !strcmp(r->name, "test region");
    assert_true(!strcmp(r->pages, "huge") || !strcmp(r->pages, "transparent") ||
                !strcmp(r->pages, "plain"));
}

unit_test(region_is_zeroed_aligned_and_listed_until_unmapped)
{
    const size_t sizes[] = {1, 4096, 100000, 2 << 20, (5 << 20) + 1, 64 << 20};

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct sum s = {0};
        uint8_t *p = mem_map("test region", sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % (sizes[i] >= 2 << 20 ? 2 << 20 : 4096), 0);
        assert_int_equal(p[0] | p[sizes[i] / 2] | p[sizes[i] - 1], 0);
        p[0] = p[sizes[i] - 1] = 1;
        mem_walk(add, &s);
        assert_int_equal(s.n, 1);
        assert_int_equal(s.bytes, sizes[i]);
        assert_true(s.used > 0);
        assert_true(s.named);
        mem_unmap(p, sizes[i]);
        memset(&s, 0, sizeof s);
        mem_walk(add, &s);
        assert_int_equal(s.n, 0);
    }
}

unit_test(only_what_was_touched_is_used)
{
    const size_t bytes = 512u << 20; // too large for explicit huge pages
    struct sum s = {0};
    uint8_t *p = mem_map("test region", bytes);

    assert_non_null(p);
    mem_walk(add, &s);
    assert_int_equal(s.used, 0);
    memset(p + (100 << 20), 1, 8 << 20);
    memset(&s, 0, sizeof s);
    mem_walk(add, &s);
    assert_in_range(s.used, 8 << 20, 12 << 20); // huge pages may use a little more
    assert_int_equal(s.bytes, bytes);
    mem_unmap(p, bytes);
}

unit_test(empty_or_impossible_region_is_refused_with_errno)
{
    assert_null(mem_map("none", 0));
    assert_int_equal(errno, EINVAL);
    assert_null(mem_map("too big", (size_t)1 << 55));
    assert_int_equal(errno, ENOMEM);
}
