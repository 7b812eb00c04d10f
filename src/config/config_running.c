// SPDX-License-Identifier: BSD-3-Clause
// config_running.c - the configuration that is in force
#include "config/config_running.h"

#include <event2/event.h>
#include <libyang/libyang.h>
#include <stdlib.h>

#include "apply/apply.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/thread.h"
#include "model/model_make.h"
#include "yang/config_tree.h"

static struct snapshot *running;
static uint64_t version;
static time_t changed_at;

const struct snapshot *config_snapshot(void)
{
    return running;
}

const struct lyd_node *config_running(void)
{
    return running->tree;
}

const struct model *config_model(void)
{
    return running->model;
}

uint64_t config_version(void)
{
    return version;
}

time_t config_changed_at(void)
{
    return changed_at;
}

struct snapshot *snapshot_new(struct lyd_node *tree, struct model *m, uint64_t revision)
{
    struct snapshot *s = malloc(sizeof *s);

    bug_on(!s);
    *s = (struct snapshot){.refs = 1, .tree = tree, .model = m, .revision = revision};
    return s;
}

struct snapshot *snapshot_ref(const struct snapshot *s)
{
    struct snapshot *mine = (struct snapshot *)(uintptr_t)s;

    mine->refs++;
    return mine;
}

static void snapshot_free(struct snapshot *s)
{
    lyd_free_all(s->tree);
    model_free(s->model);
    free(s);
}

// --- what need not be done within a commit ------------------------------------------------------

#define LARGE_NS (3 * NS_PER_MS) // a configuration that takes so long to copy
#define LATER_US 1000            // between two things that take long: others get their turn

static struct {
    struct event *timer; // NULL: everything is done at once
    bool large;
    struct lyd_node *spare; // a copy of what runs in this version
    uint64_t version;
    VEC(struct snapshot *) going; // that nobody holds any more
} idle;

static void do_later(void)
{
    event_add(idle.timer, &(struct timeval){.tv_usec = LATER_US});
}

static struct lyd_node *timed_copy(void)
{
    uint64_t since = clock_now_ns();
    struct lyd_node *copy = config_dup(running->tree);

    idle.large = clock_now_ns() - since > LARGE_NS;
    return copy;
}

static void drop_spare(void)
{
    lyd_free_all(idle.spare);
    idle.spare = NULL;
}

// One thing at a time.
static void on_idle(evutil_socket_t fd, short what, void *ctx)
{
    if (idle.going.n) {
        snapshot_free(idle.going.item[--idle.going.n]);
        do_later();
    } else if (idle.spare && idle.version != version) {
        drop_spare();
        do_later();
    } else if (idle.large && !idle.spare) {
        idle.spare = timed_copy();
        idle.version = version;
    }
}

void config_running_idle(struct event_base *loop)
{
    thread_must_be(ROLE_CONTROL);
    idle.timer = evtimer_new(loop, on_idle, NULL);
    bug_on(!idle.timer);
}

static void end_idle(void)
{
    if (idle.timer)
        event_free(idle.timer);
    idle.timer = NULL;
    drop_spare();
    while (idle.going.n)
        snapshot_free(idle.going.item[--idle.going.n]);
    vec_free(&idle.going);
}

struct lyd_node *config_running_copy(void)
{
    struct lyd_node *copy = idle.spare;

    if (!copy || idle.version != version)
        return timed_copy();
    idle.spare = NULL;
    return copy;
}

void snapshot_unref(struct snapshot *s)
{
    if (!s || --s->refs)
        return;
    if (idle.timer && idle.large) {
        *vec_push(&idle.going) = s;
        do_later();
    } else {
        snapshot_free(s);
    }
}

void config_running_init(void)
{
    struct errors none = {0};
    struct lyd_node *tree = NULL;

    thread_must_be(ROLE_CONTROL);
    config_running_fini();
    struct model *m = config_model_of(&tree, &none);
    bug_on(none.n); // the empty configuration is valid
    running = snapshot_new(tree, m, 0);
    version++;
    changed_at = time(NULL);
}

void config_running_fini(void)
{
    snapshot_unref(running);
    running = NULL;
    end_idle();
}

struct model *config_model_of(struct lyd_node **candidate, struct errors *e)
{
    if (running)
        config_mark_known(running->tree, *candidate);
    if (!config_check(candidate, e)) // what there is too much of is not compared in pairs
        return NULL;
    return model_make(*candidate, running ? running->model : NULL, e);
}

int config_running_apply(const struct snapshot *s, struct errors *e)
{
    thread_must_be(ROLE_CONTROL);
    return apply_change(running->model, s->model, e);
}

void config_running_take(struct snapshot *s)
{
    thread_must_be(ROLE_CONTROL);
    snapshot_unref(running);
    running = s;
    version++;
    changed_at = time(NULL);
    if (idle.timer && idle.large)
        do_later();
}

void config_running_return(const struct snapshot *s)
{
    struct errors e = {0};
    struct text t = {0};

    if (apply_change(s->model, running->model, &e)) {
        errors_text(&e, NULL, &t);
        log_error("config: not undone: %s", text_str(&t));
    }
    text_free(&t);
    errors_free(&e);
}
