// SPDX-License-Identifier: BSD-3-Clause
// rcu.c - tracks quiescent states: which readers may still hold unlinked objects
//
// Grace periods are numbered. A reader announces the newest number whenever it holds no pointer,
// and 0 while it is offline. A grace period ends when no reader announces an older number. One
// thread, the reclaimer, runs the callbacks of rcu_retire() in order. Objects retired within
// GATHER_US share a grace period.
//
// A waiter polls the readers, sleeping in between after SPIN_NS: a reader wakes nobody. In
// liburcu's QSBR the waiter sleeps until the last reader wakes it, which costs forwarders a system
// call and an interrupt of another core in every third grace period (docs/measurements.md).
//
// Ordering. R1: a reader's loads before it announces a number (release) complete before the waiter
// sees the number (acquire). R2: a reader that has seen a period's number (acquire) sees all that
// was unlinked before the number was drawn. R3: a reader goes online before it reads, and a waiter
// unlinks before it checks the readers (a full fence each), so one of them sees the other.
#include "core/rcu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

#define GATHER_US 300
#define SPIN_NS 5000
#define LOOK_NS 20000

struct reader {
    // Newest period that had begun when the reader held no pointer; 0: offline.
    _Alignas(64) _Atomic uint64_t seen;
    bool registered;
    struct reader *next;
};

static _Atomic uint64_t period = 1; // number of the newest
static _Thread_local struct reader me;
static struct reader *readers;
static pthread_mutex_t readers_lock = PTHREAD_MUTEX_INITIALIZER; // protects `readers`
static pthread_mutex_t period_lock = PTHREAD_MUTEX_INITIALIZER;  // one grace period at a time

struct retired { // contents of struct rcu_retired
    struct retired *next;
    void (*fn)(struct rcu_retired *r);
};
_Static_assert(sizeof(struct retired) <= sizeof(struct rcu_retired), "fits the opaque words");
_Static_assert(_Alignof(struct retired) <= _Alignof(struct rcu_retired), "is aligned");

static pthread_t reclaimer;
static bool running;
// Protects the variables below; held for a few instructions.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, called = PTHREAD_COND_INITIALIZER;
static struct retired *first, **last = &first;
static uint64_t n_retired, n_called; // callbacks since the start
static unsigned n_waiting;           // threads in rcu_barrier: do not gather longer
static bool stopping;

static void sleep_ns(long ns)
{
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = ns}, NULL);
}

static bool all_have_seen(uint64_t number)
{
    bool all = true;

    pthread_mutex_lock(&readers_lock);
    for (const struct reader *r = readers; r && all; r = r->next) {
        uint64_t seen = atomic_load_explicit(&r->seen, memory_order_acquire); // R1
        all = seen == 0 || seen >= number;
    }
    pthread_mutex_unlock(&readers_lock);
    return all;
}

// Waits for one grace period; the caller is offline.
static void grace_period(void)
{
    pthread_mutex_lock(&period_lock);
    uint64_t number = atomic_fetch_add(&period, 1) + 1; // R2
    atomic_thread_fence(memory_order_seq_cst);          // R3
    for (uint64_t begun = clock_now_ns(); !all_have_seen(number);) {
        if (clock_now_ns() - begun > SPIN_NS)
            sleep_ns(LOOK_NS);
    }
    pthread_mutex_unlock(&period_lock);
}

// Waits for an object, then gathers more unless a thread waits in rcu_barrier. NULL: stopping.
static struct retired *take_waiting(void)
{
    pthread_mutex_lock(&lock);
    while (!first && !stopping)
        pthread_cond_wait(&more, &lock);
    if (!n_waiting && !stopping) {
        pthread_mutex_unlock(&lock);
        sleep_ns(GATHER_US * 1000l);
        pthread_mutex_lock(&lock);
    }
    struct retired *list = first;
    first = NULL;
    last = &first;
    pthread_mutex_unlock(&lock);
    return list;
}

static void *reclaim_main(void *arg)
{
    pthread_setname_np(pthread_self(), "rcu");
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul); // otherwise the kernel's 50 us are added
    for (struct retired *r; (r = take_waiting());) {
        uint64_t n = 0;
        grace_period(); // the lock orders the unlinking before this
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
    int r = pthread_create(&reclaimer, NULL, reclaim_main, NULL);
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
    bug_on(me.registered);
    me.registered = true;
    pthread_mutex_lock(&readers_lock);
    me.next = readers;
    readers = &me;
    pthread_mutex_unlock(&readers_lock);
    rcu_online();
}

void rcu_thread_unregister(void)
{
    struct reader **r = &readers;

    bug_on(!me.registered);
    rcu_offline();
    pthread_mutex_lock(&readers_lock);
    while (*r != &me)
        r = &(*r)->next;
    *r = me.next;
    pthread_mutex_unlock(&readers_lock);
    me.registered = false;
}

static bool is_online(void)
{
    return atomic_load_explicit(&me.seen, memory_order_relaxed) != 0;
}

void rcu_quiescent(void)
{
    uint64_t newest = atomic_load_explicit(&period, memory_order_acquire); // R2

#ifdef KAMUEE_DEBUG
    // When offline, this call would silently put the thread online and stall every grace period.
    bug_on(!is_online());
#endif
    if (atomic_load_explicit(&me.seen, memory_order_relaxed) != newest)
        atomic_store_explicit(&me.seen, newest, memory_order_release); // R1
}

void rcu_offline(void)
{
    atomic_store_explicit(&me.seen, 0, memory_order_release); // R1
}

void rcu_online(void)
{
    bug_on(!me.registered);
    atomic_store_explicit(&me.seen, atomic_load_explicit(&period, memory_order_acquire),
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); // R3
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
    // A system call only if the reclaimer sleeps because it has nothing to do.
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
}

// Goes offline meanwhile if the caller is online, so that it does not wait for itself.
void rcu_synchronize(void)
{
    bool online = is_online();

    if (online)
        rcu_offline();
    atomic_thread_fence(memory_order_seq_cst); // after the caller's unlinking
    grace_period();
    if (online)
        rcu_online();
}

void rcu_barrier(void)
{
    bool online = is_online();

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
