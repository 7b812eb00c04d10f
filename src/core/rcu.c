// SPDX-License-Identifier: BSD-3-Clause
// rcu.c - the one place that knows liburcu
//
// Flavour QSBR: a read costs nothing, a reader says once per poll that it
// holds nothing (rcu_quiescent). One thread, the reclaimer, runs the callbacks
// of rcu_retire() in the order in which they were given. What comes within
// GATHER_US shares a grace period: a forwarder pays for each one (it stores
// into a line that the reclaimer reads, and wakes it when it has fallen
// asleep), so ten thousand commits a second must not cost ten thousand.
// liburcu's own call_rcu gathers for 10 ms, in which a hundred thousand route
// changes a second leave a thousand changes' memory lying about.
//
// liburcu's own names (rcu_barrier, ...) are macros that would rename ours:
// they are taken back before our header is read.
#include <errno.h>
#include <urcu/urcu-qsbr.h>

#undef rcu_barrier
#undef rcu_init
#include "core/rcu.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/log.h"

#define GATHER_US 300

struct retired { // what lies in struct rcu_retired
    struct retired *next;
    void (*fn)(struct rcu_retired *r);
};
_Static_assert(sizeof(struct retired) <= sizeof(struct rcu_retired), "fits the opaque words");
_Static_assert(_Alignof(struct retired) <= _Alignof(struct rcu_retired), "is aligned");

static pthread_t reclaimer;
static bool running;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of what follows; held for a few instructions
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, called = PTHREAD_COND_INITIALIZER;
static struct retired *first, **last = &first;
static uint64_t n_retired, n_called; // callbacks since the start
static unsigned n_waiting;           // threads in rcu_barrier: gather no longer
static bool stopping;

// Waits for something to do; then, unless somebody waits for it, for more of it. NULL: the end.
static struct retired *take_waiting(void)
{
    struct timespec t = {.tv_nsec = GATHER_US * 1000l};

    pthread_mutex_lock(&lock);
    while (!first && !stopping)
        pthread_cond_wait(&more, &lock);
    if (!n_waiting && !stopping) {
        pthread_mutex_unlock(&lock);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
        pthread_mutex_lock(&lock);
    }
    struct retired *list = first;
    first = NULL;
    last = &first;
    pthread_mutex_unlock(&lock);
    return list;
}

static void *reclaim(void *arg)
{
    pthread_setname_np(pthread_self(), "rcu");
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul); // or the kernel's 50 us come on top
    for (struct retired *r; (r = take_waiting());) {
        uint64_t n = 0;
        // The lock has ordered what the retirers unlinked before this; it begins with a full barrier.
        urcu_qsbr_synchronize_rcu();
        for (struct retired *next; r; r = next, n++) {
            next = r->next; // the callback may free r
            r->fn((struct rcu_retired *)r);
        }
        pthread_mutex_lock(&lock);
        n_called += n;
        pthread_cond_broadcast(&called);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

void rcu_init(void)
{
    bug_on(running);
    stopping = false;
    int r = pthread_create(&reclaimer, NULL, reclaim, NULL);
    bug_on(r);
    running = true;
}

void rcu_fini(void)
{
    if (!running)
        return;
    rcu_barrier();
    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
    pthread_join(reclaimer, NULL);
    running = false;
}

void rcu_set_cores(const cpu_set_t *cores)
{
    if (running)
        pthread_setaffinity_np(reclaimer, sizeof *cores, cores);
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

void rcu_retire(struct rcu_retired *retired, void (*fn)(struct rcu_retired *r))
{
    struct retired *r = (struct retired *)retired;

    bug_on(!running);
    *r = (struct retired){.fn = fn};
    pthread_mutex_lock(&lock);
    *last = r;
    last = &r->next;
    n_retired++;
    pthread_cond_signal(&more); // a system call only when the reclaimer sleeps because it has nothing
    pthread_mutex_unlock(&lock);
}

// Takes an online caller offline while it waits, so that it does not wait for itself.
void rcu_synchronize(void)
{
    urcu_qsbr_synchronize_rcu();
}

void rcu_barrier(void)
{
    bool online = urcu_qsbr_read_ongoing();

    if (online)
        rcu_offline();
    pthread_mutex_lock(&lock);
    n_waiting++;
    for (uint64_t all = n_retired; n_called < all;)
        pthread_cond_wait(&called, &lock);
    n_waiting--;
    pthread_mutex_unlock(&lock);
    if (online)
        rcu_online();
}
