// SPDX-License-Identifier: BSD-3-Clause
// manager.c - a thread with a role, an event loop and a mailbox (manager.h)
//
// manager_start() returns when the manager's begin() has succeeded and its mailbox is open, or with
// the error. A call that control waits for has its argument copied: it may outlive the caller that
// gave up waiting. Answers that control's mailbox refuses wait in order in the manager and are
// posted again by a timer.
#include "core/manager.h"

#include <errno.h>
#include <event2/event.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/aside.h"
#include "core/mailbox.h"

#define CALL_TIMEOUT_MS 30000
#define RETRY_US 1000

static _Thread_local struct manager *self;

void drop_event(struct event **e)
{
    if (*e)
        event_free(*e);
    *e = NULL;
}

// --- answers ---

static void retry_later(struct manager *m)
{
    evtimer_add(m->retry, &(struct timeval){.tv_usec = RETRY_US});
}

static void retry_replies(evutil_socket_t fd, short what, void *arg)
{
    struct manager *m = arg;
    size_t done = 0;

    while (done < m->replies.n && mailbox_post(ROLE_CONTROL, m->replies.item[done].fn,
                                               m->replies.item[done].arg) != -EAGAIN)
        done++;
    m->replies.n -= done;
    if (!m->replies.n)
        return;
    memmove(m->replies.item, m->replies.item + done, m->replies.n * sizeof *m->replies.item);
    retry_later(m);
}

void manager_reply(void (*fn)(void *arg), void *arg)
{
    int err = self && self->replies.n ? -EAGAIN : mailbox_post(ROLE_CONTROL, fn, arg);

    if (err == -EAGAIN && self) {
        *vec_push(&self->replies) = (struct manager_reply){fn, arg};
        retry_later(self);
    } else if (err) { // control is stopping, or a unit test has none
        free(arg);
    }
}

// --- the thread ---

struct starting {
    struct manager *manager;
    sem_t ready;
    int result;
};

static int open_loop(struct manager *m)
{
    m->loop = event_base_new();
    m->retry = m->loop ? evtimer_new(m->loop, retry_replies, m) : NULL;
    return m->retry ? 0 : -ENOMEM;
}

static void close_loop(struct manager *m)
{
    drop_event(&m->retry);
    if (m->loop)
        event_base_free(m->loop);
    m->loop = NULL;
    vec_free(&m->replies);
}

static void manager_main(void *arg)
{
    struct starting *s = arg;
    struct manager *m = s->manager;
    int opened = open_loop(m), err;

    self = m;
    opened = opened ? opened : mailbox_open(m->loop);
    err = opened ? opened : m->begin(m->loop);
    s->result = err;
    sem_post(&s->ready); // `s` is gone from here on
    if (!err && m->run)
        m->run(m->loop);
    else if (!err)
        event_base_loop(m->loop, EVLOOP_NO_EXIT_ON_EMPTY);
    mailbox_close();
    if (!opened)
        m->end();
    close_loop(m);
}

// --- control ---

int manager_start(struct manager *m)
{
    struct starting s = {.manager = m};
    int err;

    thread_must_be(ROLE_CONTROL);
    sem_init(&s.ready, 0, 0);
    err = thread_start(&m->thread, m->role, m->slot, m->name, -1, manager_main, &s);
    if (!err) {
        TEMP_FAILURE_RETRY(sem_wait(&s.ready));
        err = s.result;
        if (err) {
            thread_join(m->thread);
            m->thread = NULL;
        }
    }
    sem_destroy(&s.ready);
    return err;
}

static void break_loop(void *arg)
{
    event_base_loopbreak(arg);
}

void manager_stop(struct manager *m)
{
    thread_must_be(ROLE_CONTROL);
    if (!m->thread)
        return;
    while (mailbox_post(m->role, break_loop, m->loop) == -EAGAIN)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    thread_join(m->thread);
    m->thread = NULL;
}

int manager_ask(enum thread_role role, void (*fn)(void *arg), const void *arg, size_t size)
{
    void *copy = malloc(size);
    int err;

    thread_must_be(ROLE_CONTROL);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, arg, size);
    err = mailbox_post(role, fn, copy);
    if (err)
        free(copy);
    return err;
}

// --- calls that control waits for ---

struct call { // may outlive its caller
    int (*fn)(void *arg);
    int result;
    max_align_t arg[];
};

struct waiting {
    enum thread_role role;
    struct call *call;
    int timeout_ms, result;
};

static struct waiting waiting_for(enum thread_role role, int (*fn)(void *arg), const void *arg,
                                  size_t size, int timeout_ms)
{
    struct waiting w = {role, malloc(sizeof *w.call + size), timeout_ms, -ENOMEM};

    if (w.call) {
        w.call->fn = fn;
        memcpy(w.call->arg, arg, size);
    }
    return w;
}

static void run_call(void *arg)
{
    struct call *c = arg;

    if (self && self->before_call)
        self->before_call();
    c->result = c->fn(c->arg);
}

static void wait_for_call(void *arg)
{
    struct waiting *w = arg;

    if (!w->call)
        return;
    int r = mailbox_call(w->role, run_call, w->call, free, w->timeout_ms);
    w->result = r ? r : w->call->result;
    if (r != -ETIMEDOUT)
        free(w->call);
}

int manager_call_short(enum thread_role role, int (*fn)(void *arg), const void *arg, size_t size,
                       int timeout_ms)
{
    struct waiting w = waiting_for(role, fn, arg, size, timeout_ms);

    wait_for_call(&w);
    return w.result;
}

int manager_call(enum thread_role role, int (*fn)(void *arg), const void *arg, size_t size)
{
    struct waiting w = waiting_for(role, fn, arg, size, CALL_TIMEOUT_MS);

    thread_must_be(ROLE_CONTROL);
    aside(wait_for_call, &w); // the manager may take long, if it has a table to read first
    return w.result;
}
