// SPDX-License-Identifier: BSD-3-Clause
// rib_memory.c - what memory a virtual router has of rib_manager's, and of the FIBs
//
// Two sums. What it has is what it has written to: address space costs nothing, and free items stay
// its own until it goes. What it is charged with leaves free items out: a routing daemon that takes
// routes back must have room for others. Both count FIB blocks that other virtual routers have as
// well, which is what they would cost without those, and a copy on each memory node.
#include "rib/neigh.h"
#include "rib/vr.h"

static uint64_t live_bytes(const struct rib_pool *p)
{
    return (uint64_t)p->n_used * p->size;
}

static uint64_t fixed_bytes(const struct rib *r)
{
    return sizeof *r + (r->sum ? RIB_BLOCKS * sizeof *r->sum : 0);
}

uint64_t rib_memory_bytes(const struct rib *r)
{
    return fixed_bytes(r) + rib_pool_bytes(&r->trie.node) + rib_pool_bytes(&r->neigh.node) +
           rib_pool_bytes(&r->route) + rib_pool_bytes(&r->budget.waiting);
}

uint64_t rib_memory_charged(const struct rib_vr *v)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < 2; i++) {
        const struct rib *r = &v->rib[i];
        struct fib_stats s = {0};

        fib_stats(rib_fib(v, r->trie.family), &s);
        sum += s.bytes_used * (s.copies ? s.copies : 1) + s.control_bytes;
        sum += fixed_bytes(r) + live_bytes(&r->trie.node) + live_bytes(&r->neigh.node) +
               live_bytes(&r->route) + live_bytes(&r->budget.waiting);
    }
    return sum;
}
