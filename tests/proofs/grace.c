// SPDX-License-Identifier: BSD-3-Clause
// grace.c - publication and grace periods, in the orders of the steps of src/core/rcu.c and
// src/data/table/grace.c
//
// A writer publishes a new object twice, takes a ticket for each old one, and uses it again when
// the ticket is over. Two readers look at the object twice each, and say in between that they hold
// nothing; the second one sleeps offline before it looks again. The reclaimer is the thread of
// rcu.c, and sleeps until another task has done something.
//
// Asked in each order: no reader uses an object that the writer has begun to use again; every
// ticket is over some time; nobody waits forever.
//
// rcu.c runs as it is, but for one line: its thread-local `me` is an array here, because all tasks
// share a thread (tests/proofs/run).
#include "steps.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/rcu.h"
#include "table/grace.h"

#define CHANGES 2
#define LOOK_NS 20000 // as rcu.c defines it, or the compiler warns

// --- locks, signals and sleep ---

static unsigned n_done; // steps of all tasks

static void counted_step(void)
{
    step();
    n_done++;
}

static bool is_unlocked(const void *of)
{
    return !((const pthread_mutex_t *)of)->__data.__lock;
}

static int lock_take(pthread_mutex_t *m)
{
    step_until(is_unlocked, m);
    m->__data.__lock = 1;
    n_done++;
    return 0;
}

static int lock_give(pthread_mutex_t *m)
{
    m->__data.__lock = 0;
    return 0;
}

// A condition counts its signals in its first word.
static unsigned *signals_of(const pthread_cond_t *c)
{
    return (unsigned *)(uintptr_t)c;
}

struct sleeper {
    const unsigned *count;
    unsigned since;
};

static bool has_moved(const void *of)
{
    const struct sleeper *s = of;

    return *s->count != s->since;
}

static int cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    struct sleeper s = {signals_of(c), *signals_of(c)};

    lock_give(m);
    step_until(has_moved, &s);
    return lock_take(m);
}

static int cond_signal(pthread_cond_t *c)
{
    ++*signals_of(c);
    return 0;
}

// To gather more objects, or until a reader may have moved.
static void sleep_for(const struct timespec *t)
{
    struct sleeper s = {&n_done, n_done};

    step_until(t->tv_nsec == LOOK_NS ? has_moved : NULL, &s);
}

static void *(*reclaimer_main)(void *arg);

static int thread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
    reclaimer_main = fn;
    return 0;
}

#define pthread_mutex_lock lock_take
#define pthread_mutex_unlock lock_give
#define pthread_cond_wait cond_wait
#define pthread_cond_signal cond_signal
#define pthread_cond_broadcast cond_signal
#define pthread_create thread_create
#define pthread_join(...) ((void)0)
#define pthread_setname_np(...) ((void)0)
#define pthread_setaffinity_np(...) ((void)0)
#define prctl(...) ((void)0)
#define clock_nanosleep(clock, flags, t, left) sleep_for(t)
#define malloc heap_take
#define free heap_give

// Each atomic access is a step. Sequential consistency, so the order asked for does not matter.
#undef atomic_load_explicit
#undef atomic_load
#undef atomic_store_explicit
#undef atomic_fetch_add
#undef atomic_thread_fence
#undef atomic_compare_exchange_weak
#define atomic_load_explicit(p, order) (counted_step(), *(p))
#define atomic_load(p) (counted_step(), *(p))
#define atomic_store_explicit(p, v, order) (counted_step(), *(p) = (v))
#define atomic_fetch_add(p, n) (counted_step(), *(p) += (n), *(p) - (n))
#define atomic_thread_fence(order) ((void)0)
#define atomic_compare_exchange_weak(p, was, to)                                                   \
    (counted_step(), *(p) == *(was) ? (*(p) = (to), true) : (*(was) = *(p), false))

static uint64_t now_ns(void)
{
    static uint64_t now;

    return now += 1000000; // no spinning
}
#define clock_now_ns now_ns
#undef bug_on
#define bug_on(cond)                                                                               \
    do {                                                                                           \
        if (cond)                                                                                  \
            stop(#cond);                                                                           \
    } while (0)

#include "core/rcu.c"
#include "table/grace.c"

// --- the scenario ---

static struct object {
    bool reused;
} object[CHANGES + 1];
static struct object *root;
static uint64_t over_shown; // grace_over() has been asked

static bool has_ended(const void *of)
{
    return *(const uint64_t *)of <= over;
}

static void writer(void)
{
    uint64_t ticket[CHANGES];

    for (unsigned i = 0; i < CHANGES; i++) {
        counted_step();
        rcu_publish(&root, &object[i + 1]);
        ticket[i] = grace_ticket();
    }
    for (unsigned i = 0; i < CHANGES; i++) {
        step_until(has_ended, &ticket[i]);
        if (!grace_over(ticket[i]))
            stop("a ticket that is over is not over");
        object[i].reused = true;
        over_shown++;
    }
    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
}

static void look(void)
{
    counted_step();
    const struct object *o = rcu_load(&root);
    for (unsigned i = 0; i < 2; i++) {
        if (o->reused)
            stop("a reader uses an object that is used again");
        counted_step();
    }
    if (o->reused)
        stop("a reader uses an object that is used again");
}

static void reader_busy(void)
{
    rcu_thread_register();
    look();
    rcu_quiescent();
    look();
    rcu_thread_unregister();
}

static void reader_sleeps(void)
{
    rcu_thread_register();
    look();
    rcu_offline();
    rcu_online();
    look();
    rcu_thread_unregister();
}

static void reclaim_task(void)
{
    reclaimer_main(NULL);
}

static void begin(void)
{
    n_heap = 0;
    memset(object, 0, sizeof object);
    memset(mes, 0, sizeof mes);
    root = &object[0];
    period = 1;
    drawn = over = over_shown = 0;
    readers = NULL;
    first = NULL;
    last = &first;
    n_retired = n_called = n_waiting = 0;
    running = stopping = false;
    lock = readers_lock = period_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    more = called = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    rcu_init();
    task_add("writer", writer);
    task_add("reader 0", reader_busy);
    task_add("reader 1", reader_sleeps);
    task_add("reclaimer", reclaim_task);
}

static void end(void)
{
    if (over_shown != CHANGES || heap_live())
        harm = "a ticket is left";
}

int main(void)
{
    const uint64_t n = explore(begin, end, PREEMPTIONS);

    printf("%llu orders\n", (unsigned long long)n);
    if (harm)
        printf("grace: %s\n", harm);
    return !!harm;
}
