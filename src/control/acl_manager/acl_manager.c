// SPDX-License-Identifier: BSD-3-Clause
// acl_manager.c - the thread that builds access lists and address sets (acl_manager.h)
//
// One libevent loop, a mailbox, a timer while something waits for a grace period, and one timer a
// second for last hits. Only building takes long, and one change is built at a time. Control waits
// only for the short calls afterwards; queries are answered after the build, asynchronously.
#include "acl_manager/acl_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_active.h"
#include "base/log.h"
#include "core/mailbox.h"
#include "core/manager.h"

#define TIDY_US 20000
#define CALL_TIMEOUT_MS 30000
#define START_TIMEOUT_MS (3600 * 1000)

static struct event *tidy_event, *look_event;

// control's
static enum { IDLE, PREPARING, READY } change_state;
static struct acl_change *current_change;
static struct preparing *current_preparing;
static struct { // of the state in force
    struct acl_sizes sizes;
    unsigned version;
} in_force;

// --- the thread ----------------------------------------------------------------------------------

void acl_tidy_later(void)
{
    static const struct timeval pause = {.tv_usec = TIDY_US};

    if (!evtimer_pending(tidy_event, NULL))
        evtimer_add(tidy_event, &pause);
}

static void on_tidy(evutil_socket_t fd, short what, void *arg)
{
    thread_must_be(ROLE_ACL_MANAGER);
    if (acl_active_tidy())
        acl_tidy_later();
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    thread_must_be(ROLE_ACL_MANAGER);
    acl_active_sample_hits();
    acl_lint_forget(false);
}

static void active_free_all(void)
{
    acl_lint_forget(true);
    vec_foreach (&acl_active.list, l) {
        acl_publish(l->id, NULL);
        acl_list_free(l->id);
        acl_build_free(l->build);
    }
    vec_foreach (&acl_active.set, s)
        acl_set_free(s->set);
    vec_free(&acl_active.list);
    vec_free(&acl_active.set);
    acl_desired_put(acl_active.wanted);
    acl_active.wanted = NULL;
}

static int begin_manager(struct event_base *loop)
{
    acl_active.wanted = acl_desired_new();
    tidy_event = evtimer_new(loop, on_tidy, NULL);
    look_event = event_new(loop, -1, EV_PERSIST, on_look, NULL);
    return tidy_event && look_event && !event_add(look_event, &(struct timeval){.tv_sec = 1})
               ? 0
               : -ENOMEM;
}

static void end_manager(void)
{
    active_free_all();
    if (look_event)
        event_free(look_event);
    if (tidy_event)
        event_free(tidy_event);
    look_event = tidy_event = NULL;
}

static struct manager manager = {.role = ROLE_ACL_MANAGER,
                                 .slot = THREAD_SLOT_ACL_MANAGER,
                                 .name = "acl_manager",
                                 .begin = begin_manager,
                                 .end = end_manager};

// --- control -------------------------------------------------------------------------------------

int acl_manager_start(void)
{
    return manager_start(&manager);
}

// --- preparing -----------------------------------------------------------------------------------

struct preparing {
    struct acl_desired *wanted;
    char set[ACL_NAME_MAX], list[ACL_NAME_MAX];
    bool sets, lists, aside;
    struct acl_temporary temporary;
    char *add; // NULL: no change of temporary rules
    void (*done)(int result, const char *why);
    struct acl_change *change;
    struct text why;
    bool dropped; // a later change took precedence
};

static struct preparing *preparing_new(const struct acl_prepare_request *ask)
{
    struct preparing *p = calloc(1, sizeof *p);

    bug_on(!p);
    p->wanted = acl_desired_get(ask->wanted);
    p->sets = ask->set;
    p->lists = ask->list;
    p->aside = ask->aside;
    snprintf(p->set, sizeof p->set, "%s", ask->set ? ask->set : "");
    snprintf(p->list, sizeof p->list, "%s", ask->list ? ask->list : "");
    p->done = ask->done;
    if (ask->temporary) {
        p->temporary = *ask->temporary;
        memset(&p->temporary.del, 0, sizeof p->temporary.del);
        vec_foreach (&ask->temporary->del, number)
            *vec_push(&p->temporary.del) = *number;
        p->temporary.add = p->add = strdup(ask->temporary->add);
        bug_on(!p->add);
    }
    return p;
}

