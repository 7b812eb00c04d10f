// SPDX-License-Identifier: BSD-3-Clause
// nexthop_id.c - counted next-hop ids, and the four that all share
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "manager/nexthop_manager.h"

static uint32_t *holders; // [NEXTHOP_MAX]
static bool *is_unused;   // [NEXTHOP_MAX] in `unused`; it may have found a new holder since
static VEC(uint32_t) unused;
static uint32_t shared[NEXTHOP_KIND_N];

int nexthop_manager_init(void)
{
    static const enum nexthop_kind kind[] = {NEXTHOP_LOCAL, NEXTHOP_BLACKHOLE, NEXTHOP_UNREACHABLE,
                                             NEXTHOP_PROHIBIT};

    holders = calloc(NEXTHOP_MAX, sizeof *holders);
    is_unused = calloc(NEXTHOP_MAX, sizeof *is_unused);
    if (!holders || !is_unused)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        shared[kind[i]] = nexthop_make(kind[i], 0);
        if (!shared[kind[i]])
            return -ENOSPC;
    }
    return 0;
}

void nexthop_manager_fini(void)
{
    for (int i = 0; i < NEXTHOP_KIND_N; i++) {
        nexthop_put(shared[i]);
        shared[i] = 0;
    }
    nexthop_free_unused();
    vec_free(&unused);
    free(holders);
    free(is_unused);
    holders = NULL;
    is_unused = NULL;
}

uint32_t nexthop_shared(enum nexthop_kind kind)
{
    bug_on(!shared[kind]);
    return shared[kind];
}

uint32_t nexthop_make(enum nexthop_kind kind, uint16_t iface)
{
    uint32_t id = nexthop_new(kind, iface);

    if (id)
        holders[id] = 1;
    else
        log_error("nexthop: table full: used=%u limit=%u", nexthop_used(), NEXTHOP_MAX);
    return id;
}

void nexthop_hold(uint32_t id)
{
    if (id)
        holders[id]++;
}

void nexthop_put(uint32_t id)
{
    if (!id)
        return;
    bug_on(!holders[id]);
    if (--holders[id] || is_unused[id])
        return;
    is_unused[id] = true;
    *vec_push(&unused) = id;
}

void nexthop_free_unused(void)
{
    vec_foreach(&unused, id) {
        is_unused[*id] = false;
        if (!holders[*id])
            nexthop_free(*id);
    }
    vec_clear(&unused);
}

uint32_t nexthop_holders(uint32_t id)
{
    return holders[id];
}
