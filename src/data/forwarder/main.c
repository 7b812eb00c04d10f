// SPDX-License-Identifier: BSD-3-Clause
// main.c - creates a forwarder, and runs the loop of its thread
//
// This code runs before the first packet and after the last one, so it may allocate and log; the
// poll (poll.c) never does.
#define ALLOW_EXPERIMENTAL_API // rte_vect_get_max_simd_bitwidth
#include <errno.h>
#include <rte_cycles.h>
#include <rte_vect.h>

#include "acl/cache.h"
#include "base/log.h"
#include "core/mem.h"
#include "core/rcu.h"
#include "forwarder/stages.h"
#include "forwarder/idle.h"
#include "forwarder/state.h"
#include "table/acl.h"

#define ACL_CACHE_BYTES ((size_t)8 << 20) // committed when touched: 64 K flows of each family

static void burst_init(struct burst *b, enum burst_kind kind, uint8_t family)
{
    b->kind = kind;
    b->family = family;
}

void forwarder_init(struct forwarder *f, unsigned index, struct counter_block *counter,
                    uint8_t *used_mark, uint64_t *chosen)
{
    f->index = index;
    f->node = mem_node_of_thread();
    f->slot = thread_slot();
    f->counter = counter;
    f->used_mark = used_mark;
    f->chosen = chosen;
    f->prefix_count = prefix_count_row(index);
    f->now = rte_rdtsc();
    f->lanes = lanes_choose(rte_vect_get_max_simd_bitwidth());
    burst_init(&f->in4, BURST_TRANSIT, IP4);
    burst_init(&f->in6, BURST_TRANSIT, IP6);
    burst_init(&f->odd4, BURST_TRANSIT, IP4);
    burst_init(&f->odd6, BURST_TRANSIT, IP6);
    burst_init(&f->local4, BURST_LOCAL, IP4);
    burst_init(&f->local6, BURST_LOCAL, IP6);
    burst_init(&f->origin4, BURST_ORIGIN, IP4);
    burst_init(&f->origin6, BURST_ORIGIN, IP6);
    burst_init(&f->resumed, BURST_RESUMED, IP4);
    burst_init(&f->outer4, BURST_TUNNEL, IP4);
    burst_init(&f->outer6, BURST_TUNNEL, IP6);
    burst_init(&f->fragment, BURST_TRANSIT, IP4);
    burst_init(&f->labels, BURST_TRANSIT, LABELS);
    burst_init(&f->bare4, BURST_TRANSIT, IP4);
    burst_init(&f->bare6, BURST_TRANSIT, IP6);
    burst_init(&f->pushed, BURST_TRANSIT, IP4);
    burst_init(&f->labeled, BURST_TUNNEL, LABELS);
    burst_init(&f->typed, BURST_TRANSIT, 0);
}

struct forwarder *forwarder_new(unsigned index)
{
    struct forwarder *f = mem_map("forwarder", sizeof *f);

    if (!f)
        return NULL;
    forwarder_init(f, index, counter_mine(), nexthop_used_mark[index], nexthop_chosen[index]);
    // Without a cache, each packet is classified.
    f->acl_cache = acl_caches[index] = acl_cache_new(ACL_CACHE_BYTES, acl_secret);
    return f;
}

void forwarder_free(struct forwarder *f)
{
    if (f) {
        acl_caches[f->index] = NULL;
        acl_cache_free(f->acl_cache);
    }
    mem_unmap(f, sizeof *f);
}

// Wakes the threads that got packets in this poll. They are usually awake; a sleeping one costs a
// write(), the only system call of a busy forwarder.
static void wake_receivers(struct forwarder *f)
{
    for (uint32_t rest = f->handed; rest; rest &= rest - 1)
        waker_wake(&forwarder_slot[__builtin_ctz(rest)].waker);
    if (f->punted)
        waker_wake(&exchange_punt_waker);
    if (f->holds)
        waker_wake(&exchange_hold_waker);
    f->handed = 0;
    f->punted = f->holds = false;
}

void forwarder_rest(struct forwarder *f)
{
    if (f->lookaside && !f->lookaside->rest(f->lookaside, f))
        return;
    f->lookaside = NULL;
    rcu_quiescent();
}

void forwarder_main(void *arg)
{
    unsigned index = (unsigned)(uintptr_t)arg;
    struct forwarder_slot *slot = &forwarder_slot[index];
    struct forwarder *f = forwarder_new(index);
    struct idle idle;

    if (!f) {
        log_error("forwarder: no memory: index=%u bytes=%zu errno=%d", index, sizeof *f, errno);
        return;
    }
    idle_init(&idle, index);
    while (!__atomic_load_n(&slot->stop, __ATOMIC_ACQUIRE)) { // partner: control's store of stop
        unsigned taken = forwarder_poll(f);
        forwarder_rest(f);
        if (f->handed || f->punted || f->holds)
            wake_receivers(f);
        idle_after_poll(&idle, taken, f->queue_due);
    }
    if (!f->lookaside) // kept while it holds bursts
        f->lookaside = lookaside_now();
    begin_forward_kept(f);
    if (f->lookaside)
        f->lookaside->end(f->lookaside, f);
    forwarder_free(f);
}
