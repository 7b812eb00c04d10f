// SPDX-License-Identifier: BSD-3-Clause
// routed_count.c - counts packets per next hop, and those between virtual routers
//
// Only if somebody wants to know (table/nexthop_count.h), after all exits and before ether_out.
#include "forwarder/cross.h"
#include "forwarder/stages.h"
#include "table/nexthop_count.h"
#include "forwarder/forbidden.h"

__attribute__((noinline)) void routed_count(struct forwarder *f, const struct burst *b)
{
    struct nexthop_count *count = nexthop_count_row(f->counting);

    if (f->counting & NEXTHOP_CROSS)
        burst_cross(f, b);
    for (unsigned i = 0; count && i < b->n; i++) {
        count[b->nh[i]].packets++;
        count[b->nh[i]].bytes += b->size[i];
    }
}
