// SPDX-License-Identifier: BSD-3-Clause
// config_running.c - the configuration that is in force
#include "config/config_running.h"

#include <libyang/libyang.h>
#include <stdlib.h>

#include "apply/apply.h"
#include "base/log.h"
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

void snapshot_unref(struct snapshot *s)
{
    if (!s || --s->refs)
        return;
    lyd_free_all(s->tree);
    model_free(s->model);
    free(s);
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

struct model *config_model_of(struct lyd_node **candidate, struct errors *e)
{
    struct model *m;

    config_check(candidate, e);
    m = model_make(*candidate, e);
    if (!e->n)
        config_validate(candidate, e);
    return m;
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
