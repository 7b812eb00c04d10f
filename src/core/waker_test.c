// SPDX-License-Identifier: BSD-3-Clause
// waker_test.c - no thread sleeps while it has work
#include "core/waker.h"
#include "tests/unit.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define HANDED 20000u
#define LOST_MS 20000 // far beyond any scheduling delay: a longer sleep is a lost wake-up

static struct waker waker;
static unsigned given, taken; // counters; the sleeper waits for given > taken

static bool is_readable(void)
{
    struct pollfd p = {.fd = waker.fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

unit_test(who_is_awake_is_not_written_to)
{
    assert_int_equal(waker_init(&waker), 0);
    waker_wake(&waker);
    assert_false(is_readable());
    waker_fini(&waker);
}

unit_test(who_sleeps_is_woken_once_and_starts_afresh)
{
    assert_int_equal(waker_init(&waker), 0);
    for (unsigned i = 0; i < 3; i++) {
        waker_prepare(&waker);
        assert_false(is_readable());
        waker_wake(&waker);
        waker_wake(&waker);
        assert_true(is_readable());
        waker_done(&waker);
        assert_false(is_readable());
        waker_wake(&waker);
        assert_false(is_readable());
    }
    waker_prepare(&waker);
    waker_done(&waker); // does not sleep after all
    assert_int_equal(waker.sleeps, 0);
    waker_fini(&waker);
}

static void *sleep_and_take(void *arg)
{
    bool *lost = arg;

    while (taken < HANDED && !__atomic_load_n(lost, __ATOMIC_RELAXED)) {
        struct pollfd p = {.fd = waker.fd, .events = POLLIN};
        waker_prepare(&waker);
        if (__atomic_load_n(&given, __ATOMIC_RELAXED) == taken)
            __atomic_store_n(lost, poll(&p, 1, LOST_MS) == 0, __ATOMIC_RELAXED);
        waker_done(&waker);
        __atomic_store_n(&taken, __atomic_load_n(&given, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    }
    return NULL;
}

unit_test(no_wake_up_is_lost_between_two_threads)
{
    pthread_t thread;
    bool lost = false;

    assert_int_equal(waker_init(&waker), 0);
    given = taken = 0;
    assert_int_equal(pthread_create(&thread, NULL, sleep_and_take, &lost), 0);
    while (given < HANDED && !__atomic_load_n(&lost, __ATOMIC_RELAXED)) {
        __atomic_store_n(&given, given + 1, __ATOMIC_RELAXED);
        waker_wake(&waker);
        // After every odd one, waits until it is taken, so that the next one may meet the sleeper
        // on its way into sleep.
        while (given % 2 && __atomic_load_n(&taken, __ATOMIC_RELAXED) != given &&
               !__atomic_load_n(&lost, __ATOMIC_RELAXED))
            ;
    }
    pthread_join(thread, NULL);
    assert_false(lost);
    assert_int_equal(taken, HANDED);
    waker_fini(&waker);
}

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

unit_test(a_file_that_woke_is_emptied)
{
    int fd = eventfd(0, EFD_NONBLOCK);
    uint64_t n = 1;

    assert_false(waker_file_empty(fd, 8));
    assert_int_equal(write(fd, &n, sizeof n), sizeof n);
    assert_true(waker_file_empty(fd, 8));
    assert_false(readable(fd));
    close(fd);
}

// Like the file of a vhost queue: an epoll set of the driver with an eventfd that nobody reads.
unit_test(an_edge_tells_each_event_of_a_file_that_nobody_empties)
{
    int fd = eventfd(0, EFD_NONBLOCK), set = epoll_create1(0), edge;
    struct epoll_event e = {.events = EPOLLIN, .data.fd = set};
    uint64_t n = 1;

    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e), 0);
    edge = waker_edge_new(set);
    assert_true(edge >= 0);
    assert_false(readable(edge));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(write(fd, &n, sizeof n), sizeof n);
        assert_true(readable(set) && readable(edge));
        assert_true(waker_file_empty(edge, 0));
        assert_true(readable(set) && !readable(edge));
        assert_false(waker_file_empty(edge, 0));
    }
    close(edge);
    assert_int_equal(waker_edge_new(-1), -1);
    close(set);
    close(fd);
}
