// SPDX-License-Identifier: BSD-3-Clause
// config_bound.c - commits of clients that are bound to a virtual router
//
// The whole configuration is checked and committed. Its errors may concern other virtual routers,
// so they go to the log, and the client learns only that the commit failed.
#include "config/config_bound.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "config/config_rebase.h"
#include "core/aside.h"
#include "yang/config_tree.h"
#include "yang/owner.h"

// Not aside: it reads the current interfaces, and takes as long as the virtual router's part is
// large.
struct snapshot *config_bound(const char *vr)
{
    struct lyd_node *tree = owner_tree(vr, config_running());

    config_settle(tree);
    return snapshot_new(tree, NULL, 0);
}

struct judging {
    const struct bound_change *change;
    const struct lyd_node *all;
    struct text path; // of a forbidden change
    struct text why;  // other error in the part
    struct config_result *result;
    struct lyd_node *tree; // the whole configuration with the change
};

static void judge(void *arg)
{
    struct judging *j = arg;
    const struct bound_change *c = j->change;

    owner_fill_in(c->vr, c->to);
    config_settle(c->to);
    // names first: a name that belongs to another owner must not be looked up
    if (!owner_names_fit(c->vr, c->to, &j->why) ||
        !owner_may_change(&(struct owner_change){c->vr, c->from, c->to, j->all}, &j->path) ||
        !owner_references_fit(c->to, &j->why))
        return;
    j->result->n_changes = config_diff(c->from, c->to, &j->result->change);
    if (!j->result->n_changes)
        return;
    j->tree = config_dup(j->all);
    config_repeat(c->from, c->to, &j->tree);
}

static void log_errors(const struct bound_change *c, const struct commit *how,
                       const struct errors *e)
{
    struct text t = {0};

    for (unsigned i = 0; i < e->n; i++) {
        text_clear(&t);
        errors_one(&e->item[i], NULL, &t);
        log_notice("config: commit refused: by=%s vr=%s error=%s", LOG_VALUE(how->by), c->vr,
                   LOG_VALUE(text_str(&t)));
    }
    text_free(&t);
}

static bool tell_own_errors(const char *vr, const struct errors *all, struct errors *e)
{
    unsigned n = 0;

    for (unsigned i = 0; i < all->n; i++)
        if (!strcmp(all->item[i].owner, vr)) {
            errors_add_of(e, vr, 0, "%s", all->item[i].sentence);
            n++;
        }
    return n;
}

static int commit_tree(struct lyd_node *tree, const struct bound_change *c,
                       const struct commit *how, struct errors *e)
{
    struct config_result all = {0};
    struct errors why = {0};
    int r = config_commit(tree, how, &all, &why);

    log_errors(c, how, &why);
    if (r && !tell_own_errors(c->vr, &why, e))
        errors_add(e, 0,
                   "nothing was changed: the values do not fit, or the configuration cannot be "
                   "changed at the moment; check them, try again later, or ask the operator of "
                   "this router, whose log says why");
    errors_free(&why);
    config_result_free(&all);
    return r;
}

int config_bound_commit(const struct bound_change *change, const struct commit *how,
                        struct config_result *result, struct errors *e)
{
    struct judging j = {.change = change, .all = config_running(), .result = result};
    int r = 0;

    aside(judge, &j);
    if (j.path.n) {
        errors_add(e, 0, "clients of virtual router %s may not change '%s'", change->vr,
                   text_str(&j.path));
        r = -EPERM;
    } else if (j.why.n) {
        errors_add(e, 0, "%s", text_str(&j.why));
        r = -EINVAL;
    } else if (j.tree) {
        r = commit_tree(j.tree, change, how, e);
    }
    text_free(&j.path);
    text_free(&j.why);
    return r;
}
