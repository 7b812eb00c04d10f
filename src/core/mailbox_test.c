// SPDX-License-Identifier: BSD-3-Clause
// mailbox_test.c - calls arrive in order, once, on the owner's thread; a full box refuses
#include "core/mailbox.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/rcu.h"
#include "tests/unit.h"

static struct event_base *loop; // of the rib_manager thread
static struct thread *owner;
static sem_t opened, held, let_go;

static void own_box(void *arg)
{
    loop = event_base_new();
    assert_int_equal(mailbox_open(loop), 0);
    sem_post(&opened);
    event_base_loop(loop, EVLOOP_NO_EXIT_ON_EMPTY);
    mailbox_close();
    event_base_free(loop);
}

static void end_loop(void *arg)
{
    event_base_loopbreak(loop);
}

static int start_owner(void **state)
{
    sem_init(&opened, 0, 0);
    sem_init(&held, 0, 0);
    sem_init(&let_go, 0, 0);
    if (thread_start(&owner, ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER, "rib", -1, own_box, NULL))
        return -1;
    sem_wait(&opened);
    return 0;
}

static int stop_owner(void **state)
{
    while (mailbox_post(ROLE_RIB_MANAGER, end_loop, NULL))
        usleep(1000);
    thread_join(owner);
    return 0;
}

static unsigned n_run, n_disorder;
static enum thread_role run_role;

static void expect_number(void *arg)
{
    n_disorder += (uintptr_t)arg != n_run;
    n_run++;
    run_role = thread_role();
}

static void nothing(void *arg)
{
}

#define mailbox_test(name) unit_test_of(name, start_owner, stop_owner)

mailbox_test(calls_run_once_in_order_on_the_owners_thread)
{
    n_run = n_disorder = 0;
    for (uintptr_t i = 0; i < 100000; i++)
        while (mailbox_post(ROLE_RIB_MANAGER, expect_number, (void *)i))
            usleep(100);
    assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, nothing, NULL, NULL, 5000), 0);
    assert_int_equal(n_run, 100000);
    assert_int_equal(n_disorder, 0);
    assert_int_equal(run_role, ROLE_RIB_MANAGER);
}

static void wait_until_let_go(void *arg)
{
    sem_post(&held);
    sem_wait(&let_go);
}

static void *let_go_later(void *arg)
{
    usleep(50000);
    sem_post(&let_go);
    return NULL;
}

// mailbox_call, in contrast, waits for room.
mailbox_test(full_box_refuses)
{
    pthread_t later;
    unsigned n = 0;

    assert_int_equal(mailbox_post(ROLE_RIB_MANAGER, wait_until_let_go, NULL), 0);
    sem_wait(&held);
    n_run = n_disorder = 0;
    while (n < 2 * MAILBOX_CALLS &&
           !mailbox_post(ROLE_RIB_MANAGER, expect_number, (void *)(uintptr_t)n))
        n++;
    assert_int_equal(n, MAILBOX_CALLS);
    assert_int_equal(mailbox_post(ROLE_RIB_MANAGER, nothing, NULL), -EAGAIN);
    assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, nothing, NULL, NULL, 5), -EAGAIN);
    assert_int_equal(pthread_create(&later, NULL, let_go_later, NULL), 0);
    assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, NULL, NULL, NULL, 5000), 0); // has waited
    pthread_join(later, NULL);
    assert_int_equal(n_run, n); // all accepted calls ran, in order
    assert_int_equal(n_disorder, 0);
}

struct owned {
    unsigned n_run;
};

static _Atomic unsigned n_owned, n_dropped_early;

static void wait_and_count(void *arg)
{
    sem_wait(&let_go);
    ((struct owned *)arg)->n_run++;
}

static void count(void *arg)
{
    ((struct owned *)arg)->n_run++;
}

static void drop(void *arg)
{
    struct owned *o = arg;

    n_dropped_early += o->n_run != 1 || thread_role() != ROLE_RIB_MANAGER;
    n_owned--;
    free(o); // sanitizers detect a double or missing free
}

static struct owned *own(void)
{
    n_owned++;
    return calloc(1, sizeof(struct owned));
}

mailbox_test(call_that_takes_too_long_times_out_still_runs_and_is_dropped_after_it)
{
    n_dropped_early = 0;
    // Gives up while the call runs.
    assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, wait_and_count, own(), drop, 30), -ETIMEDOUT);
    // Gives up while the call is queued.
    assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, count, own(), drop, 30), -ETIMEDOUT);
    assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, nothing, NULL, NULL, 30), -ETIMEDOUT);
    assert_int_equal(n_owned, 2);
    sem_post(&let_go);
    assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, nothing, NULL, NULL, 5000), 0);
    assert_int_equal(n_owned, 0);
    assert_int_equal(n_dropped_early, 0);
}

mailbox_test(closing_runs_and_drops_what_timed_out)
{
    n_dropped_early = 0;
    assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, wait_and_count, own(), drop, 30), -ETIMEDOUT);
    assert_int_equal(mailbox_post(ROLE_RIB_MANAGER, end_loop, NULL), 0);
    for (unsigned i = 0; i < 300; i++) // more than the loop runs per wake-up
        assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, count, own(), drop, 1), -ETIMEDOUT);
    sem_post(&let_go);
    thread_join(owner);
    assert_int_equal(start_owner(state), 0);
    assert_int_equal(n_owned, 0);
    assert_int_equal(n_dropped_early, 0);
}

mailbox_test(call_in_time_stays_the_callers)
{
    struct owned *o = own();

    assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, count, o, drop, 5000), 0);
    assert_int_equal(o->n_run, 1);
    assert_int_equal(mailbox_call(ROLE_TAP_MANAGER, count, o, drop, 10), -ENOTCONN);
    assert_int_equal(n_owned, 1);
    n_owned--;
    free(o);
}

static void stop_all_of_us(void *arg)
{
    pid_t us = getpid(), child = fork();

    if (!child) {
        kill(us, SIGSTOP);
        usleep(800000);
        kill(us, SIGCONT);
        _exit(0);
    }
    for (unsigned i = 0; i < 20; i++) // some are left to run after the stop
        usleep(10000);
    waitpid(child, NULL, 0);
}

mailbox_test(who_stood_still_has_not_waited)
{
    assert_int_equal(mailbox_call(ROLE_RIB_MANAGER, stop_all_of_us, NULL, NULL, 700), 0);
}

unit_test(role_without_a_box_is_not_connected)
{
    assert_int_equal(mailbox_post(ROLE_TAP_MANAGER, nothing, NULL), -ENOTCONN);
    assert_int_equal(mailbox_call(ROLE_TAP_MANAGER, nothing, NULL, NULL, 10), -ENOTCONN);
}

unit_test(closing_runs_what_is_still_in_the_box)
{
    struct event_base *mine = event_base_new();

    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    assert_int_equal(mailbox_open(mine), 0);
    n_run = n_disorder = 0;
    for (uintptr_t i = 0; i < 10; i++)
        assert_int_equal(mailbox_post(ROLE_CONTROL, expect_number, (void *)i), 0);
    assert_int_equal(n_run, 0);
    mailbox_close();
    assert_int_equal(n_run, 10);
    assert_int_equal(mailbox_post(ROLE_CONTROL, nothing, NULL), -ENOTCONN);
    event_base_free(mine);
}

int main(void)
{
    evthread_use_pthreads();
    rcu_init();
    int r = unit_tests_run(NULL, NULL);
    rcu_fini();
    libevent_global_shutdown();
    return r;
}
