// SPDX-License-Identifier: BSD-3-Clause
// aside_test.c - turns run in order and are suspended during their work while the loop continues;
// stopping completes all of it
#include "core/aside.h"

#include <event2/event.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/thread.h"
#include "tests/unit.h"

static struct event_base *loop;
static char said[512]; // written by turns, in order
static sem_t begun, let_go;

static void say(const char *word)
{
    strncat(said, word, sizeof said - strlen(said) - 1);
}

static int set_up(void **state)
{
    said[0] = 0;
    sem_init(&begun, 0, 0);
    sem_init(&let_go, 0, 0);
    loop = event_base_new();
    return aside_start(loop);
}

static int tear_down(void **state)
{
    aside_stop();
    event_base_free(loop);
    return 0;
}

static void run_until(const char *wanted)
{
    for (unsigned i = 0; strcmp(said, wanted) && i < 5000; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        usleep(1000);
    }
    assert_string_equal(said, wanted);
}

// --- what turns do ------------------------------------------------------------------------------

static void note_thread(void *arg)
{
    *(pthread_t *)arg = pthread_self();
}

static void wait_to_go(void *arg)
{
    sem_post(&begun);
    sem_wait(&let_go);
}

static void held(void *ctx) // says its name before and after
{
    say(ctx);
    aside(wait_to_go, NULL);
    say(ctx);
}

static void quick(void *ctx)
{
    say(ctx);
}

static void dropped(void *ctx)
{
    say("-");
    say(ctx);
}

static void turn_of(struct fair_share *of, void (*run)(void *ctx), const char *name)
{
    aside_turn(ASIDE_CHANGE, &(struct turn){run, dropped, (void *)(uintptr_t)name, of});
}

static void turn(enum aside_lane lane, void (*run)(void *ctx), const char *name)
{
    aside_turn(lane, &(struct turn){run, dropped, (void *)(uintptr_t)name, NULL});
}

static void where(void *ctx)
{
    pthread_t worker;

    aside(note_thread, &worker);
    assert_false(pthread_equal(worker, pthread_self()));
    assert_int_equal(thread_role(), ROLE_CONTROL);
    say("here");
}

// --- tests --------------------------------------------------------------------------------------

#define aside_test(name) unit_test_of(name, set_up, tear_down)

aside_test(work_is_another_threads_and_the_turn_is_controls)
{
    turn(ASIDE_CHANGE, where, "");
    run_until("here");
}

aside_test(turns_of_a_lane_come_in_order)
{
    turn(ASIDE_CHANGE, held, "a");
    turn(ASIDE_CHANGE, held, "b");
    turn(ASIDE_CHANGE, quick, "c");
    sem_wait(&begun);
    for (unsigned i = 0; i < 20; i++)
        event_base_loop(loop, EVLOOP_NONBLOCK);
    assert_string_equal(said, "a"); // the loop continues, b has not begun
    sem_post(&let_go);
    run_until("aab");
    sem_post(&let_go);
    run_until("aabbc");
}

aside_test(lanes_do_not_wait_for_each_other)
{
    turn(ASIDE_CHANGE, held, "a");
    sem_wait(&begun);
    turn(ASIDE_READ, where, "");
    run_until("ahere");
    sem_post(&let_go);
    run_until("aherea");
}

static void begin_other(void *ctx)
{
    say("x");
    turn(ASIDE_READ, held, "r");
    turn(ASIDE_CHANGE, quick, "c");
    aside(note_thread, &(pthread_t){0});
    say("y");
}

aside_test(a_turn_may_begin_another)
{
    turn(ASIDE_CHANGE, begin_other, "");
    run_until("xryc");
    sem_post(&let_go);
    run_until("xrycr");
}

aside_test(many_turns_of_one_share_hold_up_no_other)
{
    struct fair_share many = {0}, few = {0};
    char expected[130] = "aafm";

    turn_of(&many, held, "a");
    for (unsigned i = 0; i < 100; i++)
        turn_of(&many, quick, "m");
    turn_of(&few, quick, "f");
    sem_wait(&begun);
    sem_post(&let_go);
    memset(expected + 4, 'm', 99);
    run_until(expected);
}

// --- aside_wait() -------------------------------------------------------------------------------

static struct aside_wait *answer; // a turn waits for it

static void asks(void *ctx)
{
    struct aside_wait w = {0};

    answer = &w;
    say(ctx);
    say(aside_wait(&w) ? "+" : "-");
}

aside_test(a_turn_waits_for_an_answer_while_the_loop_goes_on)
{
    turn(ASIDE_CHANGE, asks, "a");
    turn(ASIDE_CHANGE, quick, "b");
    turn(ASIDE_READ, quick, "r");
    for (unsigned i = 0; i < 20; i++)
        event_base_loop(loop, EVLOOP_NONBLOCK);
    assert_string_equal(said, "ar");
    assert_false(aside_busy(ASIDE_CHANGE)); // it is not in the middle of a change
    aside_go_on(answer);
    run_until("ar+b");
}

