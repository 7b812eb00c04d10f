// SPDX-License-Identifier: BSD-3-Clause
// acl_manager.c - the thread that builds access lists and address sets
//
// One libevent loop, a mailbox, a timer that runs while something waits for a grace period, and one
// a second for last hits. Building is the only thing that takes long, and only one change is built
// at a time; the calls that control waits for come when it is over, so that they are short. Whoever
// asks for rows or counters meanwhile waits for the build: an answer, not control itself.
#include "acl_manager/acl_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acl_manager/acl_active.h"
#include "acl_manager/acl_thread.h"
#include "base/log.h"
#include "core/mailbox.h"
#include "core/thread.h"

#define TIDY_US 20000
#define CALL_TIMEOUT_MS 30000
#define START_TIMEOUT_MS (3600 * 1000)

static struct thread *thread;
static struct event_base *loop;
static struct event *tidy_event, *look_event;
static VEC(struct reply {
    void (*fn)(void *arg);
    void *arg;
}) replies; // control's mailbox was full

// control's
static enum { IDLE, PREPARING, READY } state;
static struct acl_change *change;
static struct preparing *under_way;

// --- the thread ----------------------------------------------------------------------------------

void acl_tidy_later(void)
{
    static const struct timeval pause = {.tv_usec = TIDY_US};

    if (!evtimer_pending(tidy_event, NULL))
        evtimer_add(tidy_event, &pause);
}

void acl_reply(void (*fn)(void *arg), void *arg)
{
    int err = replies.n ? -EAGAIN : mailbox_post(ROLE_CONTROL, fn, arg);

    if (err == -EAGAIN) {
        *vec_push(&replies) = (struct reply){fn, arg};
        acl_tidy_later();
    } else if (err) { // control is ending: nobody is left to be told
        free(arg);
    }
}

static void retry_replies(void)
{
    size_t done = 0;

    while (done < replies.n &&
           mailbox_post(ROLE_CONTROL, replies.item[done].fn, replies.item[done].arg) != -EAGAIN)
        done++;
    if (done)
        memmove(replies.item, replies.item + done, (replies.n - done) * sizeof *replies.item);
    replies.n -= done;
}

static void on_tidy(evutil_socket_t fd, short what, void *arg)
{
    thread_must_be(ROLE_ACL_MANAGER);
    retry_replies();
    if (acl_held_tidy() || replies.n)
        acl_tidy_later();
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    thread_must_be(ROLE_ACL_MANAGER);
    acl_held_look();
    acl_lint_forget(false);
}

struct starting {
    sem_t ready;
    int result;
};

static void free_all(void)
{
    acl_lint_forget(true);
    vec_foreach (&acl_held.list, l) {
        acl_publish(l->id, NULL);
        acl_list_free(l->id);
        acl_build_free(l->build);
    }
    vec_foreach (&acl_held.set, s)
        acl_set_free(s->set);
    vec_free(&acl_held.list);
    vec_free(&acl_held.set);
    acl_wanted_put(acl_held.wanted);
    acl_held.wanted = NULL;
    vec_free(&replies);
}

static void run(void *arg)
{
    struct starting *s = arg;
    int r = -ENOMEM;

    loop = event_base_new();
    tidy_event = loop ? evtimer_new(loop, on_tidy, NULL) : NULL;
    look_event = loop ? event_new(loop, -1, EV_PERSIST, on_look, NULL) : NULL;
    if (tidy_event && look_event && !event_add(look_event, &(struct timeval){.tv_sec = 1}))
        r = mailbox_open(loop);
    acl_held.wanted = acl_wanted_new();
    s->result = r;
    sem_post(&s->ready); // `s` is the starter's again
    if (!r) {
        event_base_loop(loop, EVLOOP_NO_EXIT_ON_EMPTY);
        mailbox_close();
    }
    free_all();
    if (look_event)
        event_free(look_event);
    if (tidy_event)
        event_free(tidy_event);
    if (loop)
        event_base_free(loop);
}

// --- control -------------------------------------------------------------------------------------

int acl_manager_start(void)
{
    struct starting s = {0};
    int r;

    thread_must_be(ROLE_CONTROL);
    sem_init(&s.ready, 0, 0);
    r = thread_start(&thread, ROLE_ACL_MANAGER, THREAD_SLOT_ACL_MANAGER, "acl_manager", -1, run,
                     &s);
    if (!r) {
        while (sem_wait(&s.ready) && errno == EINTR)
            ;
        r = s.result;
        if (r) {
            thread_join(thread);
            thread = NULL;
        }
    }
    sem_destroy(&s.ready);
    return r;
}

int acl_manager_run(void (*fn)(void *arg), void *arg)
{
    thread_must_be(ROLE_CONTROL);
    return mailbox_post(ROLE_ACL_MANAGER, fn, arg);
}

// --- preparing -----------------------------------------------------------------------------------

struct preparing {
    struct acl_wanted *wanted;
    char set[ACL_NAME_MAX], list[ACL_NAME_MAX];
    bool sets, lists;
    void (*done)(void *ctx, int result, const char *why);
    void *ctx;
    struct acl_change *change;
    struct text why;
    bool dropped; // another one went first
};

static struct preparing *preparing_new(const struct acl_prepare_ask *ask)
{
    struct preparing *p = calloc(1, sizeof *p);

    bug_on(!p);
    p->wanted = acl_wanted_get(ask->wanted);
    p->sets = ask->set;
    p->lists = ask->list;
    snprintf(p->set, sizeof p->set, "%s", ask->set ? ask->set : "");
    snprintf(p->list, sizeof p->list, "%s", ask->list ? ask->list : "");
    p->done = ask->done;
    p->ctx = ask->ctx;
    return p;
}

