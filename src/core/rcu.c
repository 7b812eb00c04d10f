// SPDX-License-Identifier: BSD-3-Clause
// rcu.c - the one place that knows liburcu
//
// Flavour QSBR: a read costs nothing, a reader says once per poll that it
// holds nothing (rcu_quiescent). One thread of liburcu's runs the callbacks of
// rcu_retire() in the order in which they were given; it waits about 10 ms for
// more before it starts a grace period, so memory comes back in batches.
//
// liburcu's own names (rcu_barrier, ...) are macros that would rename ours:
// they are taken back before our header is read.
#include <errno.h>
#include <urcu/urcu-qsbr.h>

#undef rcu_barrier
#undef rcu_init
#include "core/rcu.h"

#include "base/log.h"

struct retired { // what lies in struct rcu_retired
    struct rcu_head head;
    void (*fn)(struct rcu_retired *r);
};
_Static_assert(sizeof(struct retired) <= sizeof(struct rcu_retired), "fits the opaque words");
_Static_assert(_Alignof(struct retired) <= _Alignof(struct rcu_retired), "is aligned");

static struct call_rcu_data *worker;

void rcu_init(void)
{
    bug_on(worker);
    worker = urcu_qsbr_create_call_rcu_data(0, -1);
    bug_on(!worker);
}

void rcu_fini(void)
{
    if (!worker)
        return;
    urcu_qsbr_barrier();
    urcu_qsbr_set_thread_call_rcu_data(NULL);
    urcu_qsbr_call_rcu_data_free(worker);
    worker = NULL;
}

void rcu_thread_register(void)
{
    urcu_qsbr_register_thread();
}

void rcu_thread_unregister(void)
{
    urcu_qsbr_unregister_thread();
}

void rcu_quiescent(void)
{
#ifdef KAMUEE_DEBUG
    // Offline, this call would silently put the thread online again and stall every grace period.
    bug_on(!urcu_qsbr_read_ongoing());
#endif
    urcu_qsbr_quiescent_state();
}

void rcu_offline(void)
{
    urcu_qsbr_thread_offline();
}

void rcu_online(void)
{
    urcu_qsbr_thread_online();
}

static void run_retired(struct rcu_head *head)
{
    struct retired *r = (struct retired *)((char *)head - offsetof(struct retired, head));

    r->fn((struct rcu_retired *)r);
}

void rcu_retire(struct rcu_retired *retired, void (*fn)(struct rcu_retired *r))
{
    struct retired *r = (struct retired *)retired;

    bug_on(!worker);
    // All threads use our worker and not liburcu's default one, because only ours can be ended.
    if (urcu_qsbr_get_thread_call_rcu_data() != worker)
        urcu_qsbr_set_thread_call_rcu_data(worker);
    r->fn = fn;
    urcu_qsbr_call_rcu(&r->head, run_retired);
}

// Both take an online caller offline while they wait, so that it does not wait for itself.
void rcu_synchronize(void)
{
    urcu_qsbr_synchronize_rcu();
}

void rcu_barrier(void)
{
    urcu_qsbr_barrier();
}
