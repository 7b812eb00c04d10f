// SPDX-License-Identifier: BSD-3-Clause
// manager_test.c - a manager starts or reports why not; calls wait, answers arrive in order
#include "core/manager.h"

#include <errno.h>
#include <event2/event.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/aside.h"
#include "core/mailbox.h"
#include "core/rcu.h"
#include "tests/unit.h"

static int begin_result;
static unsigned n_begun, n_ended, n_before;
static struct event_base *control;

static int begin(struct event_base *loop)
{
    n_begun += loop && thread_role() == ROLE_RIB_MANAGER;
    return begin_result;
}

static void end(void)
{
    n_ended += thread_role() == ROLE_RIB_MANAGER;
}

static void before_call(void)
{
    n_before += thread_role() == ROLE_RIB_MANAGER;
}

static struct manager manager = {.role = ROLE_RIB_MANAGER,
                                 .slot = THREAD_SLOT_RIB_MANAGER,
                                 .name = "manager",
                                 .begin = begin,
                                 .end = end,
                                 .before_call = before_call};

static int start(void **state)
{
    begin_result = 0;
    n_begun = n_ended = n_before = 0;
    return manager_start(&manager);
}

static int stop(void **state)
{
    manager_stop(&manager);
    return 0;
}

unit_test(a_manager_that_cannot_begin_is_not_started)
{
    n_begun = n_ended = 0;
    begin_result = -ENOSPC;
    assert_int_equal(manager_start(&manager), -ENOSPC);
    assert_null(manager.thread);
    assert_int_equal(n_begun, 1);
    assert_int_equal(n_ended, 1);
    manager_stop(&manager); // does nothing
    begin_result = 0;
    assert_int_equal(manager_start(&manager), 0);
    manager_stop(&manager);
    assert_int_equal(n_ended, 2);
}

struct sum {
    int a, b;
};

static int add(void *arg)
{
    struct sum *s = arg;

    assert_int_equal(thread_role(), ROLE_RIB_MANAGER);
    s->a += s->b; // in the copy
    return s->a;
}

#define manager_test(name) unit_test_of(name, start, stop)

manager_test(a_call_returns_its_result)
{
    struct sum s = {20, 22};

    assert_int_equal(manager_call(ROLE_RIB_MANAGER, add, &s, sizeof s), 42);
    assert_int_equal(s.a, 20);
    assert_int_equal(n_before, 1);
    assert_int_equal(manager_call(ROLE_TAP_MANAGER, add, &s, sizeof s), -ENOTCONN);
}

static unsigned n_rounds;

static void run_rounds(struct event_base *loop)
{
    for (; !event_base_got_break(loop); n_rounds++)
        event_base_loop(loop, EVLOOP_ONCE);
}

unit_test(a_manager_can_run_its_own_rounds)
{
    struct sum s = {20, 22};

    manager.run = run_rounds;
    n_rounds = 0;
    assert_int_equal(start(NULL), 0);
    assert_int_equal(manager_call(ROLE_RIB_MANAGER, add, &s, sizeof s), 42);
    stop(NULL);
    manager.run = NULL;
    assert_true(n_rounds > 0);
    assert_int_equal(n_ended, 1);
}

static sem_t held, emptied;
static struct sum changing; // while a turn waits
static int result_of_turn;

static void hold_worker(void *arg)
{
    sem_wait(&held);
}

static void call_in_turn(void *ctx)
{
    result_of_turn = manager_call(ROLE_RIB_MANAGER, add, &changing, sizeof changing);
}

manager_test(a_call_has_the_argument_of_its_begin)
{
    changing = (struct sum){20, 22};
    result_of_turn = 0;
    assert_int_equal(aside_start(control), 0);
    aside_later(hold_worker, NULL); // of the lane in which the turn runs
    aside_turn(ASIDE_READ, &(struct turn){.run = call_in_turn});
    changing.a = 1000;
    sem_post(&held);
    while (!result_of_turn)
        event_base_loop(control, EVLOOP_ONCE);
    assert_int_equal(result_of_turn, 42);
    aside_stop();
}

#define QUESTIONS (3 * MAILBOX_CALLS) // more answers than fit into control's mailbox

struct question {
    unsigned n;
};

static unsigned n_answered, n_disorder;

static void take_answer(void *arg)
{
    struct question *q = arg;

    n_disorder += q->n != n_answered++;
    free(q);
}

static void answer_question(void *arg)
{
    manager_reply(take_answer, arg);
}

static int ask_question(enum thread_role role, unsigned n)
{
    return manager_ask(role, answer_question, &(struct question){n}, sizeof(struct question));
}

// Answers while older answers wait and control's mailbox has room again.
static void answer_when_emptied(void *arg)
{
    sem_post(&held);
    sem_wait(&emptied);
    manager_reply(take_answer, arg);
}

static void run_control(void)
{
    for (unsigned before = n_answered + 1; before != n_answered;) {
        before = n_answered;
        event_base_loop(control, EVLOOP_NONBLOCK);
    }
}

manager_test(answers_come_in_order_when_control_was_busy)
{
    n_answered = n_disorder = 0;
    for (unsigned i = 0; i < QUESTIONS; i++)
        while (ask_question(ROLE_RIB_MANAGER, i))
            usleep(100);
    assert_int_equal(manager_call(ROLE_RIB_MANAGER, add, &(struct sum){0}, sizeof(struct sum)), 0);
    assert_int_equal(n_answered, 0);
    assert_int_equal(manager_ask(ROLE_RIB_MANAGER, answer_when_emptied,
                                 &(struct question){QUESTIONS}, sizeof(struct question)),
                     0);
    sem_wait(&held);
    run_control();
    assert_int_equal(n_answered, MAILBOX_CALLS);
    sem_post(&emptied);
    for (unsigned ms = 0; n_answered <= QUESTIONS && ms < 60000; ms++) {
        run_control();
        usleep(1000);
    }
    assert_int_equal(n_answered, QUESTIONS + 1);
    assert_int_equal(n_disorder, 0);
    assert_int_equal(ask_question(ROLE_TAP_MANAGER, 0), -ENOTCONN);
}

int main(void)
{
    int r;

    sem_init(&held, 0, 0);
    sem_init(&emptied, 0, 0);
    rcu_init();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    rcu_thread_register();
    rcu_offline();
    control = event_base_new();
    if (!control || mailbox_open(control))
        return 1;
    r = unit_tests_run(NULL, NULL);
    mailbox_close();
    event_base_free(control);
    rcu_thread_unregister();
    rcu_fini();
    return r;
}