static void preparing_free(struct preparing *p)
{
    acl_wanted_put(p->wanted);
    text_free(&p->why);
    free(p);
}

static void prepare(struct preparing *p)
{
    struct acl_again again = {p->sets ? p->set : NULL, p->lists ? p->list : NULL};

    thread_must_be(ROLE_ACL_MANAGER);
    p->change = acl_prepare(p->wanted, &again, &p->why);
    acl_tidy_later();
}

static void prepared(void *arg)
{
    struct preparing *p = arg;

    if (!p->dropped) {
        under_way = NULL;
        change = p->change;
        state = change ? READY : IDLE;
    }
    p->done(p->ctx, p->dropped ? -EAGAIN : change ? 0 : -EINVAL, text_str(&p->why));
    preparing_free(p);
}

static void prepare_and_tell(void *arg)
{
    prepare(arg);
    acl_reply(prepared, arg);
}

int acl_manager_prepare(const struct acl_prepare_ask *ask)
{
    struct preparing *p;
    int r;

    thread_must_be(ROLE_CONTROL);
    if (state != IDLE)
        return -EBUSY;
    p = preparing_new(ask);
    r = acl_manager_run(prepare_and_tell, p);
    if (r)
        preparing_free(p);
    else
        under_way = p;
    state = r ? IDLE : PREPARING;
    return r;
}

static void nothing(void *arg)
{
}

// What is being prepared, or is ready, gives way.
static void drop_prepared(void)
{
    if (state == PREPARING) {
        bug_on(mailbox_call(ROLE_ACL_MANAGER, nothing, NULL, NULL,
                            START_TIMEOUT_MS)); // it is behind it
        under_way->dropped = true;
        change = under_way->change;
        under_way = NULL;
        state = change ? READY : IDLE;
    }
    if (state == READY)
        acl_manager_end(false);
}

static void prepare_waited_for(void *arg)
{
    prepare(arg);
}

static void drop_waited_for(void *arg)
{
    struct preparing *p = arg;

    if (p->change)
        acl_change_end(p->change, false);
    preparing_free(p);
}

int acl_manager_prepare_now(const struct acl_wanted *wanted, struct text *why)
{
    struct preparing *p;
    int r;

    thread_must_be(ROLE_CONTROL);
    drop_prepared();
    p = preparing_new(&(struct acl_prepare_ask){.wanted = wanted});
    r = mailbox_call(ROLE_ACL_MANAGER, prepare_waited_for, p, drop_waited_for, START_TIMEOUT_MS);
    if (r == -ETIMEDOUT)
        return r;
    change = p->change;
    state = change ? READY : IDLE;
    text_append(why, text_str(&p->why), p->why.n);
    preparing_free(p);
    return r ? r : change ? 0 : -EINVAL;
}

bool acl_manager_is_building(void)
{
    return state == PREPARING;
}

const struct acl_wanted *acl_manager_prepared(void)
{
    return state == READY ? change->wanted : NULL;
}

const struct acl_wanted *acl_manager_wanted(void)
{
    return acl_held.wanted; // written while control waits
}

// --- carrying out --------------------------------------------------------------------------------

struct call {
    struct acl_change *change;
    bool stays;
    int result;
    struct text why;
};

static struct call *call(void (*fn)(void *arg), bool stays)
{
    struct call *c = calloc(1, sizeof *c);
    int r;

    thread_must_be(ROLE_CONTROL);
    bug_on(!c || state != READY);
    c->change = change;
    c->stays = stays;
    r = mailbox_call(ROLE_ACL_MANAGER, fn, c, NULL, CALL_TIMEOUT_MS);
    bug_on(r == -ETIMEDOUT); // nothing that takes long is under way
    if (r)
        c->result = r;
    return c;
}

static int call_end(struct call *c)
{
    int r = c->result;

    text_free(&c->why);
    free(c);
    return r;
}

static void do_change(void *arg)
{
    struct call *c = arg;

    thread_must_be(ROLE_ACL_MANAGER);
    c->result = acl_change_do(c->change, &c->why);
    acl_tidy_later();
}

static void undo_change(void *arg)
{
    thread_must_be(ROLE_ACL_MANAGER);
    acl_change_undo(((struct call *)arg)->change);
}

static void end_change(void *arg)
{
    struct call *c = arg;

    thread_must_be(ROLE_ACL_MANAGER);
    acl_change_end(c->change, c->stays);
    acl_tidy_later();
}

int acl_manager_commit(char *err, size_t err_size)
{
    struct call *c = call(do_change, true);

    if (c->result)
        snprintf(err, err_size, "%s", c->why.n ? c->why.s : strerror(-c->result));
    return call_end(c);
}

void acl_manager_undo(void)
{
    call_end(call(undo_change, false));
}

void acl_manager_end(bool stays)
{
    call_end(call(end_change, stays));
    change = NULL;
    state = IDLE;
}

uint16_t acl_manager_id(const char *name)
{
    thread_must_be(ROLE_CONTROL);
    for (uint16_t id = 1; id < ACL_LIST_MAX; id++)
        if (acl_table[id].content &&
            !strcmp(acl_table[id].name, name)) // written while control waits
            return id;
    return 0;
}

static void break_loop(void *arg)
{
    event_base_loopbreak(loop);
}

void acl_manager_stop(void)
{
    struct timespec pause = {.tv_nsec = 1000000};

    thread_must_be(ROLE_CONTROL);
    if (!thread)
        return;
    drop_prepared();
    while (mailbox_post(ROLE_ACL_MANAGER, break_loop, NULL) == -EAGAIN)
        nanosleep(&pause, NULL);
    thread_join(thread);
    thread = NULL;
    state = IDLE;
}
