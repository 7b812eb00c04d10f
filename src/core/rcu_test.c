// SPDX-License-Identifier: BSD-3-Clause
// rcu_test.c - grace periods wait for online readers only
#include "core/rcu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/thread.h"
#include "tests/unit.h"

struct thing {
    struct rcu_retired retired;
    _Atomic int alive;
    struct thing *unlinked; // list of retired ones
};

static struct thing *root;
static _Atomic bool stop, held, let_go, seen_dead;
static _Atomic unsigned n_freed;

// The reader uses the thing for a while within one burst; it must not die meanwhile.
static void read_thing(void *arg)
{
    while (!stop) {
        struct thing *t = rcu_load(&root);
        for (int i = 0; i < 200; i++)
            if (!atomic_load(&t->alive))
                seen_dead = true;
        rcu_quiescent();
    }
}

static void thing_dies(struct rcu_retired *r)
{
    struct thing *t = (struct thing *)r;

    atomic_store(&t->alive, 0); // memory stays until the test ends, to detect a late reader
    n_freed++;
}

// The same, protected only by being online; goes offline in between, like a sleeping forwarder.
static void read_thing_now_and_then(void *arg)
{
    while (!stop) {
        rcu_online();
        struct thing *t = rcu_load(&root);
        for (int i = 0; i < 20; i++)
            if (!atomic_load(&t->alive))
                seen_dead = true;
        rcu_offline();
    }
}

static void reader_as_manager(void *arg)
{
    rcu_online();
    read_thing(arg);
    rcu_offline();
}

static void readers_never_see_a_retired_thing_die(void (*read)(void *arg))
{
    enum { N = 20000 };
    struct thing *things = calloc(N + 1, sizeof *things);
    struct thread *reader[2];

    for (unsigned i = 0; i <= N; i++)
        things[i].alive = 1;
    root = &things[0];
    n_freed = 0;
    stop = seen_dead = false;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(
            thread_start(&reader[i], ROLE_RIB_MANAGER, 1 + i, "reader", -1, read, NULL),
            0);
    for (unsigned i = 1; i <= N; i++) {
        struct thing *old = root;
        rcu_publish(&root, &things[i]);
        rcu_retire(&old->retired, thing_dies);
        if (i % 500 == 0)
            rcu_synchronize();
    }
    rcu_barrier();
    stop = true;
    thread_join(reader[0]);
    thread_join(reader[1]);
    assert_false(seen_dead);
    assert_int_equal(n_freed, N);
    free(things);
}

unit_test(readers_that_poll_never_see_a_retired_thing_die)
{
    readers_never_see_a_retired_thing_die(reader_as_manager);
}

unit_test(readers_that_come_and_go_never_see_a_retired_thing_die)
{
    readers_never_see_a_retired_thing_die(read_thing_now_and_then);
}

static void hold_for_a_while(void *arg)
{
    rcu_online();
    held = true;
    usleep(50000);
    let_go = true;
    rcu_offline();
}

unit_test(synchronize_waits_for_an_online_reader)
{
    struct thread *t;

    held = let_go = false;
    assert_int_equal(thread_start(&t, ROLE_RIB_MANAGER, 1, "holder", -1, hold_for_a_while, NULL),
                     0);
    while (!held)
        usleep(100);
    rcu_synchronize();
    assert_true(let_go);
    thread_join(t);
}

static void sleep_offline(void *arg)
{
    while (!stop)
        usleep(1000);
}

// Managers sleep offline; otherwise no grace period would ever end.
unit_test(synchronize_does_not_wait_for_a_sleeping_manager)
{
    struct thread *t;

    stop = false;
    assert_int_equal(thread_start(&t, ROLE_RIB_MANAGER, 1, "sleeper", -1, sleep_offline, NULL), 0);
    rcu_synchronize();
    rcu_barrier();
    assert_false(stop);
    stop = true;
    thread_join(t);
}

unit_test(synchronize_from_an_online_reader_does_not_wait_for_itself)
{
    rcu_thread_register();
    rcu_synchronize();
    rcu_quiescent();
    rcu_barrier();
    rcu_thread_unregister();
}

static struct thing again;

static void retire_again(struct rcu_retired *r)
{
    n_freed++;
}

unit_test(fini_runs_what_is_still_waiting)
{
    n_freed = 0;
    rcu_retire(&again.retired, retire_again);
    rcu_fini();
    assert_int_equal(n_freed, 1);
    rcu_init();
}

static void retire_once_more(struct rcu_retired *r)
{
    if (++n_freed == 1)
        rcu_retire(r, retire_once_more);
}

unit_test(a_callback_may_retire_again)
{
    n_freed = 0;
    rcu_retire(&again.retired, retire_once_more);
    rcu_barrier(); // waits for the first; its callback retires again before the barrier ends
    rcu_barrier();
    assert_int_equal(n_freed, 2);
}

static unsigned order[3];

static void note_order(struct rcu_retired *r)
{
    order[n_freed++] = (unsigned)((struct thing *)r)->alive;
}

unit_test(callbacks_run_in_the_order_of_retiring)
{
    struct thing things[3] = {{.alive = 1}, {.alive = 2}, {.alive = 3}};

    n_freed = 0;
    for (unsigned i = 0; i < 3; i++)
        rcu_retire(&things[i].retired, note_order);
    rcu_barrier();
    assert_true(order[0] == 1 && order[1] == 2 && order[2] == 3);
}