aside_test(an_answer_that_is_there_is_not_waited_for)
{
    struct aside_wait w = {0};

    aside_go_on(&w);
    assert_true(w.over);
    turn(ASIDE_CHANGE, asks, "a");
    aside_go_on(answer);
    run_until("a+");
}

aside_test(stopping_ends_a_wait)
{
    turn(ASIDE_CHANGE, asks, "a");
    aside_stop();
    assert_string_equal(said, "a-");
}

static void *let_go_soon(void *arg)
{
    usleep(50000);
    sem_post(&let_go);
    return NULL;
}

static void work_twice(void *ctx)
{
    assert_false(aside_stopped());
    held(ctx);
    assert_true(aside_stopped());
    pthread_t worker;
    aside(note_thread, &worker);
    assert_true(pthread_equal(worker, pthread_self())); // there is no worker any more
}

aside_test(stopping_ends_what_has_begun_and_drops_the_rest)
{
    pthread_t other;

    turn(ASIDE_CHANGE, work_twice, "a");
    turn(ASIDE_CHANGE, quick, "b");
    turn(ASIDE_READ, quick, "r");
    assert_int_equal(pthread_create(&other, NULL, let_go_soon, NULL), 0);
    aside_stop();
    pthread_join(other, NULL);
    assert_string_equal(said, "ara-b");
    assert_false(aside_stopped()); // not in a turn
}

static void *freed;

static void free_aside(void *arg)
{
    usleep(20000);
    __atomic_store_n(&freed, arg, __ATOMIC_RELEASE);
}

aside_test(what_nobody_waits_for_is_done_before_the_end)
{
    aside_later(free_aside, said);
    assert_null(__atomic_load_n(&freed, __ATOMIC_ACQUIRE));
    aside_stop();
    assert_ptr_equal(freed, said);
}

static pthread_t worker_of[ASIDE_LANES], later_by[ASIDE_LANES];

static void note_workers(void *ctx)
{
    enum aside_lane lane = *(enum aside_lane *)ctx;

    aside(note_thread, &worker_of[lane]);
    aside_later(note_thread, &later_by[lane]);
    say(".");
}

// The turn's next work need not wait for it.
aside_test(what_nobody_waits_for_is_the_other_lanes)
{
    static enum aside_lane read = ASIDE_READ, change = ASIDE_CHANGE;

    aside_turn(read, &(struct turn){note_workers, dropped, &read, NULL});
    aside_turn(change, &(struct turn){note_workers, dropped, &change, NULL});
    run_until("..");
    aside_stop();
    assert_false(pthread_equal(worker_of[ASIDE_READ], worker_of[ASIDE_CHANGE]));
    assert_true(pthread_equal(later_by[ASIDE_READ], worker_of[ASIDE_CHANGE]));
    assert_true(pthread_equal(later_by[ASIDE_CHANGE], worker_of[ASIDE_READ]));
}

unit_test(without_a_start_all_is_done_at_once)
{
    pthread_t worker;

    said[0] = 0;
    turn(ASIDE_CHANGE, quick, "a");
    aside(note_thread, &worker);
    assert_true(pthread_equal(worker, pthread_self()));
    assert_string_equal(said, "a");
}

static unsigned ticks;

static void tick(evutil_socket_t fd, short what, void *arg)
{
    ticks++;
}

static void pauses(void *ctx)
{
    for (uint64_t until_ns = clock_now_ns() + 10 * ASIDE_SLICE_NS; clock_now_ns() < until_ns;
         usleep(1000))
        aside_pause();
    say(ctx);
}

aside_test(what_cannot_be_done_aside_pauses)
{
    struct event *e = event_new(loop, -1, EV_PERSIST, tick, NULL);

    event_add(e, &(struct timeval){.tv_usec = 1000});
    ticks = 0;
    turn(ASIDE_CHANGE, pauses, "a");
    run_until("a");
    assert_true(ticks >= 3); // on a busy machine each may take longer
    event_free(e);
}

// Two lanes, many turns, several jobs each: for ThreadSanitizer.
static unsigned long sum[ASIDE_LANES], later[ASIDE_LANES];
static unsigned ended;

static void add(void *arg)
{
    ++*(unsigned long *)arg;
}

static void adds(void *ctx)
{
    unsigned long *n = ctx;

    for (unsigned i = 0; i < 10; i++) {
        aside(add, n);
        ++*n;
    }
    aside_later(add, &later[n == &sum[1]]);
    aside(add, n);
    ended++;
}

aside_test(many_turns_lose_nothing)
{
    unsigned asked = 0;

    while (ended < 2000) {
        for (unsigned i = 0; asked < 2000 && i < 100; asked++, i++)
            aside_turn(asked & 1, &(struct turn){adds, dropped, &sum[asked & 1], NULL});
        event_base_loop(loop, EVLOOP_ONCE);
    }
    assert_int_equal(sum[0] + sum[1], 2000 * 21);
    aside_stop();
    assert_int_equal(later[0] + later[1], 2000);
}

int main(void)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return unit_tests_run(NULL, NULL);
}
