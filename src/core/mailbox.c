// SPDX-License-Identifier: BSD-3-Clause
// mailbox.c - calls from one manager role to another
//
// One box per role: a ring of calls under a mutex, and an eventfd that wakes the owner's event
// loop, written only if the box was empty. The owner runs at most MAILBOX_BUDGET calls per wake-up,
// so that its other events get their turn, and wakes itself again for the rest. Closing a box first
// runs the calls in it, because they own memory.
#include "core/mailbox.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define MAILBOX_BUDGET 256
#define SLICE_MS 100

struct call {
    void (*fn)(void *arg);
    void *arg;
};

struct box {
    pthread_mutex_t lock;
    bool open;
    int fd;
    struct event *event;
    unsigned head, n; // oldest call, number of calls
    struct call *call; // [MAILBOX_CALLS]
};

static struct box boxes[ROLE_FORWARDER + 1] = {
    [0 ... ROLE_FORWARDER] = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1}};

static bool take_call(struct box *b, struct call *c)
{
    pthread_mutex_lock(&b->lock);
    bool any = b->n > 0;
    if (any) {
        *c = b->call[b->head];
        b->head = (b->head + 1) % MAILBOX_CALLS;
        b->n--;
    }
    pthread_mutex_unlock(&b->lock);
    return any;
}

static void on_calls(evutil_socket_t fd, short what, void *arg)
{
    struct box *b = arg;
    struct call c;
    eventfd_t count;

    if (eventfd_read(fd, &count) && errno != EAGAIN)
        log_error("mailbox: eventfd: %m");
    for (unsigned i = 0; i < MAILBOX_BUDGET; i++) {
        if (!take_call(b, &c))
            return;
        c.fn(c.arg);
    }
    eventfd_write(fd, 1);
}

int mailbox_open(struct event_base *loop)
{
    struct box *b = &boxes[thread_role()];
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    bug_on(b->open || thread_role() == ROLE_NONE || thread_role() == ROLE_FORWARDER);
    if (fd < 0)
        return -errno;
    struct call *call = calloc(MAILBOX_CALLS, sizeof *call);
    struct event *event = event_new(loop, fd, EV_READ | EV_PERSIST, on_calls, b);
    if (!call || !event || event_add(event, NULL)) {
        if (event)
            event_free(event);
        free(call);
        close(fd);
        return -ENOMEM;
    }
    pthread_mutex_lock(&b->lock);
    b->fd = fd;
    b->event = event;
    b->call = call;
    b->head = b->n = 0;
    b->open = true;
    pthread_mutex_unlock(&b->lock);
    return 0;
}

void mailbox_close(void)
{
    struct box *b = &boxes[thread_role()];
    struct call c;

    pthread_mutex_lock(&b->lock);
    bool was_open = b->open;
    b->open = false;
    pthread_mutex_unlock(&b->lock);
    if (!was_open)
        return;
    while (take_call(b, &c))
        c.fn(c.arg);
    event_free(b->event);
    close(b->fd);
    free(b->call);
    b->call = NULL;
    b->fd = -1;
}

int mailbox_fd(void)
{
    return boxes[thread_role()].fd;
}

int mailbox_post(enum thread_role role, void (*fn)(void *arg), void *arg)
{
    struct box *b = &boxes[role];
    int r = 0;

    pthread_mutex_lock(&b->lock);
    if (!b->open) {
        r = -ENOTCONN;
    } else if (b->n == MAILBOX_CALLS) {
        r = -EAGAIN;
    } else {
        b->call[(b->head + b->n++) % MAILBOX_CALLS] = (struct call){fn, arg};
        if (b->n == 1)
            eventfd_write(b->fd, 1); // under the lock, so that the fd stays open
    }
    pthread_mutex_unlock(&b->lock);
    return r;
}

// One waiting call, shared by caller and callee; the caller frees it unless it has given up.
struct waiting {
    sem_t done;
    _Atomic bool over; // set by the first of two: the call has run, or the caller has given up
    struct call call;
    void (*drop)(void *arg); // called after the call if the caller has given up
};

static void waiting_free(struct waiting *w)
{
    sem_destroy(&w->done);
    free(w);
}

static void waiting_run(void *arg)
{
    struct waiting *w = arg;

    if (w->call.fn)
        w->call.fn(w->call.arg);
    if (!atomic_exchange(&w->over, true)) {
        sem_post(&w->done); // the caller frees `w`
        return;
    }
    if (w->drop)
        w->drop(w->call.arg);
    waiting_free(w);
}

// Waits in slices, so that time during which the process is stopped (suspended machine, debugger)
// does not count.
static bool wait_slice(struct waiting *w, int ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000l;
    until.tv_sec += until.tv_nsec / 1000000000l;
    until.tv_nsec %= 1000000000l;
    return !TEMP_FAILURE_RETRY(sem_clockwait(&w->done, CLOCK_MONOTONIC, &until));
}

// Subtracts the time spent waiting for room from *left_ms.
static int post_when_room(enum thread_role role, struct waiting *w, int *left_ms)
{
    int r;

    while ((r = mailbox_post(role, waiting_run, w)) == -EAGAIN && *left_ms > 0) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        --*left_ms;
    }
    return r;
}

int mailbox_call(enum thread_role role, void (*fn)(void *arg), void *arg, void (*drop)(void *arg),
                 int timeout_ms)
{
    struct waiting *w = calloc(1, sizeof *w);
    int left = timeout_ms, r;
    bool done = false;

    if (!w)
        return -ENOMEM;
    w->call = (struct call){fn, arg};
    w->drop = drop;
    sem_init(&w->done, 0, 0);
    r = post_when_room(role, w, &left);
    for (; !r && !done && left > 0; left -= SLICE_MS)
        done = wait_slice(w, left < SLICE_MS ? left : SLICE_MS);
    if (!r && !done && !atomic_exchange(&w->over, true))
        return -ETIMEDOUT; // waiting_run frees `w`
    if (!r && !done)       // it has run at the last moment
        TEMP_FAILURE_RETRY(sem_wait(&w->done));
    waiting_free(w);
    return r;
}