static void preparing_free(struct preparing *p)
{
    acl_desired_put(p->wanted);
    text_free(&p->why);
    vec_free(&p->temporary.del);
    free(p->add);
    free(p);
}

static void preparing_run(void *arg)
{
    struct preparing *p = arg;
    struct acl_reread again = {p->sets ? p->set : NULL, p->lists ? p->list : NULL,
                               p->add ? &p->temporary : NULL, p->aside};

    thread_must_be(ROLE_ACL_MANAGER);
    p->change = acl_prepare(p->wanted, &again, &p->why);
    acl_tidy_later();
}

static void preparing_done(void *arg)
{
    struct preparing *p = arg;

    if (!p->dropped) {
        current_preparing = NULL;
        current_change = p->change;
        change_state = current_change ? READY : IDLE;
    }
    p->done(p->dropped ? -EAGAIN : current_change ? 0 : -EINVAL, text_str(&p->why));
    preparing_free(p);
}

static void preparing_run_and_reply(void *arg)
{
    preparing_run(arg);
    manager_reply(preparing_done, arg);
}

int acl_manager_prepare(const struct acl_prepare_request *ask)
{
    struct preparing *p;
    int r;

    thread_must_be(ROLE_CONTROL);
    if (change_state != IDLE)
        return -EBUSY;
    p = preparing_new(ask);
    r = mailbox_post(ROLE_ACL_MANAGER, preparing_run_and_reply, p);
    if (r)
        preparing_free(p);
    else
        current_preparing = p;
    change_state = r ? IDLE : PREPARING;
    return r;
}

// Discards the change that is being prepared or is ready.
static void preparing_drop(void)
{
    if (change_state == PREPARING) {
        // returns when the preparation is over
        bug_on(mailbox_call(ROLE_ACL_MANAGER, NULL, NULL, NULL, START_TIMEOUT_MS));
        current_preparing->dropped = true;
        current_change = current_preparing->change;
        current_preparing = NULL;
        change_state = current_change ? READY : IDLE;
    }
    if (change_state == READY)
        acl_manager_end(false);
}

static void preparing_drop_waited(void *arg)
{
    struct preparing *p = arg;

    if (p->change)
        acl_change_end(p->change, false);
    preparing_free(p);
}

int acl_manager_prepare_now(const struct acl_desired *wanted, struct text *why)
{
    struct preparing *p;
    int r;

    thread_must_be(ROLE_CONTROL);
    preparing_drop();
    p = preparing_new(&(struct acl_prepare_request){.wanted = wanted});
    r = mailbox_call(ROLE_ACL_MANAGER, preparing_run, p, preparing_drop_waited, START_TIMEOUT_MS);
    if (r == -ETIMEDOUT)
        return r;
    current_change = p->change;
    change_state = current_change ? READY : IDLE;
    text_append(why, text_str(&p->why), p->why.n);
    preparing_free(p);
    return r ? r : current_change ? 0 : -EINVAL;
}

bool acl_manager_is_building(void)
{
    return change_state == PREPARING;
}

const struct acl_desired *acl_manager_prepared(void)
{
    return change_state == READY ? current_change->wanted : NULL;
}

const struct acl_desired *acl_manager_desired(void)
{
    return acl_active.wanted; // written while control waits
}

struct acl_content *acl_manager_content(const char *list)
{
    uint16_t id = acl_manager_id(list);

    if (change_state == READY)
        vec_foreach (&current_change->list, x)
            if (!strcmp(x->name, list))
                return x->fresh ? x->fresh->content : NULL; // ACL_GOES
    return id ? acl_table[id].content : NULL;
}

