// SPDX-License-Identifier: BSD-3-Clause
// poll.c - one turn of a forwarder: receive queues, inject ring, a device's answers, its own queues
//
// The roots that the poll needs are loaded once, at its start; path.c passes each burst through the
// stages. One burst in LATENCY_TIMED, 61, is timed (measure.c): about 5 cycles per burst on
// average. 61 is a prime, so that a pattern in the traffic is not always sampled at the same place.
#include <rte_cycles.h>

#include "core/rcu.h"
#include "forwarder/queue_stage.h"
#include "forwarder/stages.h"
#include "table/lookaside.h"
#include "table/nexthop_count.h"
#include "forwarder/forbidden.h"

// Attributes the time since the start of the last poll to its result, busy or idle.
static void account_last_poll(struct forwarder *f)
{
    uint64_t now = rte_rdtsc(), spent = now - f->now;

    if (f->last_poll_busy)
        f->counter->busy_cycles += spent;
    else
        f->counter->idle_cycles += spent;
    f->now = now;
    f->counter->polls++;
}

static inline unsigned poll_queues(struct forwarder *f)
{
    unsigned taken = 0;

    for (unsigned i = 0; f->plan && i < f->plan->n_rx; i++) {
        const struct plan_rx *q = &f->plan->rx[i];
        bool timed = !f->until_timed;
        if (unlikely(timed))
            f->lap = rte_rdtsc();
        unsigned n = rx(f, q->port, q->queue);
        if (n && unlikely(timed))
            path_queue_timed(f, q, n);
        else if (n)
            path_queue_usual(f, q, n);
        f->until_timed -= n && !timed;
        taken += n;
    }
    return taken;
}

unsigned forwarder_poll(struct forwarder *f)
{
    account_last_poll(f);
    if (unlikely((int64_t)(f->now - f->budget.ends) > 0))
        budget_window(f);
    f->used_epoch = __atomic_load_n(&nexthop_used_epoch, __ATOMIC_RELAXED);
    // Partner: nexthop_count_set, nexthop_cross_begin.
    f->counting = __atomic_load_n(&nexthop_counting[f->index], __ATOMIC_ACQUIRE);
    f->plan = rcu_load(&forwarder_slot[f->index].plan);
    if (likely(!f->lookaside))
        f->lookaside = lookaside_now();
    uint8_t begin = __atomic_load_n(&plan_begin, __ATOMIC_RELAXED);
    unsigned taken = likely(begin == PLAN_BEGIN_OVER) ? poll_queues(f) : begin_poll(f, begin);
    unsigned injected = inject(f); // not timed
    if (injected) {
        path_local_usual(f);
        path_flush(f);
    }
    taken += injected;
    if (unlikely(f->lookaside))
        taken += f->lookaside->serve(f->lookaside, f);
    f->queue_due = QUEUE_NEVER;
    if (unlikely(f->plan && f->plan->n_owned))
        taken += queue_serve(f);
    f->last_poll_busy = taken > 0;
    f->counter->polls_idle += !taken;
    return taken;
}
