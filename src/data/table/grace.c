// SPDX-License-Identifier: BSD-3-Clause
// grace.c - numbering grace periods
//
// G1  a ticket is over only after a grace period that started after its number was drawn.
//
// Numbers are drawn before the callback is queued. A callback with a higher number proves all lower
// ones: the writer with the lower number had unlinked its object before it drew (grace_ticket is
// ordered by `drawn`), hence before the higher callback was queued. So `over` only grows, and
// callbacks may run in any order.
#include "table/grace.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "core/rcu.h"

struct ticket {
    struct rcu_retired retired;
    uint64_t number;
};

static _Atomic uint64_t drawn, over;

static void raise_over(uint64_t number)
{
    uint64_t seen = atomic_load(&over);

    while (seen < number && !atomic_compare_exchange_weak(&over, &seen, number))
        ;
}

static void ticket_over(struct rcu_retired *r)
{
    struct ticket *t = (struct ticket *)r;

    raise_over(t->number);
    free(t);
}

uint64_t grace_ticket(void)
{
    struct ticket *t = malloc(sizeof *t);

    bug_on(!t);
    uint64_t number = t->number = atomic_fetch_add(&drawn, 1) + 1;
    rcu_retire(&t->retired, ticket_over); // the ticket may be freed from now on
    return number;
}

bool grace_over(uint64_t ticket)
{
    // Acquire, partner: the atomic store in raise_over. Earlier accesses of readers are complete.
    return ticket <= atomic_load_explicit(&over, memory_order_acquire);
}

void grace_wait(void)
{
    uint64_t number = atomic_load(&drawn);

    rcu_synchronize();
    raise_over(number);
}