bool acl_manager_had(const char *list, uint64_t at_ns)
{
    const struct acl_active_list *l = acl_active_list_find(list);
    const struct acl_desired_list *w =
        change_state == READY ? acl_desired_list_find(current_change->wanted, list) : NULL;
    bool from_file = w && w->file[0];

    for (size_t i = 0; w && i < current_change->wanted->set.n; i++)
        from_file |= current_change->wanted->set.item[i].file[0] != 0;
    return !from_file && (!l || l->client_ns <= at_ns) && acl_active.lost_ns <= at_ns;
}

// --- commit --------------------------------------------------------------------------------------

struct change_call {
    struct acl_change *change;
    bool stays;
    int result;
    struct text why;
};

static int change_call(void (*fn)(void *arg), struct change_call *c)
{
    thread_must_be(ROLE_CONTROL);
    bug_on(change_state != READY);
    c->change = current_change;
    int r = mailbox_call(ROLE_ACL_MANAGER, fn, c, NULL, CALL_TIMEOUT_MS);
    bug_on(r == -ETIMEDOUT); // nothing that takes long is running
    return r ? r : c->result;
}

static void change_commit(void *arg)
{
    struct change_call *c = arg;

    thread_must_be(ROLE_ACL_MANAGER);
    c->result = acl_change_do(c->change, &c->why);
    acl_tidy_later();
}

static void change_undo(void *arg)
{
    thread_must_be(ROLE_ACL_MANAGER);
    acl_change_undo(((struct change_call *)arg)->change);
}

static void change_end(void *arg)
{
    struct change_call *c = arg;

    thread_must_be(ROLE_ACL_MANAGER);
    acl_change_end(c->change, c->stays);
    acl_tidy_later();
}

int acl_manager_commit(char *err, size_t err_size)
{
    struct change_call c = {0};
    int r = change_call(change_commit, &c);

    if (r)
        snprintf(err, err_size, "%s", c.why.n ? c.why.s : strerror(-r));
    text_free(&c.why);
    return r;
}

void acl_manager_undo(void)
{
    change_call(change_undo, &(struct change_call){0});
}

static void keep_sizes(struct acl_change *c)
{
    acl_sizes_free(&in_force.sizes);
    in_force.sizes = c->sizes;
    c->sizes = (struct acl_sizes){0};
    in_force.version++;
}

unsigned acl_manager_version(void)
{
    return in_force.version;
}

static const struct acl_sizes *sizes_of(const struct acl_desired **wanted)
{
    bool ready = change_state == READY;

    thread_must_be(ROLE_CONTROL);
    *wanted = ready ? current_change->wanted : acl_active.wanted; // written while control waits
    return ready ? &current_change->sizes : &in_force.sizes;
}

uint64_t acl_manager_rules(const char *list)
{
    const struct acl_desired *w;
    const struct acl_sizes *s = sizes_of(&w);
    const struct acl_desired_list *l = w ? acl_desired_list_find(w, list) : NULL;

    return l ? s->rules.item[l - w->list.item] : 0;
}

uint64_t acl_manager_members(const char *set)
{
    const struct acl_desired *w;
    const struct acl_sizes *s = sizes_of(&w);
    const struct acl_desired_set *d = w ? acl_desired_set_find(w, set) : NULL;

    return d ? s->members.item[d - w->set.item] : 0;
}

uint32_t acl_manager_temporary(const char *list)
{
    const struct acl_active_list *l = acl_active_list_find(list);

    thread_must_be(ROLE_CONTROL);
    return l ? l->build->temporary : 0; // written while control waits
}

void acl_manager_end(bool stays)
{
    if (stays)
        keep_sizes(current_change);
    change_call(change_end, &(struct change_call){.stays = stays});
    current_change = NULL;
    change_state = IDLE;
}

uint16_t acl_manager_id(const char *name)
{
    thread_must_be(ROLE_CONTROL);
    // written while control waits
    for (uint16_t id = 1; id < ACL_LIST_MAX; id++)
        if (acl_table[id].content && !strcmp(acl_table[id].name, name))
            return id;
    return 0;
}

void acl_manager_stop(void)
{
    thread_must_be(ROLE_CONTROL);
    if (!manager.thread)
        return;
    preparing_drop();
    manager_stop(&manager);
    change_state = IDLE;
    acl_sizes_free(&in_force.sizes);
}
