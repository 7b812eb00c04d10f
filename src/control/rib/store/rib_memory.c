// SPDX-License-Identifier: BSD-3-Clause
// rib_memory.c - memory that a virtual router uses in rib_manager and the FIBs
//
// There are two sums. Used memory is all that was written to: address space costs nothing, and free
// items stay with the router until its end. Charged memory leaves free items out: a routing daemon
// that withdraws routes must get room for others. Both count shared FIB blocks in full, as if other
// virtual routers did not share them, and one copy per memory node.
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
