// SPDX-License-Identifier: BSD-3-Clause
// config_running.c - the running configuration, and snapshots of it (config_running.h)
//
// A snapshot is counted and never changes, so its holders need no copy. Checking a tree, making its
// model, copying and freeing it take long for a large configuration: they run aside.
// config_running_take() only exchanges a pointer and raises the version.
#include "config/config_running.h"

#include <libyang/libyang.h>
#include <stdlib.h>

#include "config/change.h"
#include "base/log.h"
#include "core/aside.h"
#include "core/thread.h"
#include "config/model.h"
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

static void snapshot_free(void *arg)
{
    struct snapshot *s = arg;

    lyd_free_all(s->tree);
    model_free(s->model);
    free(s);
}

void snapshot_unref(struct snapshot *s)
{
    thread_must_be(ROLE_CONTROL);
    if (s && !--s->refs)
        aside_later(snapshot_free, s);
}

static void free_tree(void *tree)
{
    lyd_free_all(tree);
}

void config_drop(struct lyd_node *tree)
{
    aside_later(free_tree, tree);
}

struct copying {
    const struct lyd_node *of;
    struct lyd_node *copy;
};

static void copy_tree(void *arg)
{
    struct copying *c = arg;

    c->copy = config_dup(c->of);
}

struct lyd_node *config_running_copy(void)
{
    struct copying c = {.of = running->tree};

    aside(copy_tree, &c);
    return c.copy;
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
}

struct making {
    struct lyd_node **candidate;
    const struct snapshot *known; // or NULL
    struct errors *e;
    struct model *model;
};

static void make_model(void *arg)
{
    struct making *k = arg;

    if (k->known)
        config_mark_known(k->known->tree, *k->candidate);
    if (!config_check(k->candidate, k->e)) // too many entries are not compared in pairs
        return;
    k->model = model_make(*k->candidate, k->known ? k->known->model : NULL, k->e);
    config_settle(*k->candidate);
}

struct model *config_model_of(struct lyd_node **candidate, struct errors *e)
{
    struct making k = {.candidate = candidate, .known = running, .e = e};

    aside(make_model, &k);
    return k.model;
}

int config_running_apply(const struct snapshot *s, struct errors *e)
{
    thread_must_be(ROLE_CONTROL);
    return change_make(running->model, s->model, e);
}

void config_running_take(struct snapshot *s)
{
    thread_must_be(ROLE_CONTROL);
    snapshot_unref(running);
    running = s;
    version++;
    changed_at = time(NULL);
}

void config_running_return(const struct snapshot *s)
{
    struct errors e = {0};
    struct text t = {0};

    if (change_make(s->model, running->model, &e)) {
        errors_text(&e, NULL, &t);
        log_error("config: undo failed: %s", text_str(&t));
    }
    text_free(&t);
    errors_free(&e);
}
